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
