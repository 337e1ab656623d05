import pytest

from eventcargo.cli.output import print_table, show


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (True, "yes"), (29100, "29,100"), (0.5, "0.500"), (12345.6, "12,346"), ("x", "x")],
)
def test_values_are_shown_as_people_read_them(value: object, shown: str) -> None:
    assert show(value) == shown


def test_names_are_never_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("t", ["name"], [["[red]alarm[/red]"]])
    assert "[red]alarm[/red]" in capsys.readouterr().out
