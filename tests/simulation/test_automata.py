from itertools import pairwise, product

import numpy as np
import pytest

from eventcargo.simulation.automata import Automaton, at_least, before, boolean, right_after
from eventcargo.simulation.rules import Conjunction, TrueRule

NAMES = ["A", "B", "C", "D"]
ALL = [list(ids) for length in range(6) for ids in product(range(4), repeat=length)]


def accepted(automaton: Automaton) -> list[bool]:
    return [automaton.accepts(np.array(ids, np.int64)) for ids in ALL]


def test_a_boolean_rule_is_decided_by_presence() -> None:
    rule = TrueRule((Conjunction((0, 1), (2,)), Conjunction((3,))))
    assert accepted(boolean(rule, NAMES)) == [
        ({0, 1} <= set(ids) and 2 not in ids) or 3 in ids for ids in ALL
    ]


def test_before_compares_first_occurrences_and_needs_both() -> None:
    assert accepted(before(0, 1, NAMES)) == [
        0 in ids and 1 in ids and ids.index(0) < ids.index(1) for ids in ALL
    ]


def test_right_after_needs_neighbours() -> None:
    assert accepted(right_after(0, 1, NAMES)) == [(0, 1) in list(pairwise(ids)) for ids in ALL]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_at_least_counts(times: int) -> None:
    assert accepted(at_least(0, times, NAMES)) == [ids.count(0) >= times for ids in ALL]


def test_states_start_before_the_first_event() -> None:
    assert at_least(0, 2, NAMES).states(np.array([1, 0, 0, 0])).tolist() == [0, 0, 1, 2, 2]


def test_each_rule_tells_its_truth() -> None:
    found = [(rule.signs, rule.text) for rule in (before(0, 1, NAMES), right_after(0, 1, NAMES))]
    assert found == [({0: 0, 1: 0}, "A before B"), ({0: 0, 1: 0}, "B right after A")]
    assert (at_least(2, 3, NAMES).signs, at_least(2, 3, NAMES).text) == ({2: 1}, "C at least 3 times")
