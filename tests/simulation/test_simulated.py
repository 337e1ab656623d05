from dataclasses import dataclass

import numpy as np

from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, numbered


@dataclass(frozen=True)
class Settings:
    event_types: int = 4


def made() -> Simulated:
    columns = Columns(
        lengths=np.array([2, 1]),
        events=np.array([3, 1, 3], np.int32),
        times=np.array([0.5, 1.5, 2.5]),
        carried=np.array([[True, False], [True, False]]),
    )
    return assemble("by hand", Settings(), 7, columns, [Cause({3: 1, 1: -1}, "some rule"), Cause({}, "none")])


def test_names_grow_wider_where_they_must() -> None:
    assert numbered("L", 1001, 3)[::1000] == ["L0000", "L1000"]


def test_events_and_labels_keep_their_names() -> None:
    first, second = made().data
    assert (first.events, first.times, first.labels) == (("E00003", "E00001"), (0.5, 1.5), ("L000",))
    assert (second.events, second.times, second.labels) == (("E00003",), (2.5,), ("L000",))


def test_event_types_that_never_occur_are_left_out() -> None:
    assert made().data.event_names == ("E00001", "E00003")


def test_a_label_without_boundary_or_support_is_part_of_the_truth() -> None:
    truth = made().truth
    assert (truth.boundary("L001"), truth.support["L001"]) == ([], 0)


def test_truth_holds_signs_and_support() -> None:
    rows = made().truth.edges.select("label", "event", "sign", "support").rows()
    assert rows == [("L000", "E00001", -1, 2), ("L000", "E00003", 1, 2)]


def test_the_recipe_is_kept() -> None:
    simulated = made()
    assert (simulated.regime, simulated.settings, simulated.seed) == ("by hand", {"event_types": 4}, 7)
