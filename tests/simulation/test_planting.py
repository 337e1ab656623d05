import numpy as np
import pytest

from eventcargo.simulation.planting import MIN_MISSES, Planted, attach, plant, planted_events, stray
from eventcargo.simulation.rules import Conjunction, Presence, TrueRule

RULE = TrueRule((Conjunction((0, 1, 2), (3,)), Conjunction((4, 5))))


def planted(near_miss: float = 0.5, positives: int = 40, n: int = 400) -> Planted:
    return plant(np.random.default_rng(0), RULE, positives, n, near_miss)


def events_by_sequence(occurrences: Planted) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    for sequence, event in zip(occurrences.sequences.tolist(), occurrences.events.tolist(), strict=True):
        found.setdefault(sequence, set()).add(event)
    return {sequence: frozenset(events) for sequence, events in found.items()}


def test_the_rule_holds_exactly_where_it_is_planted() -> None:
    found = planted()
    presence = Presence(found.sequences, found.events, 400, RULE.signs)
    assert presence.holds(RULE).sum() == 40


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_every_positive_literal_has_near_misses_without_it(missing: int) -> None:
    wanted = frozenset({0, 1, 2} - {missing})
    assert list(events_by_sequence(planted()).values()).count(wanted) == 10


def test_a_negated_literal_has_near_misses_with_it() -> None:
    assert list(events_by_sequence(planted()).values()).count(frozenset({0, 1, 2, 3})) == 10


def test_few_positives_still_have_some_near_misses() -> None:
    found = events_by_sequence(planted(positives=2))
    assert list(found.values()).count(frozenset({0, 1})) == MIN_MISSES


def test_near_misses_that_do_not_fit_are_fewer_but_never_make_a_match() -> None:
    found = planted(near_miss=5.0, positives=20, n=40)
    assert Presence(found.sequences, found.events, 40, RULE.signs).holds(RULE).sum() == 20


def test_no_near_misses_are_planted_where_none_are_wanted() -> None:
    assert set(events_by_sequence(planted(near_miss=0.0)).values()) == {
        frozenset({0, 1, 2}),
        frozenset({4, 5}),
    }


@pytest.mark.parametrize("near_miss", [0.0, 0.5])
def test_the_number_of_planted_events_is_known_beforehand(near_miss: float) -> None:
    known = sum(planted_events(part, 20, near_miss) for part in RULE.conjunctions)
    assert len(planted(near_miss)) == known


def test_strays_occur_at_their_rate() -> None:
    found = stray(np.random.default_rng(0), {3: 500.0, 7: 0.0}, 100)
    assert set(found.events.tolist()) == {3}
    assert len(found) == pytest.approx(500, abs=90)


def causes() -> Planted:
    rows = np.arange(2_000, dtype=np.int32)
    return Planted(rows, np.tile(np.array([1, 2], np.int32), 1_000), np.full(2_000, 0.5))


def test_a_companion_comes_after_its_cause_with_the_chance_given() -> None:
    found = attach(np.random.default_rng(0), causes(), {1: 9}, 0.8, 0.01)
    assert (found.sequences % 2 == 0).all()
    assert (found.events == 9).all()
    assert len(found) == pytest.approx(800, abs=50)
    assert (found.places > 0.5).all()


def test_a_precursor_comes_before_its_cause() -> None:
    assert (attach(np.random.default_rng(0), causes(), {2: 9}, 0.5, -0.1).places < 0.5).all()


def test_places_stay_inside_the_sequence() -> None:
    places = attach(np.random.default_rng(0), causes(), {2: 9}, 1.0, 5.0).places
    assert places.max() < 1.0
