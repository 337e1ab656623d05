import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset
from eventcargo.sequences import EventSequence
from eventcargo.verification.claims import Claim
from eventcargo.verification.forward import MAX_GIVEN, forward_select, swap_companions, type_level
from eventcargo.verification.label_test import LabelTest, VerifyData

from ..families import drawn, with_kinds
from .drawn import draw


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return draw(lambda events: "a" in events and "b" in events, dict.fromkeys("abcdef", 0.4))


def grown(
    data: EventDataset, rounds: int = 5, alpha: float = 0.05, min_gain: float = 10.0, barred: str = ""
) -> str:
    label_test = LabelTest(VerifyData(data), 0, [], min_gain)
    label_test.barred = np.array([name in barred for name in data.event_names]) if barred else None
    forward_select([label_test], rounds, alpha)
    return "".join(sorted(data.event_names[claim.event] for claim in label_test.claims))


def test_a_conjunction_is_grown_from_nothing(data: EventDataset) -> None:
    assert grown(data) == "ab"


def test_a_round_adds_one_event_type(data: EventDataset) -> None:
    assert (len(grown(data, rounds=0)), len(grown(data, rounds=1))) == (0, 1)


def test_the_strongest_event_type_is_added_first() -> None:
    data = draw(lambda events: "f" in events or {"a", "b"} <= set(events), dict.fromkeys("abcdef", 0.4))
    assert grown(data, rounds=1) == "f"


def test_what_the_arrangement_of_a_member_explains_is_not_added() -> None:
    late = [EventSequence(f"late {i}", ("b", "a"), (0.0, 1.0), ("bad",)) for i in range(200)]
    early = [EventSequence(f"early {i}", ("a", "c", "b"), (0.0, 1.0, 2.0), ()) for i in range(200)]
    none = [EventSequence(f"none {i}", ("b",), (0.0,), ()) for i in range(200)]
    data = EventDataset.from_sequences(late + early + none)
    label_test = LabelTest(VerifyData(data), 0, [Claim(data.event_names.index("a"), 200.0, 1.0)], 10.0)
    forward_select([label_test], 5, 0.05)
    assert len(label_test.claims) == 1


def test_what_is_sure_is_added_however_little_it_gains() -> None:
    sequences = drawn(20_000, dict.fromkeys("abc", 0.5), lambda events: 0.33 if "a" in events else 0.3)
    assert grown(EventDataset.from_sequences(sequences), min_gain=1e6) == "a"  # 0.002 nats a carrier


def test_weak_causes_that_add_up_are_all_added() -> None:
    causes = [f"w{at:02}" for at in range(12)]
    chances = dict.fromkeys([*causes, *(f"x{at:02}" for at in range(12))], 0.5)
    sequences = drawn(4000, chances, lambda events: expit(0.6 * (len(events & set(causes)) - 8)))
    data = EventDataset.from_sequences(sequences)
    label_test = LabelTest(VerifyData(data), 0, [], 1.0)
    forward_select([label_test], 60, 0.05)
    assert sorted(data.event_names[claim.event] for claim in label_test.claims) == causes


def test_from_mere_noise_a_boundary_grows_as_rarely_as_alpha_says() -> None:
    noises = (
        draw(lambda _: False, dict.fromkeys("abcdef", 0.4), 200, noise=0.5, seed=at) for at in range(40)
    )
    assert sum(bool(grown(noise, min_gain=0.01)) for noise in noises) <= 6  # 2 are expected


@pytest.mark.parametrize(("together", "found"), [(110, ""), (300, "x")])
def test_strata_of_few_sequences_are_judged_by_what_chance_does_in_them(together: int, found: str) -> None:
    assert grown_in_strata(together) == found  # chance gives 102; chi-square would take 110 for certain


def test_what_only_looks_strongest_does_not_hide_what_is() -> None:
    assert grown_in_strata(110, sure=50) == "y"


@pytest.mark.parametrize(("together", "found"), [(256, ""), (270, ""), (512, "x")])
def test_strata_that_say_nothing_by_themselves_are_compared_with_each_other(
    together: int, found: str
) -> None:
    assert grown_in_strata(together, size=2) == found


def grown_in_strata(together: int, size: int = 5, sure: int = 0) -> str:
    """What a round adds to nine members that make 512 strata of some sequences, one of them with the label.

    One sequence of each stratum has `x`; in `together` strata it is the one with the label. In the last
    `sure` strata the one with the label has `y`.
    """
    sequences = []
    for stratum, at in itertools.product(range(512), range(size)):
        carries = at == (0 if stratum < together else 1)
        events = [f"bit{bit}" for bit in range(9) if stratum >> bit & 1] + ["z" if at else "x"]
        events += ["y"] * (carries and stratum >= 512 - sure)
        times = tuple(map(float, range(len(events))))
        sequences.append(EventSequence(f"{stratum}-{at}", tuple(events), times, ("bad",) * carries))
    data = EventDataset.from_sequences(sequences)
    members = [number for number, name in enumerate(data.event_names) if name.startswith("bit")]
    label_test = LabelTest(VerifyData(data), 0, [Claim(event) for event in members], 1.0)
    forward_select([label_test], 1, 0.05)
    return "".join(data.event_names[claim.event] for claim in label_test.claims[len(members) :])


def test_what_is_not_allowed_is_not_added(data: EventDataset) -> None:
    assert "a" not in grown(data, barred="a")


def test_labels_grow_as_they_would_alone(data: EventDataset) -> None:
    label_tests = [LabelTest(VerifyData(data), 0, [], 10.0) for _ in range(10)]
    forward_select(label_tests, 5, 0.05)
    assert {frozenset(label_test.members) for label_test in label_tests} == {frozenset([0, 1])}


def test_a_member_that_is_not_given_is_not_added_again() -> None:
    many = "".join(chr(0x4E00 + at) for at in range(MAX_GIVEN))
    data = draw(lambda events: "a" in events, dict.fromkeys("a" + many, 0.05), 500)
    members = [data.event_names.index(name) for name in many + "a"]
    label_test = LabelTest(VerifyData(data), 0, [Claim(event) for event in members], 5.0)
    forward_select([label_test], 1, 0.05)
    assert label_test.members == members


@pytest.mark.parametrize(("p_value", "divided_by"), [(0.05 / 51, 50), (0.05 / 49, 1), (0.06, 50), (None, 50)])
def test_event_types_that_cannot_be_significant_are_not_corrected_for(
    p_value: float | None, divided_by: int
) -> None:
    usual = tuple(f"o{at:02}" for at in range(49))  # in every sequence
    data = EventDataset.from_sequences(
        [
            EventSequence(
                f"{at:02}", usual + ("a",) * (at < 6), (0.0,) * (49 + (at < 6)), ("bad",) * (at < 6)
            )
            for at in range(24)
        ]
    )
    asked = LabelTest(VerifyData(data), 0, [], min_gain=0.0)
    assert type_level(asked, [Claim(0, p_value=p_value)], alpha=0.05) == 0.05 / divided_by


def test_given_a_member_that_explains_the_label_no_event_type_can_be_significant() -> None:
    ways = [("a", "b"), ("a", "c"), ("b", "c"), ("c",), ("b",)]
    data = EventDataset.from_sequences(
        [
            EventSequence(
                f"{at:02}", ways[at % 5], (0.0,) * len(ways[at % 5]), ("bad",) * ("a" in ways[at % 5])
            )
            for at in range(100)
        ]
    )
    alone = LabelTest(VerifyData(data), 0, [], min_gain=0.0)
    assert alone.n_testable(0.05) == 3
    assert alone.with_claims([Claim(data.event_names.index("a"))]).n_testable(0.05) == 1


def test_an_added_claim_is_new_and_without_votes(data: EventDataset) -> None:
    label_test = LabelTest(VerifyData(data), 0, [], 10.0)
    forward_select([label_test], 1, 0.05)
    (claim,) = label_test.claims
    assert (claim.is_new, claim.is_mute, claim.votes, claim.evidence) == (True, True, None, None)
    assert claim.worth == claim.gain > 100
    assert claim.effect > 0.3


def test_an_added_inhibitor_has_a_negative_effect() -> None:
    label_test = LabelTest(
        VerifyData(draw(lambda events: "a" not in events, dict.fromkeys("abc", 0.4))), 0, [], 10.0
    )
    forward_select([label_test], 1, 0.05)
    assert [claim.effect < -0.9 for claim in label_test.claims] == [True]


def accompanied(n: int = 2000, seed: int = 0) -> EventDataset:
    """`a` causes the label; `b` comes with most `a`, and with little else. `c` is a stranger."""
    rng = np.random.default_rng(seed)
    sequences = []
    for at in range(n):
        a = bool(rng.random() < 0.4)
        b, c = bool(rng.random() < (0.8 if a else 0.05)), bool(rng.random() < 0.4)
        events = tuple(name for name, holds in zip("abc", (a, b, c), strict=True) if holds)
        labels = ("bad",) if rng.random() < (0.7 if a else 0.1) else ()
        sequences.append(EventSequence(f"{at:05}", events, tuple(map(float, range(len(events)))), labels))
    return EventDataset.from_sequences(sequences)


def swapped(data: EventDataset, claims: str, required: bool = False, barred: str = "") -> list[Claim]:
    """What takes the place of claims of 100 votes."""
    made = [Claim(data.event_names.index(name), 100.0, 1.0, is_required=required) for name in claims]
    label_test = LabelTest(VerifyData(data), 0, made, 10.0)
    label_test.barred = np.array([name in barred for name in data.event_names])
    swap_companions([label_test], 0.05)
    return label_test.claims


@pytest.mark.parametrize(("member", "better"), [("b", "a"), ("a", "a"), ("c", "c")])
def test_a_companion_that_is_worth_more_takes_the_place_of_a_member(member: str, better: str) -> None:
    data = accompanied()
    (claim,) = swapped(data, member)
    assert (data.event_names[claim.event], claim.votes, claim.is_new) == (better, 100.0, False)


def test_a_member_that_is_required_keeps_its_place() -> None:
    data = accompanied()
    assert [data.event_names[claim.event] for claim in swapped(data, "b", required=True)] == ["b"]


def test_a_companion_that_is_not_allowed_takes_no_place() -> None:
    data = accompanied()
    assert [data.event_names[claim.event] for claim in swapped(data, "b", barred="a")] == ["b"]


def test_a_companion_that_is_a_member_takes_no_place() -> None:
    data = accompanied()
    assert [data.event_names[claim.event] for claim in swapped(data, "ba")] == ["b", "a"]


def test_another_threshold_of_a_scale_takes_no_place() -> None:
    data = with_kinds(accompanied(), EventKinds(scales=(("a", "b"),)))
    assert [data.event_names[claim.event] for claim in swapped(data, "b")] == ["b"]


def test_a_companion_that_is_not_significant_takes_no_place() -> None:
    data = accompanied(12)
    assert [data.event_names[claim.event] for claim in swapped(data, "b")] == ["b"]


def test_members_are_arranged_anew_after_a_swap() -> None:
    data = accompanied()
    label_test = LabelTest(VerifyData(data), 0, [Claim(data.event_names.index("b"), 100.0, 1.0)], 10.0)
    before = label_test.arranged(0.05)
    swap_companions([label_test], 0.05)
    assert label_test.arranged(0.05) is not before


def test_no_questions_grow_nothing() -> None:
    label_tests: list[LabelTest] = []
    forward_select(label_tests, 5, 0.05)
    assert label_tests == []


def test_a_second_threshold_of_a_scale_is_not_added() -> None:
    sequences = drawn(  # both thresholds matter: c is worth something given a, which it includes
        3000, {"a": 0.5, "c": 0.4, "x": 0.3}, lambda e: 0.9 if {"a", "c"} <= e else 0.4 if "a" in e else 0.05
    )
    nested = [
        replace(one, events=tuple(e for e in one.events if e != "c" or "a" in one.events), times=())
        for one in sequences
    ]
    made = [replace(one, times=tuple(map(float, range(len(one.events))))) for one in nested]
    data = EventDataset.from_sequences(made)
    assert grown(data) == "ac"
    assert grown(with_kinds(data, EventKinds(scales=(("a", "c"),)))) == "c"


def test_a_member_that_acts_by_order_is_not_swapped_for_what_presence_shows() -> None:
    rng = np.random.default_rng(0)
    sequences = []
    for at in range(600):
        is_bad = bool(rng.random() < 0.5)
        events = (
            *(("a", "b") if is_bad else ("b", "a")),
            *(("c",) if rng.random() < 0.4 + 0.2 * is_bad else ()),
        )
        times = tuple(map(float, range(len(events))))
        sequences.append(EventSequence(f"{at:03}", events, times, ("bad",) if is_bad else ()))
    data = EventDataset.from_sequences(sequences)
    assert [data.event_names[claim.event] for claim in swapped(data, "ab")] == ["a", "b"]
