"""The regime `exact`: a Markov chain of events whose conditional probabilities are known in closed form.

A sequence ends with probability `end` before each event, and at `length_max` at the latest; a label is its
rule, flipped with probability `label_noise`. Given a prefix, the future depends only on the prefix's length
and last event, and a rule only on the state of its automaton, so one backward pass over (length, last event,
state) gives P(label | prefix) exactly. These probabilities replace a trained model in tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import Settings, check_at_least, setting
from eventcargo.errors import DataError
from eventcargo.simulation.automata import Automaton, at_least, before, boolean, right_after
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.rules import Conjunction, TrueRule, flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names

Ids = Sequence[int] | NDArray[np.integer]
"""Numbers of event types, 0 to event_types - 1."""

MIN_TYPES = 10
"""The rules use event types 0 to 9."""

N_RULES = 6


@dataclass(frozen=True)
class ExactConfig(Settings):
    """Settings of the regime `exact`."""

    sequences: int = setting(4_000, ge=1)
    """number of sequences"""
    event_types: int = setting(12, ge=MIN_TYPES)
    """number of event types; the rules use the first ten"""
    labels: int = setting(N_RULES, ge=1, le=N_RULES)
    """number of labels; their rules, in order: AND, OR, AND NOT, before, right after, at least twice"""
    label_noise: float = setting(0.02, ge=0, le=0.5)
    """share of labels flipped, in both directions"""
    length_min: int = setting(3, ge=1)
    """shortest sequence, in events"""
    length_max: int = setting(20, ge=1)
    """longest sequence, in events"""
    end: float = setting(0.1, ge=0, le=1)
    """probability that a sequence ends before the next event, once it has `length_min` events"""
    concentration: float = setting(1.0, ge=0.01, le=1000)
    """evenness of the chain: with small values, some next events are far more likely than others"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "length_max", self.length_min)


@dataclass(frozen=True)
class ExactProcess:
    """A process with known conditionals: the probabilities of the first and the next event, and the rules.

    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> process.next_event([]).shape, process.labels([3, 1]).shape
    ((13,), (6,))
    """

    config: ExactConfig
    first: NDArray[np.float64]  # (event types,)
    following: NDArray[np.float64]  # (event types, event types): row is the last event
    rules: tuple[Automaton, ...]

    @classmethod
    def from_config(cls, config: ExactConfig, seed: int = 0) -> "ExactProcess":
        """Draw a random chain, with the regime's rules."""
        rng = np.random.default_rng(seed)
        alpha = np.full(config.event_types, config.concentration)
        names = event_names(config.event_types)
        rules = tuple(_all_rules(names)[: config.labels])
        return cls(config, rng.dirichlet(alpha), rng.dirichlet(alpha, config.event_types), rules)

    def end_chance(self, length: int) -> float:
        """Probability that a sequence ends at this length, given that it has reached it."""
        if length >= self.config.length_max:
            return 1.0
        return self.config.end if length >= self.config.length_min else 0.0

    def next_event(self, ids: Ids) -> NDArray[np.float64]:
        """P(next event | prefix): (event types + 1,); the last entry is the end of the sequence."""
        return self.next_event_probabilities(ids)[-1]

    def labels(self, ids: Ids) -> NDArray[np.float64]:
        """P(label | prefix), whether or not the sequence continues: (labels,)."""
        return self.label_posteriors(ids)[-1]

    def labels_complete(self, ids: Ids) -> NDArray[np.float64]:
        """P(label | complete sequence): (labels,); an event of type `event_types` is in no rule."""
        checked = self._checked(ids, hidden=1)
        return self._noisy(np.array([rule.accepts(checked) for rule in self.rules], np.float64))

    def next_event_probabilities(self, ids: Ids) -> NDArray[np.float64]:
        """`next_event` for every prefix, the empty prefix first: (length + 1, event types + 1)."""
        checked = self._checked(ids)
        probabilities = np.concatenate([self.first[None], self.following[checked]])
        ends = np.array([self.end_chance(length) for length in range(len(probabilities))])[:, None]
        return np.concatenate([(1 - ends) * probabilities, ends], axis=1)

    def label_posteriors(self, ids: Ids) -> NDArray[np.float64]:
        """`labels` for every prefix, the empty prefix first: (length + 1, labels)."""
        checked = self._checked(ids)
        last = np.concatenate([[len(self.first)], checked])
        lengths = np.arange(len(last))
        columns = [
            values[lengths, last, rule.states(checked)]
            for rule, values in zip(self.rules, self._values, strict=True)
        ]
        return self._noisy(np.stack(columns, axis=1))

    @cached_property
    def _values(self) -> list[NDArray[np.float64]]:
        return [self._backward(rule) for rule in self.rules]

    def _backward(self, rule: Automaton) -> NDArray[np.float64]:
        """P(rule holds at the end | length, last event, state); last event `event_types` means none yet.

        V[t, e, s] = end(t) accepting[s] + (1 - end(t)) sum over e' of P(e' | e) V[t + 1, e', steps[s, e']]
        """
        n_types, n_states = len(self.first), len(rule.accepting)
        probabilities = np.concatenate([self.following, self.first[None]])  # (event types + 1, event types)
        values = np.zeros((self.config.length_max + 1, n_types + 1, n_states))
        values[-1] = rule.accepting
        for length in range(self.config.length_max - 1, -1, -1):
            known = rule.steps[:, :n_types].T
            after = values[length + 1][np.arange(n_types)[:, None], known]  # (event types, states)
            end = self.end_chance(length)
            values[length] = end * rule.accepting + (1 - end) * (probabilities @ after)
        return values

    def _noisy(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of a label from the probability of its rule."""
        return probability * (1 - 2 * self.config.label_noise) + self.config.label_noise

    def _checked(self, ids: Ids, hidden: int = 0) -> NDArray[np.int64]:
        checked = np.asarray(ids, np.int64).reshape(-1)
        if len(checked) > self.config.length_max:
            raise DataError(f"{len(checked)} events; this process has at most {self.config.length_max}")
        wrong = checked[(checked < 0) | (checked >= len(self.first) + hidden)]
        if len(wrong):
            raise DataError(f"event type {wrong[0]}: this process has 0 to {len(self.first) - 1}")
        return checked

    def sample(self, sequences: int, seed: int = 0) -> Simulated:
        """Draw sequences from the process, with their labels and the truth."""
        rng = np.random.default_rng(seed)
        table, lengths = self._draw(rng, sequences)
        holds = np.stack([_accepted(rule, table, lengths) for rule in self.rules], axis=1)
        noise = self.config.label_noise
        carried = flip(rng, holds, noise, noise)
        events = table[np.arange(table.shape[1]) < lengths[:, None]].astype(np.int32)
        columns = Columns(lengths, events, draw_times(rng, lengths), carried)
        truth = [Cause(rule.signs, rule.text) for rule in self.rules]
        return assemble("exact", self.config, seed, columns, truth)

    def _draw(self, rng: np.random.Generator, sequences: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Events (sequences, length_max) and lengths; a row is valid up to its length."""
        cumulative = np.cumsum(np.concatenate([self.following, self.first[None]]), axis=1)
        last = np.full(sequences, len(self.first))
        table = np.zeros((sequences, self.config.length_max), np.int64)
        lengths = np.full(sequences, self.config.length_max, np.int64)
        for length in range(self.config.length_max):
            ended = rng.random(sequences) < self.end_chance(length)
            lengths = np.where(ended & (lengths == self.config.length_max), length, lengths)
            drawn = (rng.random(sequences)[:, None] > cumulative[last]).sum(1)
            last = np.minimum(drawn, len(self.first) - 1)
            table[:, length] = last
        return table, lengths


def simulate_exact(config: ExactConfig, seed: int = 0) -> Simulated:
    """Simulate sequences of the process `ExactProcess.from_config(config, seed)`.

    >>> simulate_exact(ExactConfig(sequences=10, labels=2)).rules
    {'L000': 'E00000 & E00001', 'L001': 'E00002 | E00003'}
    """
    return ExactProcess.from_config(config, seed).sample(config.sequences, seed)


def _all_rules(names: list[str]) -> list[Automaton]:
    return [
        boolean(TrueRule((Conjunction((0, 1)),)), names),
        boolean(TrueRule((Conjunction((2,)), Conjunction((3,)))), names),
        boolean(TrueRule((Conjunction((4,), (5,)),)), names),
        before(6, 7, names),
        right_after(8, 9, names),
        at_least(0, 2, names),
    ]


def _accepted(rule: Automaton, table: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the rule holds in each row of a table of events."""
    state = np.zeros(len(table), np.int64)
    for position in range(table.shape[1]):
        state = np.where(position < lengths, rule.steps[state, table[:, position]], state)
    return rule.accepting[state]
