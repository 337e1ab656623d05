"""Kinds of event types: what is refused, what is found, and what is saved with a data set."""

import numpy as np
import pyarrow as pa
import pytest

from eventcargo.errors import DataError
from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset, EventSequence, Ragged

KINDS = EventKinds(
    attributes=("sex=F",),
    adjusted=("site=A",),
    families={"I": ("I1", "I2"), "I1": ("I2",)},
    scales=(("x", "y"),),
)


def grouped(groups: list[int], kinds: EventKinds = KINDS) -> EventDataset:
    n = len(groups)
    offsets = np.arange(n + 1, dtype=np.int64)
    none = Ragged.from_offsets(np.zeros(n + 1, np.int64))
    return EventDataset(
        pa.array([f"s{i}" for i in range(n)], pa.large_string()),
        np.zeros(n, np.int32),
        np.zeros(n),
        Ragged.from_offsets(offsets),
        np.zeros(0, np.int32),
        none,
        ["a"],
        ["L"],
        groups=np.array(groups, np.int32),
        kinds=kinds,
    )


def test_ancestors_are_ordered_from_the_largest_family_to_the_smallest() -> None:
    assert KINDS.ancestors("I2") == ("I", "I1")


def test_a_kind_of_an_unknown_event_type_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="'I2'"):
        KINDS.check(["sex=F", "site=A", "I", "I1", "x", "y"])


def test_kinds_survive_being_written_as_json() -> None:
    assert EventKinds.from_dict(KINDS.to_dict()) == KINDS


def test_groups_and_kinds_are_saved_with_a_data_set(tmp_path) -> None:
    grouped([3, 3, 7]).save(tmp_path / "data")
    loaded = EventDataset.load(tmp_path / "data")
    assert loaded.groups is not None
    assert loaded.groups.tolist() == [3, 3, 7]
    assert loaded.kinds == KINDS


def test_a_selection_keeps_the_groups_of_its_sequences() -> None:
    selected = grouped([3, 3, 7]).select(np.array([2, 0]))
    assert selected.groups is not None
    assert selected.groups.tolist() == [7, 3]
    assert selected.kinds == KINDS


def test_groups_and_kinds_change_the_fingerprint() -> None:
    prints = {
        grouped([0, 0]).fingerprint,
        grouped([0, 1]).fingerprint,
        grouped([0, 1], EventKinds()).fingerprint,
    }
    assert len(prints) == 3


def test_a_data_set_without_groups_has_none() -> None:
    assert EventDataset.from_sequences([EventSequence("a", ("x",), (0.0,), ())]).groups is None


NAMES = ["I", "I1", "I2", "sex=F", "site=A", "x", "y", "z"]


def test_kinds_are_numbered_by_the_places_of_their_names() -> None:
    numbered = KINDS.numbered(NAMES)
    assert (numbered.attributes, numbered.adjusted) == ((3,), (4,))
    assert dict(numbered.families) == {0: (1, 2), 1: (2,)}
    assert numbered.scales == ((5, 6),)
    assert numbered.families_of == {0: (0,), 1: (0, 1), 2: (0, 1)}
    assert numbered.scale_of == {5: (5, 6), 6: (5, 6)}


def test_names_that_are_not_in_the_list_have_no_number() -> None:
    numbered = KINDS.numbered(["I", "I2", "y"])
    assert (numbered.attributes, numbered.adjusted) == ((), ())
    assert dict(numbered.families) == {0: (1,)}
    assert numbered.scales == ((2,),)


def test_families_and_thresholds_accompany_other_event_types() -> None:
    numbered = KINDS.numbered(NAMES)
    assert np.flatnonzero(numbered.is_companion).tolist() == [0, 1, 5, 6]
    assert np.flatnonzero(numbered.is_attribute).tolist() == [3]


@pytest.mark.parametrize("by_number", [True, False])
def test_pairs_that_share_their_moments_are_those_of_a_family_or_a_scale(by_number: bool) -> None:
    numbered = KINDS.numbered(NAMES)
    shared = {("I", "I1"), ("I", "I2"), ("I1", "I2"), ("x", "y")}
    for at, one in enumerate(NAMES):
        for place, other in enumerate(NAMES):
            expected = (one, other) in shared or (other, one) in shared
            if by_number:
                assert numbered.accompany(np.array([at]), np.array([place])).tolist() == [expected]
            else:
                assert KINDS.accompany(one, other) == expected


def test_kinds_are_true_if_there_are_any() -> None:
    assert KINDS.numbered(NAMES)
    assert not KINDS.numbered(["a", "b"])
    assert not EventKinds().numbered(NAMES)


MEASURED = EventKinds(
    scales=(("lab >= 1", "lab >= 2"), ("lab < 1",)), measured={"lab": ("lab >= 1", "lab >= 2", "lab < 1")}
)


def test_what_was_measured_is_the_first_cut_of_its_scales() -> None:
    kinds = MEASURED.numbered(["lab", "lab < 1", "lab >= 1", "lab >= 2"])
    assert kinds.scale_of == {1: (0, 1), 2: (0, 2, 3), 3: (0, 2, 3)}
    assert not kinds.is_companion[0]


def test_what_was_measured_shares_its_moments_with_its_thresholds() -> None:
    assert MEASURED.accompany("lab", "lab < 1")
    assert not MEASURED.accompany("lab >= 1", "lab < 1")
    kinds = MEASURED.numbered(["lab", "lab < 1", "x"])
    assert kinds.accompany(np.array([0, 1, 0]), np.array([1, 0, 2])).tolist() == [True, True, False]


def test_kinds_of_numbers_are_kept_on_disk_and_of_known_names_only() -> None:
    assert EventKinds.from_dict(MEASURED.to_dict()) == MEASURED
    assert MEASURED.only(["lab", "lab < 1"]) == EventKinds(
        scales=(("lab < 1",),), measured={"lab": ("lab < 1",)}
    )
    with pytest.raises(DataError, match="unknown event types, the first: 'lab'"):
        MEASURED.check(["lab >= 1", "lab >= 2", "lab < 1"])
