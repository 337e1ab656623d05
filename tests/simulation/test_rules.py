import numpy as np
import pytest

from eventcargo.simulation.rules import Conjunction, Presence, TrueRule, flip

# presence of events 0 to 3 in eight sequences; event 0 occurs twice in sequence 1
OCCURRED = [set(), {0}, {1}, {0, 1}, {0, 1, 3}, {2}, {2, 3}, {0, 1, 2, 3}]


def presence() -> Presence:
    pairs = [(row, event) for row, events in enumerate(OCCURRED) for event in events] + [(1, 0)]
    rows, events = np.array(pairs, np.int32).T
    return Presence(rows, events, len(OCCURRED), range(5))


def where(rule: TrueRule) -> list[int]:
    return np.flatnonzero(presence().holds(rule)).tolist()


def test_a_conjunction_holds_where_all_occur() -> None:
    assert where(TrueRule((Conjunction((0, 1)),))) == [3, 4, 7]


def test_a_negated_event_switches_a_conjunction_off() -> None:
    assert where(TrueRule((Conjunction((0, 1), (3,)),))) == [3]


def test_any_conjunction_is_enough() -> None:
    assert where(TrueRule((Conjunction((0, 1), (3,)), Conjunction((2,), (0,))))) == [3, 5, 6]


def test_an_event_that_repeats_counts_once() -> None:
    assert 1 not in where(TrueRule((Conjunction((0, 1)),)))


def test_an_event_that_never_occurs_is_never_present() -> None:
    assert where(TrueRule((Conjunction((4,)),))) == []


def test_a_rule_without_conjunctions_never_holds() -> None:
    assert where(TrueRule(())) == []


def test_signs_tell_promoting_from_inhibiting() -> None:
    assert TrueRule((Conjunction((0, 1), (3,)), Conjunction((2,)))).signs == {0: 1, 1: 1, 3: -1, 2: 1}


def test_a_single_conjunction_needs_no_brackets() -> None:
    assert TrueRule((Conjunction((0,), (1,)),)).text("AB") == "A & !B"


def test_noise_loses_and_adds_labels_at_their_own_rates() -> None:
    holds = np.zeros((20_000, 2), bool)
    holds[:10_000] = True
    flipped = flip(np.random.default_rng(0), holds, 0.1, np.array([0.0, 0.02]))
    assert flipped[:10_000].mean() == pytest.approx(0.9, abs=0.01)
    assert flipped[10_000:].mean(0) == pytest.approx([0.0, 0.02], abs=0.005)


def test_no_noise_changes_nothing() -> None:
    holds = np.random.default_rng(0).random((100, 3)) < 0.5
    assert (flip(np.random.default_rng(1), holds, 0.0, 0.0) == holds).all()
