import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence
from eventcargo.verdicts.leakage import Closings, Leak

from .conftest import sequences


def leak(data: EventDataset, event: str) -> Leak:
    carries = data.label_matrix().toarray()[:, 0] > 0
    return Closings(data).leak(carries, list(data.event_names).index(event))


def test_occurrences_are_counted_by_sequence() -> None:
    data = sequences(
        (("x", "x", "y"), ("bad",), 5), (("y", "x"), ("bad",), 3), (("x",), (), 2), (("y",), ("bad",), 1)
    )
    assert leak(data, "x") == Leak(both=8, event=10, label=9, last=3)


def test_events_at_the_same_last_instant_are_all_last() -> None:
    tied = EventSequence("a", ("y", "x", "x", "z"), (0.0, 1.0, 1.0, 1.0), ("bad",))
    data = EventDataset.from_sequences([tied])
    assert [leak(data, name).last for name in "xyz"] == [1, 0, 1]


def test_where_all_events_are_at_one_instant_none_is_last() -> None:
    assert leak(sequences((("y", "x"), ("bad",), 3), step=0.0), "x").last == 0


@pytest.mark.parametrize(
    ("counts", "double"),
    [
        (Leak(500, 500, 500, 0), True),
        (Leak(500, 520, 500, 0), False),
        (Leak(500, 500, 520, 0), False),
        (Leak(200, 200, 200, 0), False),
        (Leak(0, 0, 0, 0), False),
    ],
)
def test_a_double_is_one_beyond_doubt(counts: Leak, double: bool) -> None:
    assert counts.is_double is double


@pytest.mark.parametrize(
    ("counts", "closing"),
    [
        (Leak(100, 100, 300, 100), True),
        (Leak(100, 100, 300, 90), False),
        (Leak(100, 120, 300, 100), False),
        (Leak(10, 10, 300, 10), False),
    ],
)
def test_an_event_type_that_ends_the_sequences_with_the_label_is_told(counts: Leak, closing: bool) -> None:
    assert counts.is_closing is closing


def test_sequences_without_events_do_no_harm() -> None:
    data = sequences(((), (), 2), (("y", "x"), ("bad",), 3), ((), ("bad",), 2))
    assert leak(data, "x") == Leak(both=3, event=3, label=5, last=3)
    assert np.array_equal(data.lengths, [0, 0, 2, 2, 2, 0, 0])
