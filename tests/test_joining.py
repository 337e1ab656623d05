"""Parts of a data set, joined again, are that data set."""

import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence
from eventcargo.errors import DataError
from eventcargo.event_kinds import EventKinds
from eventcargo.joining import join_data, joined_kinds, labelled_as, subjects


def halves(data: EventDataset) -> list[EventDataset]:
    """Two parts as they would be read: each knows its own names alone."""
    parts = []
    for start in (0, 1):
        part = EventDataset.from_sequences(list(data.select(np.arange(start, len(data), 2))))
        own = data.select(np.arange(start, len(data), 2))
        parts.append(part.in_groups(own.groups) if data.groups is not None else part)
    return parts


def test_halves_are_the_whole_again(hundred: EventDataset) -> None:
    assert join_data(halves(hundred)).fingerprint == hundred.fingerprint
    assert join_data(halves(hundred)[::-1]).fingerprint == hundred.fingerprint


def test_names_of_either_part_are_known(tiny: EventDataset) -> None:
    other = EventDataset.from_sequences([EventSequence("truck", ("z", "a"), (0.0, 1.0), ("fuel", "odd"))])
    both = join_data([tiny, other])
    assert both.event_names == ("a", "b", "c", "z")
    assert both["truck"].labels == ("fuel", "odd")
    assert both["car2"] == tiny["car2"]
    assert both.label_support == {"brake": 3, "fuel": 2, "odd": 1}


def test_a_label_is_unknown_in_a_part_that_is_there_for_others(tiny: EventDataset) -> None:
    known = tiny.label_matrix().toarray() > 0
    other = EventDataset.from_sequences([EventSequence("truck", ("z",), (0.0,), ("odd",))])
    both = join_data([tiny.knowing(known), other])
    assert both.n_known.tolist() == [*(known.sum(axis=0) + 1).tolist(), 1]


def test_sequences_that_are_there_already_are_refused_by_name(tiny: EventDataset) -> None:
    with pytest.raises(DataError, match="2 of 2 new sequences are in the data already: car1, car4"):
        join_data([tiny, tiny.select(["car1", "car4"])])
    with pytest.raises(DataError, match="1 of 1 new sequence is in the data already: truck"):
        join_data([tiny, cut("truck"), cut("truck")])


def test_times_and_value_columns_must_mean_the_same(tiny: EventDataset) -> None:
    other = EventDataset.from_sequences([EventSequence("z", ("a",), (0.0,), ())], time_kind="datetime")
    with pytest.raises(DataError, match="times of the data are numbers, those of the new data are dates"):
        join_data([tiny, other])
    with pytest.raises(DataError, match="times of the data are numbers, those of the new data are dates"):
        join_data([tiny[:0], tiny, other])
    assert join_data([tiny[:0], other]).time_kind == "datetime"
    measured = EventDataset.from_sequences(
        [EventSequence("z", ("a",), (0.0,), (), ((1.0,),))], value_names=["km"]
    )
    with pytest.raises(DataError, match=r"value columns \[\], the new data \['km'\]"):
        join_data([tiny, measured])


def cut(*names: str) -> EventDataset:
    return EventDataset.from_sequences([EventSequence(name, ("a",), (0.0,), ()) for name in names])


def test_the_group_of_a_subject_goes_on_and_others_follow() -> None:
    first = cut("car1@1", "car2@1", "car2@2").in_groups([5, 3, 3])
    second = cut("car2@9", "car3@8", "car3@9", "car4@9").in_groups([0, 1, 1, 2])
    both = join_data([first, second])
    assert both.groups is not None
    numbers = dict(zip(both.sequence_ids.to_pylist(), both.groups.tolist(), strict=True))
    assert [numbers[name] for name in ("car1@1", "car2@1", "car2@2")] == [5, 3, 3]
    assert numbers["car2@9"] == 3
    assert numbers["car3@8"] == numbers["car3@9"] == 6
    assert numbers["car4@9"] == 7


def test_blocks_of_time_of_one_stream_are_not_taken_for_its_group() -> None:
    first = cut("host@1", "host@2").in_groups([0, 1])
    both = join_data([first, cut("host@3", "host@4").in_groups([0, 1])])
    assert both.groups is not None
    assert both.groups.tolist() == [0, 1, 2, 3]


def test_labels_are_those_that_are_asked_for(tiny: EventDataset) -> None:
    some = labelled_as(tiny, ["fuel", "new"])
    assert some.label_support == {"fuel": 1, "new": 0}
    assert some["car2"].labels == ("fuel",)
    known = labelled_as(tiny.knowing(tiny.label_matrix().toarray() > 0), ["brake", "new"])
    assert known.n_known.tolist() == [3, 0]


def test_kinds_of_all_parts_are_kept() -> None:
    old = EventKinds(("sex=f",), (), {"I50": ("I50.1", "I50.9")}, (("a >= 1", "a >= 2"),), {"a": ("a >= 1",)})
    new = EventKinds((), (), {"I50": ("I50.1", "I50.3")}, (("a >= 1",),), {"a": ("a >= 1",)})
    both = joined_kinds([old, new])
    assert both.families == {"I50": ("I50.1", "I50.9", "I50.3")}
    assert both.scales == (("a >= 1", "a >= 2"),)
    assert both.measured == {"a": ("a >= 1",)}


def test_subjects_are_what_comes_before_the_index_time() -> None:
    assert subjects(cut("me@home.org@2024-01-01", "car")) == ["car", "me@home.org"]
