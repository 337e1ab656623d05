"""`find_rules`: for every label of a graph a short rule over its boundary, judged on held-out sequences."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.rules.candidates import LearningData, arranged_literals, presence_literals
from eventcargo.rules.description_length import DescriptionLength, Dnf
from eventcargo.rules.literals import Literal
from eventcargo.rules.occurrences import Occurrences
from eventcargo.rules.patterns import LiteralPatterns
from eventcargo.rules.rule import Literals, Rule, holds
from eventcargo.rules.search import Search

ACCIDENT = 0.01
"""A rule is dropped where chance alone gives as many hits on held-out sequences with this probability."""


@dataclass(frozen=True)
class RuleConfig:
    """Settings of the search for rules."""

    kind: OneOf["arrangement", "presence"] = "arrangement"
    """arrangement: count, order, adjacency, closeness in time and lateness too; presence: not these"""
    held_out: float = 0.34
    """share of sequences that rules are judged on and not learnt from"""
    min_support: int = 20
    """sequences that carry the label, and that do not, at least; no rule is looked for with fewer"""
    min_precision: float = 0.3
    """share of the held-out sequences where the rule holds that carry the label, at least"""
    min_recall: float = 0.3
    """share of the held-out sequences with the label in which the rule holds, at least"""
    max_events: int = 30
    """event types of a boundary that are looked at, the strongest ones"""
    max_literals: int = 6
    """literals of a conjunction, at most"""
    max_conjunctions: int = 8
    """conjunctions joined by OR, at most"""
    penalty: float = 1.0
    """price of a literal: higher gives shorter rules"""
    unit: str = ""
    """name of the unit of times that are plain numbers, such as h; rules show it"""
    seed: int = 0
    """number that the choice of held-out sequences follows from"""

    def __post_init__(self) -> None:
        if self.kind not in ("arrangement", "presence"):
            raise ConfigError(f"kind={self.kind!r}: use arrangement or presence")
        if not 0.05 <= self.held_out <= 0.8:
            raise ConfigError(f"held_out={self.held_out}: use a share from 0.05 to 0.8")
        for name in ("min_precision", "min_recall"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}={getattr(self, name)}: use a share from 0 to 1")
        for name in ("min_support", "max_events", "max_literals", "max_conjunctions"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: use 1 or more")
        if not self.penalty > 0:
            raise ConfigError(f"penalty={self.penalty}: use a number above 0")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed}: use 0 or more")


def find_rules(
    data: EventDataset,
    graph: LabelGraph,
    config: RuleConfig = RuleConfig(),  # noqa: B008 (frozen)
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Rule | None]:
    """The rule of every label of a graph; None where no rule holds well enough.

    >>> from eventcargo.simulate import simulate
    >>> simulated = simulate("short", sequences=600, labels=2, seed=100)
    >>> {label: rule.text for label, rule in find_rules(simulated.data, simulated.truth).items()}
    {'L000': 'E00022 & E00034', 'L001': 'E00012 & !E00005'}
    """
    missing = sorted(set(graph.labels) - set(data.label_names))
    if missing:
        raise DataError(
            f"{len(missing):,} of {len(graph.labels):,} labels of the graph are not in the data, the first: "
            f"{missing[0]!r}; give the data that the graph was made from"
        )
    boundaries = {label: graph.boundary(label)[: config.max_events] for label in graph.labels}
    found = Occurrences.locate(data, {event for events in boundaries.values() for event in events})
    carried = data.label_matrix().tocsc()
    draw = np.random.default_rng(config.seed).random(len(data))
    rules: dict[str, Rule | None] = {}
    for done, (label, events) in enumerate(boundaries.items(), 1):
        column = carried[:, [data.label_names.index(label)]].toarray().ravel().astype(bool)
        rules[label] = _find(label, events, found, column, draw, config)
        if progress is not None:
            progress(done, len(boundaries))
    return rules


def _find(
    label: str,
    events: list[str],
    found: Occurrences,
    carried: NDArray[np.bool_],
    draw: NDArray[np.float64],
    config: RuleConfig,
) -> Rule | None:
    if not events or min(carried.sum(), (~carried).sum()) < config.min_support:
        return None
    learn = _learning(carried, draw, config.held_out)
    learning = LearningData(found, learn, carried, config.unit)
    literals, patterns = _patterns(learning, events, config)
    best = Search(
        DescriptionLength(patterns, config.penalty), config.max_literals, config.max_conjunctions
    ).best()
    return _judged(label, _named(best, literals), learning, config) if best else None


def _patterns(
    learning: LearningData, events: list[str], config: RuleConfig
) -> tuple[list[Literal], LiteralPatterns]:
    """The literals that a rule may use, and their patterns in the sequences to learn from."""
    narrowed, rows = learning.found.narrow(events)
    near = LearningData(narrowed, learning.learn[rows], learning.carried[rows], learning.unit)
    literals = presence_literals(events)
    if config.kind == "arrangement":
        literals += arranged_literals(near, events)
    held = np.stack([literal.holds(narrowed)[near.learn] for literal in literals])
    carried = near.carried[near.learn]
    all_carried = int(learning.carried[learning.learn].sum())
    missed = all_carried - int(carried.sum())
    elsewhere = (missed, int(learning.learn.sum()) - len(carried) - missed)
    return literals, LiteralPatterns.collapse(tuple(literals), held, carried, elsewhere)


def _learning(carried: NDArray[np.bool_], draw: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """The sequences to learn from: the same share of those with the label as of those without."""
    learn = np.ones(len(carried), bool)
    for rows in (np.flatnonzero(carried), np.flatnonzero(~carried)):
        order = rows[np.argsort(draw[rows], kind="stable")]
        learn[order[: round(share * len(rows))]] = False
    return learn


def _named(rule: Dnf, literals: list[Literal]) -> Literals:
    """The literals behind the numbers: in the order of the boundary, negated ones last."""
    named = [*literals, *(replace(literal, negated=True) for literal in literals)]
    return tuple(tuple(named[at] for at in part) for part in sorted(map(sorted, rule)))


def _judged(label: str, literals: Literals, learning: LearningData, config: RuleConfig) -> Rule | None:
    """The rule with its figures on held-out sequences; None where it does not hold well enough there."""
    judge = ~learning.learn
    held, carried = holds(literals, learning.found)[judge], learning.carried[judge]
    support, carrying, hits = int(held.sum()), int(carried.sum()), int((held & carried).sum())
    if not hits:
        return None
    rule = Rule(label, literals, support, carrying, hits / support, hits / carrying)
    by_accident = hypergeom.sf(hits - 1, len(held), carrying, support)
    weak = rule.precision < config.min_precision or rule.recall < config.min_recall
    return None if weak or by_accident > ACCIDENT else rule
