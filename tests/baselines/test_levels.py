from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eventcargo.baselines.config import METHODS
from eventcargo.baselines.find import find_boundaries
from eventcargo.baselines.levels import Levels, Settled
from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset
from eventcargo.sequences import EventSequence
from eventcargo.statistics.g2 import IndependenceTest

from ..families import (
    MEMBERS,
    accompanied,
    drawn,
    with_family,
    with_kinds,
    with_scale,
    with_sites,
    without_sites,
)

I50, I60, I70 = ([f"{family}.{at}" for at in range(6)] for family in ("I50", "I60", "I70"))
NESTED = {
    "I": (*I50, *I60, *I70, "I50", "I60", "I70"),
    "I50": tuple(I50),
    "I60": tuple(I60),
    "I70": tuple(I70),
}


@pytest.fixture(scope="module")
def family_data() -> EventDataset:
    return with_family(MEMBERS)


@pytest.fixture(scope="module")
def scale_data() -> EventDataset:
    return with_scale()


def settled(
    data: EventDataset,
    boundary: Sequence[str],
    min_gain: float = 10.0,
    barred: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> tuple[list[str], Settled]:
    names = list(data.event_names)
    levels = Levels(
        IndependenceTest(data.presence()),
        data.positives()[0],
        data.kinds.numbered(names),
        0.05,
        min_gain,
        np.isin(names, barred),
        [names.index(name) for name in fixed],
    )
    result = levels.settle([names.index(name) for name in boundary])
    return [names[event] for event in result.boundary], result


def nested(causes: Sequence[str], chance: float = 0.03) -> EventDataset:
    chances = dict.fromkeys([*I50, *I60, *I70], chance) | {"x": 0.3, "y": 0.3}
    sequences = drawn(4000, chances, lambda events: 0.8 if events & set(causes) else 0.05)
    data = EventDataset.from_sequences([accompanied(one, NESTED) for one in sequences])
    return with_kinds(data, EventKinds(families=NESTED))


@pytest.mark.parametrize("boundary", [["I50"], MEMBERS, MEMBERS[:3], ["I50", *MEMBERS[5:9]]])
def test_members_that_all_cause_the_label_become_their_family(
    family_data: EventDataset, boundary: Sequence[str]
) -> None:
    assert settled(family_data, boundary)[0] == ["I50"]


@pytest.mark.parametrize("boundary", [["I50"], MEMBERS, ["I50.00"], ["I50", "I50.00", "I50.01"]])
@pytest.mark.parametrize("chance", [0.01, 0.03])
def test_the_one_member_that_causes_the_label_stays_without_its_family(
    chance: float, boundary: Sequence[str]
) -> None:
    assert settled(with_family(["I50.00"], chance=chance), boundary, min_gain=5.0)[0] == ["I50.00"]


def test_a_weak_cause_is_not_replaced_by_a_family_that_adds_nothing_to_it() -> None:
    data = with_family(["I50.00"], chance=0.03)
    assert settled(data, ["I50.00"], min_gain=1e6)[0] == ["I50.00"]


def test_a_member_that_differs_from_its_family_stays_beside_it() -> None:
    data = with_family(MEMBERS[1:], chance=0.01)
    assert settled(data, ["I50"])[0] == ["I50", "I50.00"]


@pytest.mark.parametrize(
    ("causes", "boundary", "level"),
    [
        ([*I50, *I60, *I70], I50, ["I"]),
        (I50, ["I"], ["I50"]),
        (I50, I50, ["I50"]),
        ([*I50, *I60], ["I", "I50.0"], ["I50", "I60"]),
        (["I50.3"], ["I"], ["I50.3"]),
        ([*I50, "I60.0"], ["I50", "I60"], ["I50", "I60.0"]),
    ],
)
def test_the_highest_level_that_explains_as_much_is_named(
    causes: Sequence[str], boundary: Sequence[str], level: list[str]
) -> None:
    assert sorted(settled(nested(causes), boundary)[0]) == level


def test_of_a_family_and_its_only_member_the_family_stays() -> None:
    families = {"I50": ("I50.1",)}
    sequences = drawn(1000, {"I50.1": 0.3, "x": 0.3}, lambda events: 0.8 if "I50.1" in events else 0.1)
    data = EventDataset.from_sequences([accompanied(one, families) for one in sequences])
    assert settled(with_kinds(data, EventKinds(families=families)), ["I50.1", "x"])[0] == ["I50", "x"]


def test_event_types_outside_the_family_keep_their_place(family_data: EventDataset) -> None:
    boundary = ["X03", *MEMBERS[:2], "X04", MEMBERS[2], "X05"]
    assert settled(family_data, boundary)[0] == ["X03", "I50", "X04", "X05"]


def test_a_boundary_without_a_part_of_the_family_stays(family_data: EventDataset) -> None:
    assert settled(family_data, ["X03", "X04"])[0] == ["X03", "X04"]


def test_a_barred_family_does_not_replace_its_members(family_data: EventDataset) -> None:
    assert settled(family_data, MEMBERS[:3], barred=["I50"])[0] == list(MEMBERS[:3])


def test_a_barred_member_does_not_join_its_family() -> None:
    assert settled(with_family(["I50.00"], chance=0.03), ["I50"], barred=["I50.00"])[0] == ["I50"]


def test_a_fixed_member_stays(family_data: EventDataset) -> None:
    assert settled(family_data, MEMBERS[:3], fixed=["I50.01"])[0] == list(MEMBERS[:3])


def test_a_family_whose_presence_says_nothing_stays_as_it_is() -> None:
    families = {"I50": ("I50.1", "I50.2")}
    sequences = drawn(1000, {"I50.1": 0.3, "I50.2": 0.3}, lambda _: 0.3)
    data = EventDataset.from_sequences([accompanied(one, families) for one in sequences])
    assert settled(with_kinds(data, EventKinds(families=families)), ["I50.1", "I50.2"])[0] == [
        "I50.1",
        "I50.2",
    ]


def test_the_rest_of_the_boundary_is_given() -> None:
    families = {"I50": ("I50.1", "I50.2")}
    chances = {"I50.1": 0.2, "x": 0.4}
    sequences = drawn(3000, chances, lambda events: 0.8 if "x" in events else 0.1)
    with_shadow = [  # I50.2 comes with x, so it depends on the label, but not given x
        accompanied(_with(one, "I50.2") if "x" in one.events and at % 3 else one, families)
        for at, one in enumerate(sequences)
    ]
    data = with_kinds(EventDataset.from_sequences(with_shadow), EventKinds(families=families))
    assert settled(data, ["I50.2"])[0] == ["I50.2"]
    assert settled(data, ["x", "I50.1"])[0] == ["x", "I50.1"]


def _with(sequence: EventSequence, event: str) -> EventSequence:
    return replace(sequence, events=(*sequence.events, event), times=(*sequence.times, 99.0))


CUTS = ("creatinine >= 1.0", "creatinine >= 1.5", "creatinine >= 2.0", "creatinine >= 2.5")


@pytest.mark.parametrize("boundary", [CUTS[:1], CUTS[2:3], CUTS[3:], CUTS, CUTS[::3]])
def test_of_a_scale_the_best_cut_stays(scale_data: EventDataset, boundary: Sequence[str]) -> None:
    assert settled(scale_data, boundary)[0] == ["creatinine >= 2.0"]


def test_what_the_other_cuts_would_have_gained_is_noted(scale_data: EventDataset) -> None:
    _, result = settled(scale_data, ["creatinine >= 2.5"])
    names = scale_data.event_names
    ((best, gains),) = result.alternatives.items()
    assert names[best] == "creatinine >= 2.0"
    assert {names[cut] for cut in gains} == {CUTS[0], CUTS[1], CUTS[3]}
    assert 0 < gains[names.index(CUTS[0])] < gains[names.index(CUTS[1])]


def test_a_barred_cut_is_not_chosen(scale_data: EventDataset) -> None:
    chosen, result = settled(scale_data, ["creatinine >= 1.0"], barred=["creatinine >= 2.0"])
    assert chosen != ["creatinine >= 2.0"]
    assert len(result.alternatives) == 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_names_the_family(family_data: EventDataset, method: str) -> None:
    assert find_boundaries(family_data, method).boundary("bad") == ["I50"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_names_one_cut(scale_data: EventDataset, method: str) -> None:
    boundary = find_boundaries(scale_data, method).boundary("bad")
    assert [event for event in boundary if event in CUTS] == ["creatinine >= 2.0"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_adjusts_for_what_the_data_say(method: str) -> None:
    assert find_boundaries(with_sites(), method).boundary("bad") == ["cause"]


def test_without_adjustment_the_confounded_event_type_is_found() -> None:
    assert find_boundaries(without_sites()).boundary("bad") == ["cause", "code"]


def test_the_graph_of_a_method_has_members_and_alternatives(
    family_data: EventDataset, scale_data: EventDataset
) -> None:
    assert find_boundaries(family_data).families == {"I50": MEMBERS}
    assert list(find_boundaries(scale_data).alternatives["bad"]) == ["creatinine >= 2.0"]


@pytest.mark.parametrize("method", ["iamb", "cmb", "mb-by-mb", "pcd-by-pcd"])
def test_several_causes_are_found_beside_what_is_adjusted_for(method: str) -> None:
    chances = {"a": 0.3, "b": 0.3, "c": 0.3, "x": 0.3, "site": 0.5}
    sequences = drawn(3000, chances, lambda events: 0.05 + 0.2 * len(events & {"a", "b", "c", "site"}))
    data = with_kinds(EventDataset.from_sequences(sequences), EventKinds(adjusted=("site",)))
    assert sorted(find_boundaries(data, method).boundary("bad")) == ["a", "b", "c"]
