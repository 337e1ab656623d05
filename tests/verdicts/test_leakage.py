import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence
from eventcargo.verdicts.leakage import Closings, Echo

from .conftest import sequences


def echo(data: EventDataset, event: str) -> Echo:
    carries = data.label_matrix().toarray()[:, 0] > 0
    return Closings(data).echo(carries, list(data.event_names).index(event))


def test_occurrences_are_counted_by_sequence() -> None:
    data = sequences(
        (("x", "x", "y"), ("bad",), 5), (("y", "x"), ("bad",), 3), (("x",), (), 2), (("y",), ("bad",), 1)
    )
    assert echo(data, "x") == Echo(both=8, event=10, label=9, last=3)


def test_events_at_the_same_last_instant_are_all_last() -> None:
    tied = EventSequence("a", ("y", "x", "x", "z"), (0.0, 1.0, 1.0, 1.0), ("bad",))
    data = EventDataset.from_sequences([tied])
    assert [echo(data, name).last for name in "xyz"] == [1, 0, 1]


def test_where_all_events_are_at_one_instant_none_is_last() -> None:
    assert echo(sequences((("y", "x"), ("bad",), 3), step=0.0), "x").last == 0


@pytest.mark.parametrize(
    ("counts", "double"),
    [
        (Echo(500, 500, 500, 0), True),
        (Echo(500, 520, 500, 0), False),
        (Echo(500, 500, 520, 0), False),
        (Echo(200, 200, 200, 0), False),
        (Echo(0, 0, 0, 0), False),
    ],
)
def test_a_double_is_one_beyond_doubt(counts: Echo, double: bool) -> None:
    assert counts.is_double is double


@pytest.mark.parametrize(
    ("counts", "closing"),
    [
        (Echo(100, 100, 300, 100), True),
        (Echo(100, 100, 300, 90), False),
        (Echo(100, 120, 300, 100), False),
        (Echo(10, 10, 300, 10), False),
    ],
)
def test_an_event_type_that_ends_the_sequences_with_the_label_is_told(counts: Echo, closing: bool) -> None:
    assert counts.is_closing is closing


def test_sequences_without_events_do_no_harm() -> None:
    data = sequences(((), (), 2), (("y", "x"), ("bad",), 3), ((), ("bad",), 2))
    assert echo(data, "x") == Echo(both=3, event=3, label=5, last=3)
    assert np.array_equal(data.lengths, [0, 0, 2, 2, 2, 0, 0])
