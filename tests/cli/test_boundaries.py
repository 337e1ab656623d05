import polars as pl
import pytest

from eventcargo.cli.boundaries import MAX_ODDS, causes, print_boundaries, show_odds
from eventcargo.graphs import LabelGraph


def test_a_family_is_printed_with_its_members() -> None:
    graph = LabelGraph.from_boundaries({"death": ["I50", "J18"]}).with_kinds({"I50": ("I50.1", "I50.9")})
    assert causes(graph, "death") == "I50 (2 members: I50.1, I50.9), J18"


def with_odds(labels: int) -> LabelGraph:
    """Labels with five causes each; the first has no odds ratio."""
    names = [f"L{at:02}" for at in range(labels) for _ in range(5)]
    edges = pl.DataFrame(
        {"label": names, "event": [*"xabcd"] * labels, "gain": [5.0, 4.0, 3.0, 2.0, 1.0] * labels}
    )
    odds = {
        "odds_ratio": [None, 4.23, 0.2, 1.1, 1.0],
        "odds_low": [None, 3.1, 0.1, 0.5, 0.5],
        "odds_high": [None, 5.84, 0.5, 2.4, 2.0],
    }
    return LabelGraph.from_edges(
        edges.with_columns(pl.Series(name, values * labels) for name, values in odds.items())
    )


def test_the_odds_of_causes_are_printed_with_their_weights(capsys: pytest.CaptureFixture[str]) -> None:
    print_boundaries(with_odds(1), {"L00": 9})
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[2:5]] for line in printed.splitlines() if "(" in line]
    assert ["a", "x4.2 (3.1 to 5.8)", "strong"] in rows
    assert ["b", "x0.20 (0.10 to 0.50)", "moderate"] in rows
    assert ["c", "x1.1 (0.50 to 2.4)", "weak"] in rows
    assert "Odds of 3 of 4 causes" in printed
    assert "all other causes alike" in printed


def test_a_table_of_odds_stays_readable(capsys: pytest.CaptureFixture[str]) -> None:
    print_boundaries(with_odds(10), dict.fromkeys([f"L{at:02}" for at in range(10)], 9))
    assert f"Odds of {MAX_ODDS} of 40 causes" in capsys.readouterr().out


def test_without_odds_nothing_is_said_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_boundaries(LabelGraph.from_boundaries({"brake": ["P01"]}), {"brake": 9})
    assert "dds" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1001.0, ">1,000"),
        (1000.0, "1,000"),
        (994.0, "990"),
        (9.96, "10"),
        (9.94, "9.9"),
        (1.0, "1.0"),
        (0.3, "0.30"),
        (0.0123, "0.012"),
        (0.001, "0.0010"),
        (0.00099, "<0.001"),
        (0.0, "<0.001"),
    ],
)
def test_factors_have_two_digits_within_limits(value: float, shown: str) -> None:
    assert show_odds(value, value, value) == f"x{shown} ({shown} to {shown})"
