"""The regime `mixed`: many event types and all kinds of rules at once, on presence and on arrangement.

The labels take the kinds of rules in turn; each has event types of its own. In the sequences where they are
planted, a label's events come at a random distance from each other, close together or far apart, in random
order. Labels are computed from the finished sequences; then some are dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import check_at_least, setting
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.planting import Planted
from eventcargo.simulation.rules import Conjunction, Presence, TrueRule, flip
from eventcargo.simulation.scattered import MIN_COMMON, ScatteredConfig, fill_up
from eventcargo.simulation.sequence_rules import SequenceRule, Sequences
from eventcargo.simulation.simulated import Columns, Simulated, assemble, event_names

SHAPES = (
    TrueRule((Conjunction((0, 1)),)),
    TrueRule((Conjunction((0,), (1,)),)),
    TrueRule((Conjunction((0, 1)), Conjunction((2, 3), (4,)))),
    TrueRule((Conjunction((0, 1), (2,)),)),
)
"""The rules on presence, in turn."""

PRESENT_SHARE, ABSENT_SHARE = 0.25, 0.45
"""Share of sequences with each event type of a rule on presence: of those that promote, that inhibit."""

CLOSEST = 0.01
"""Smallest span of the events of a label, as a share of the sequence; spans up to 1 are log-uniform."""


@dataclass(frozen=True)
class Recipe:
    """How the events of a kind of rule are planted, and the choices of its limits."""

    kind: str
    counts: tuple[tuple[int, int], ...]
    """fewest and most occurrences of each event type where a label is planted"""
    limits: tuple[tuple[float, ...], ...] = ((),)
    share: float = 0.2
    """share of sequences in which a label is planted"""
    strays: tuple[int, ...] | None = None
    """which event types occur alone elsewhere; None: all"""


RECIPES = (
    Recipe("presence", ()),
    Recipe("before", ((1, 2), (1, 2))),
    Recipe("right_after", ((1, 2), (1, 2)), share=0.25),
    Recipe("at_least", ((1, 4),), ((3,), (4,)), share=0.25),
    Recipe("less_apart", ((1, 1), (1, 1)), ((1.0,), (2.0,), (3.0,))),
    Recipe("among_last", ((1, 2),), ((6,), (8,), (10,)), share=0.3),
    Recipe("state", ((1, 2), (1, 2), (1, 2))),
    Recipe("switch", ((1, 3), (1, 3)), strays=(1,)),
    Recipe("window", ((1, 2), (1, 2)), ((3,), (4,), (6,))),
    Recipe("more", ((0, 4), (0, 4)), share=0.22),
    Recipe("then", ((1, 2), (1, 2), (1, 2))),
    Recipe("burst", ((2, 4),), ((3, 5.0), (3, 8.0)), share=0.25),
)
"""The kinds of rules, in turn. Whether `switch` holds without b is not asked: a never comes without it."""

MOST_TYPES = 5
"""Largest number of event types of a rule."""


@dataclass(frozen=True)
class MixedConfig(ScatteredConfig):
    """Settings of the regime `mixed`."""

    sequences: int = setting(15_000, ge=1)
    """number of sequences"""
    event_types: int = setting(2_000, ge=1)
    """number of event types; all that are in no rule are background"""
    labels: int = setting(40, ge=1)
    """number of labels"""
    label_noise: float = setting(0.02, ge=0, le=1)
    """share of true labels dropped"""
    background_min: int = setting(8, ge=1)
    """fewest background events of a sequence"""
    background_max: int = setting(24, ge=1)
    """most background events of a sequence"""
    stray_share: float = setting(0.04, ge=0, le=1)
    """share of sequences in which an event type of a rule on arrangement occurs once more"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "event_types", MOST_TYPES * self.labels + MIN_COMMON)


def simulate_mixed(config: MixedConfig, seed: int = 0) -> Simulated:
    """Simulate all kinds of rules at once.

    >>> mixed = simulate_mixed(MixedConfig(sequences=10, labels=8))
    >>> mixed.rules["L001"], mixed.rules["L007"]
    ('E00474 before E01815', 'last E00041 after last E00665')
    """
    rng = np.random.default_rng(seed)
    types = rng.permutation(config.event_types).astype(np.int32)
    rules = _draw_rules(rng, types, config.labels)
    planted = [_plant(rng, config, rule, label) for label, rule in enumerate(rules)]
    used = np.concatenate([list(rule.signs) for rule in rules])
    lengths, occurrences = fill_up(rng, config, Planted.join(planted), used)
    data = Sequences(lengths, occurrences.events, draw_times(rng, lengths))
    holds = np.stack([_evaluate(rule, data) for rule in rules], axis=1)
    names = event_names(config.event_types)
    columns = Columns(lengths, data.events, data.times, flip(rng, holds, config.label_noise, 0.0))
    return assemble("mixed", config, seed, columns, [rule.cause(names) for rule in rules])


Rule = TrueRule | SequenceRule


def _draw_rules(rng: np.random.Generator, types: NDArray[np.int32], labels: int) -> list[Rule]:
    """The rule of each label, over the next event types that no rule has."""
    return [
        _draw_rule(rng, label, types[label * MOST_TYPES : (label + 1) * MOST_TYPES].tolist())
        for label in range(labels)
    ]


def _draw_rule(rng: np.random.Generator, label: int, own: Sequence[int]) -> Rule:
    recipe = RECIPES[label % len(RECIPES)]
    if recipe.kind == "presence":
        return SHAPES[label // len(RECIPES) % len(SHAPES)].over(own)
    limits = recipe.limits[rng.integers(len(recipe.limits))]
    return SequenceRule(recipe.kind, tuple(own[: len(recipe.counts)]), limits)


def _plant(rng: np.random.Generator, config: MixedConfig, rule: Rule, label: int) -> Planted:
    """The events of one label in all sequences."""
    if isinstance(rule, TrueRule):
        return _plant_presence(rng, config.sequences, rule)
    return _plant_arranged(rng, config, rule, RECIPES[label % len(RECIPES)])


def _plant_presence(rng: np.random.Generator, n: int, rule: TrueRule) -> Planted:
    """Each event type once in its share of the sequences, independently of the others."""
    shares = [PRESENT_SHARE if sign > 0 else ABSENT_SHARE for sign in rule.signs.values()]
    return _scatter(rng, list(rule.signs), rng.random((n, len(shares))) < shares)


def _plant_arranged(
    rng: np.random.Generator, config: MixedConfig, rule: SequenceRule, recipe: Recipe
) -> Planted:
    """Several of each event type at a random distance in some sequences; single ones in any."""
    fewest, most = np.array(recipe.counts).T
    rows = np.flatnonzero(rng.random(config.sequences) < recipe.share).astype(np.int32)
    counts = rng.integers(fewest, most, (len(rows), len(most)), endpoint=True)
    strays = [event for at, event in enumerate(rule.events) if recipe.strays is None or at in recipe.strays]
    alone = rng.random((config.sequences, len(strays))) < config.stray_share
    return Planted.join([_cluster(rng, rows, rule.events, counts), _scatter(rng, strays, alone)])


def _cluster(
    rng: np.random.Generator, rows: NDArray[np.int32], events: Sequence[int], counts: NDArray[np.int64]
) -> Planted:
    """Events of each row within a span of random length at a random place."""
    span = CLOSEST ** rng.random(len(rows))
    start = rng.random(len(rows)) * (1 - span)
    owner = np.repeat(np.arange(len(rows)), counts.sum(1))
    chosen = np.repeat(np.tile(np.array(events, np.int32), len(rows)), counts.reshape(-1))
    return Planted(rows[owner], chosen, start[owner] + span[owner] * rng.random(len(owner)))


def _scatter(rng: np.random.Generator, events: Sequence[int], present: NDArray[np.bool_]) -> Planted:
    """Each event once where it is present, at a random place."""
    rows, columns = np.nonzero(present)
    return Planted(rows.astype(np.int32), np.array(events, np.int32)[columns], rng.random(len(rows)))


def _evaluate(rule: Rule, data: Sequences) -> NDArray[np.bool_]:
    """Whether a rule holds in each sequence."""
    if isinstance(rule, SequenceRule):
        return rule.holds(data)
    return Presence(data.rows, data.events, len(data.lengths), rule.signs).holds(rule)
