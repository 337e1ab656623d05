import polars as pl

from eventcargo.leaks import find_late

TIMING = pl.DataFrame(
    {
        "label": ["bad"] * 3,
        "event": ["cause", "repair", "note"],
        "before": [40, 0, 0],
        "same": [0, 0, 30],
        "after": [5, 30, 0],
    }
)


def test_event_types_that_follow_their_outcome_are_named() -> None:
    assert [late.reason for late in find_late(TIMING)] == [
        "'repair' first occurs after 'bad' in 30 of 30 subjects",
        "'note' first occurs at the very time of 'bad' in 30 of 30 subjects",
    ]


def test_without_counts_nothing_is_late() -> None:
    assert find_late(TIMING.clear()) == []
