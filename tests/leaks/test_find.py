import numpy as np

from eventcargo import EventDataset, EventSequence
from eventcargo.leaks import Leak, find_leaks
from eventcargo.leaks import find as module
from eventcargo.simulation import simulate

from ..verdicts.conftest import sequences


def test_a_record_is_found_with_its_counts() -> None:
    data = sequences((("y", "x", "y"), ("bad",), 12), (("y", "z"), (), 5_000))
    assert find_leaks(data) == [Leak("bad", "x", ("double",), 12, 12, 12, 5_012, 0)]


def test_one_exception_among_few_speaks_against_a_record() -> None:
    data = sequences((("y", "x", "y"), ("bad",), 12), (("y",), ("bad",), 1), (("y",), (), 5_000))
    assert find_leaks(data) == []


def test_one_exception_does_not_save_an_event_type_that_comes_last() -> None:
    data = sequences((("y", "x"), ("bad",), 20), (("y",), ("bad",), 1), (("y",), (), 5_000))
    assert [leak.signs for leak in find_leaks(data)] == [("double", "closing")]


def test_coincidences_of_rare_names_are_not_told() -> None:
    kinds = [((f"once {i}", "y"), (f"label {i}",), 1) for i in range(40)]
    assert find_leaks(sequences(*kinds)) == []


def test_what_nearly_all_sequences_hold_is_no_record() -> None:
    data = sequences((("x", "y"), ("bad",), 400), (("y",), (), 1), (("x", "y"), (), 1))
    assert find_leaks(data) == []


def test_an_event_type_that_ends_its_sequences_is_found() -> None:
    kinds = (("y", "z", "w", "x"), ("bad",), 15), (("y",), ("bad",), 50), (("y", "w"), (), 500)
    assert find_leaks(sequences(*kinds)) == [Leak("bad", "x", ("closing",), 15, 15, 65, 565, 15)]


def test_an_event_type_that_fills_its_sequences_does_not_end_them() -> None:
    kinds = (("y", *"xxxxxxxxx"), ("bad",), 15), (("y",), ("bad",), 50), (("y", "w"), (), 500)
    assert find_leaks(sequences(*kinds)) == []


def test_events_at_the_same_last_instant_are_all_last() -> None:
    rows = [EventSequence(f"{i:03}", ("y", "x", "z"), (0.0, 1.0, 1.0), ("bad",)) for i in range(20)]
    rows += [EventSequence(f"{i:03}", ("y", "w"), (0.0, 1.0), ("bad",) * (i < 50)) for i in range(20, 500)]
    found = {leak.event: leak.last for leak in find_leaks(EventDataset.from_sequences(rows))}
    assert found == {"x": 20, "z": 20}


def test_where_all_events_are_at_one_instant_none_is_last() -> None:
    data = sequences((("y", "x"), ("bad",), 12), (("y", "z"), (), 500), step=0.0)
    assert [leak.last for leak in find_leaks(data)] == [0]


def test_names_of_labels_are_found_however_they_occur() -> None:
    data = sequences((("y",), ("Oil leak",), 12), (("y", "oil leak "), (), 5))
    assert find_leaks(data) == [Leak("Oil leak", "oil leak ", ("name",), 0, 5, 12, 17, 0)]


def test_names_within_names_are_hints_where_both_mostly_occur_together() -> None:
    said = "oil leak reported"
    mostly = sequences((("y", said), ("oil leak",), 6), (("y", said), (), 5), (("y",), ("oil leak",), 9))
    assert [leak.signs for leak in find_leaks(mostly)] == [("words",)]
    seldom = sequences((("y", said), ("oil leak",), 4), (("y", said), (), 5), (("y",), ("oil leak",), 9))
    assert find_leaks(seldom) == []


def test_labels_are_counted_in_blocks(monkeypatch: object) -> None:
    kinds = [((f"x{i}", "y"), (f"bad {i}",), 12) for i in range(5)]
    data = sequences(*kinds, (("y",), (), 500))
    whole = find_leaks(data)
    monkeypatch.setattr(module, "AT_ONCE", 2)  # type: ignore[attr-defined]
    assert [(leak.label, leak.event) for leak in whole] == [(f"bad {i}", f"x{i}") for i in range(5)]
    assert find_leaks(data) == whole


def test_the_order_of_sequences_does_not_matter() -> None:
    settings = {"event_types": 200, "labels": 12, "max_boundary": 2, "label_noise": 0.0}
    data = simulate("fleet", sequences=2000, seed=1, **settings).data
    order = np.random.default_rng(0).permutation(len(data))
    assert find_leaks(data) == find_leaks(data.select(order)) != []


def test_data_without_labels_or_sequences_have_no_leaks() -> None:
    data = sequences((("x",), ("bad",), 12), (("y",), (), 50))
    assert find_leaks(data.select([])) == []
    assert find_leaks(sequences((("x",), (), 5))) == []
    assert find_leaks(sequences(((), ("bad",), 5), (("x",), (), 5))) == []
