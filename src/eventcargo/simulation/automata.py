"""Rules as small deterministic automata that read a sequence event by event.

Every rule on presence, order, adjacency or counts is such an automaton. Its state holds all that a prefix
says about the rule, which makes exact posteriors possible.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulation.rules import TrueRule


@dataclass(frozen=True)
class Automaton:
    """A rule: start in state 0, go to `steps[state, event]` with each event, hold if the last is `accepting`.

    The last column of `steps` is for an event type outside all rules, which stands for a hidden event.
    `signs` and `text` are the true sign of each event type and the rule in words.
    """

    steps: NDArray[np.int64]  # (states, event types + 1)
    accepting: NDArray[np.bool_]  # (states,)
    signs: Mapping[int, int]
    text: str

    def states(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The state after each prefix of a sequence, the empty prefix first: (length + 1,)."""
        states = np.zeros(len(ids) + 1, np.int64)
        for position, event in enumerate(ids):
            states[position + 1] = self.steps[states[position], event]
        return states

    def accepts(self, ids: NDArray[np.int64]) -> bool:
        """Whether the rule holds for a complete sequence."""
        return bool(self.accepting[self.states(ids)[-1]])


def boolean(rule: TrueRule, names: list[str]) -> Automaton:
    """The automaton of a Boolean rule on presence; a state is the set of its event types seen so far.

    >>> from eventcargo.simulation.rules import Conjunction
    >>> both = boolean(TrueRule((Conjunction((0, 2)),)), ["A", "B", "C"])
    >>> both.text, both.accepts(np.array([2, 1, 0])), both.accepts(np.array([2, 1]))
    ('A & C', True, False)
    """
    literals = sorted(rule.signs)
    n_states = 2 ** len(literals)
    steps = _staying(n_states, len(names))
    for bit, event in enumerate(literals):
        steps[:, event] |= 1 << bit
    seen = [{event for bit, event in enumerate(literals) if state >> bit & 1} for state in range(n_states)]
    accepting = np.array([_holds(rule, events) for events in seen])
    return Automaton(steps, accepting, rule.signs, rule.text(names))


def _holds(rule: TrueRule, seen: set[int]) -> bool:
    return any(seen.issuperset(each.present) and seen.isdisjoint(each.absent) for each in rule.conjunctions)


def before(a: int, b: int, names: list[str]) -> Automaton:
    """Rule: both occur, and the first `a` comes before the first `b`; the signs are 0, as in `ordered`.

    >>> before(0, 1, ["A", "B"]).accepts(np.array([0, 0, 1]))
    True
    """
    neither, a_first, holds, fails = range(4)
    steps = _staying(4, len(names))
    steps[neither, a], steps[neither, b], steps[a_first, b] = a_first, fails, holds
    return Automaton(steps, np.arange(4) == holds, {a: 0, b: 0}, f"{names[a]} before {names[b]}")


def right_after(a: int, b: int, names: list[str]) -> Automaton:
    """Rule: `b` comes right after `a` somewhere; the signs are 0, as in `follows`.

    >>> right_after(0, 1, ["A", "B"]).accepts(np.array([1, 0, 0]))
    False
    """
    waiting, after_a, holds = range(3)
    steps = np.full((3, len(names) + 1), waiting)
    steps[[waiting, after_a], a], steps[after_a, b], steps[holds] = after_a, holds, holds
    return Automaton(steps, np.arange(3) == holds, {a: 0, b: 0}, f"{names[b]} right after {names[a]}")


def at_least(a: int, times: int, names: list[str]) -> Automaton:
    """Rule: `a` occurs at least `times` times.

    >>> at_least(0, 2, ["A", "B"]).accepts(np.array([0, 1, 0]))
    True
    """
    steps = _staying(times + 1, len(names))
    steps[:times, a] += 1
    return Automaton(steps, np.arange(times + 1) == times, {a: 1}, f"{names[a]} at least {times} times")


def _staying(n_states: int, n_types: int) -> NDArray[np.int64]:
    """The steps of an automaton that never leaves its state."""
    return np.tile(np.arange(n_states)[:, None], (1, n_types + 1))
