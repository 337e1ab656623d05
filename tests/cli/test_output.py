import pytest

from eventcargo.cli.output import SHORT, print_json, print_lines, print_table, show


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (True, "yes"),
        (False, "no"),
        (29100, "29,100"),
        (0.5, "0.500"),
        (999.5, "999.500"),
        (1000.0, "1,000"),
        (12345.6, "12,346"),
        (-12345.6, "-12,346"),
        ("x", "x"),
    ],
)
def test_values_are_shown_as_people_read_them(value: object, shown: str) -> None:
    assert show(value) == shown


def test_names_are_never_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("t", ["name"], [["[red]alarm[/red]"]])
    assert "[red]alarm[/red]" in capsys.readouterr().out


def test_lines_are_never_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(["[red]alarm[/red]"])
    assert capsys.readouterr().out == "[red]alarm[/red]\n"


def cells(printed: str) -> list[list[str]]:
    return [line.split("│")[1:-1] for line in printed.splitlines() if line.startswith("│")]


def test_columns_of_numbers_stand_to_the_right_even_with_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("t", ["number", "mixed", "word"], [[1, 2, "x"], [None, "y", "zz"]])
    rows = cells(capsys.readouterr().out)
    assert rows == [["      1 ", " 2     ", " x    "], ["      - ", " y     ", " zz   "]]


def test_a_wide_table_is_not_cut_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("t", ["name"], [["x" * 150]])
    assert "x" * 150 in capsys.readouterr().out


def test_a_cell_wider_than_the_table_is_folded_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("t", ["name", "list"], [["x" * 400, "z" * 400]])
    printed = capsys.readouterr().out
    assert (printed.count("x"), printed.count("z")) == (400, 400)


def test_a_short_value_beside_a_long_name_is_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    value = "one two three four f"
    assert len(value) == SHORT
    print_table("t", ["name", *"abcdef"], [["x" * 30, *[value] * 6]])  # too wide by less than the name
    assert capsys.readouterr().out.count(value) == 6


def test_json_keeps_letters_of_all_languages(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"größe": "é"})
    assert capsys.readouterr().out == '{\n "größe": "é"\n}\n'
