from datetime import datetime

import polars as pl
import pytest

from eventcargo import ConfigError, DataError, read_events


def test_pairs_keep_their_order():
    data = read_events([([f"e{i}"], []) for i in range(11)])
    assert [sequence.events[0] for sequence in data] == [f"e{i}" for i in range(11)]
    assert data.sequence_ids[1].as_py() == "01"


def test_ten_pairs_need_one_digit():
    assert read_events([(["e"], [])] * 10).sequence_ids.to_pylist() == list("0123456789")


def test_events_without_times_have_an_order():
    data = read_events([(["b", "a"], ["L2", "L1"])])
    assert data.time_kind == "order"
    assert (data[0].events, data[0].labels) == (("b", "a"), ("L1", "L2"))


def test_events_with_times_are_sorted_by_them():
    data = read_events([([(2, "b"), (1.5, "a")], [])])
    assert (data.time_kind, data[0].events, data[0].times) == ("number", ("a", "b"), (1.5, 2.0))


def test_events_may_have_dates():
    data = read_events([([(datetime(1970, 1, 2), "a")], [])])
    assert (data.time_kind, data[0].times) == ("datetime", (86400.0,))


def test_labels_may_be_a_set():
    assert read_events([(["a"], {"L1", "L2"})])[0].labels == ("L1", "L2")


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([], "the list of pairs is empty"),
        ([(["a"], []), (["a"], [], [])], "pair 1 is"),
        ([("abc", ["L"])], r"pair 0 is \('abc'"),
        ([([], ["L"])], "pair 0 has no events"),
        ([({"a", "b"}, [])], "pair 0 has a set of events"),
        ([([(1, "a", "b")], [])], "pair 0 has the event"),
        ([([(None, "a")], [])], "pair 0 has the event"),
        ([([(1, "a"), "b"], [])], "row 2: time is null"),
        ([(["a", 1], [])], "the pairs cannot be read"),
        ([([""], [])], "event is empty"),
        ([(["\ud800"], [])], "the pairs cannot be read"),
    ],
)
def test_pairs_that_cannot_be_used_are_refused(pairs, reason):
    with pytest.raises(DataError, match=reason):
        read_events(pairs)


def test_labels_beside_pairs_are_refused():
    with pytest.raises(ConfigError, match="the pairs already contain the labels"):
        read_events([(["a"], [])], pl.DataFrame({"sequence_id": ["0"], "label": ["L"]}))
