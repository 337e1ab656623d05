"""`find_rules`: for every label of a graph a short rule over its boundary, judged on held-out sequences."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import Work, moment, read_unit, write_unit
from eventcargo.errors import DataError, counted
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.progress import OnProgress
from eventcargo.quality import Quality
from eventcargo.rules.candidates import LearningData, arranged_literals, presence_literals
from eventcargo.rules.config import RuleConfig
from eventcargo.rules.description_length import DescriptionLength, Dnf
from eventcargo.rules.literals import Literal
from eventcargo.rules.occurrences import Occurrences
from eventcargo.rules.patterns import LiteralPatterns
from eventcargo.rules.rule import Literals, Rule, holds, read_rules, write_rules
from eventcargo.rules.search import Search
from eventcargo.rules.shortfall import with_model
from eventcargo.rules.triples import triple_literals
from eventcargo.shared_data import share_data, shared_data
from eventcargo.statistics.design_effect import Groups, ScoreDesignEffect
from eventcargo.statistics.hypergeometric import upper_tail

ACCIDENT = 0.01
"""A rule is dropped if as many held-out hits occur by accident with a higher probability."""


def find_rules(
    data: EventDataset,
    graph: LabelGraph,
    config: RuleConfig = RuleConfig(),  # noqa: B008 (frozen)
    *,
    quality: Quality | None = None,
    progress: OnProgress | None = None,
    deadline: Deadline = NEVER,
    engine: Engine | None = None,
) -> dict[str, Rule | None]:
    """The rule of every label of a graph; None if no rule is good enough on held-out sequences.

    With the `quality` of the label models, a rule says if it falls short of its model. The most frequent
    labels come first. Labels not reached before the deadline have no entry, and a warning names them. The
    `engine` works on single labels: by default, processes on this machine.

    >>> from eventcargo.simulation import simulate
    >>> simulated = simulate("short", sequences=600, labels=2, seed=100)
    >>> {label: rule.text for label, rule in find_rules(simulated.data, simulated.truth).items()}
    {'L000': 'E00022 & E00034', 'L001': 'E00012 & !E00005'}
    """
    missing = sorted(set(graph.labels) - set(data.label_names))
    if missing:
        raise DataError(
            f"{len(missing):,} of {counted(len(graph.labels), 'label')} of the graph not in the data, the "
            f"first: {missing[0]!r}; give the data that the graph was made from"
        )
    boundaries = {label: graph.boundary(label)[: config.max_events] for label in graph.labels}
    learner = RuleLearner(data, boundaries, config)
    with engine_or(engine) as where:
        rules = _learned(learner, where, progress, deadline)
    measured = {row.label: row for row in (quality.labels if quality else ())}
    found = ((label, rules[label]) for label in boundaries if label in rules)
    return {label: None if rule is None else with_model(rule, measured.get(label)) for label, rule in found}


def _learned(
    learner: "RuleLearner", engine: Engine, progress: OnProgress | None, deadline: Deadline
) -> dict[str, Rule | None]:
    """The rules of the labels that were reached before the deadline."""
    data, order = learner.data, learner.order
    plan = {**asdict(learner.config), "data": data.fingerprint, "boundaries": learner.boundaries}
    with engine.workspace("rules", plan) as place:
        work = RuleWork(place, data.fingerprint, learner.config, ends=moment(deadline))
        done = len(order) - len(work.missing(range(len(order))))
        with work.held(learner, deadline):
            for _ in engine.run(work, range(len(order))):
                done += 1
                if deadline.is_over:
                    break
                if progress is not None:
                    progress("rules", done, len(order), "labels")
        late = work.missing(range(len(order)))
        warn_of_left_out("no rule was looked for", [order[unit] for unit in late], len(order))
        reached = [unit for unit in range(len(order)) if unit not in set(late)]
        return {label: rule for unit in reached for label, rule in read_rules(work.path(unit)).items()}


@dataclass(frozen=True)
class RuleLearner:
    """Boundaries, and the data from which rules over them are learned."""

    data: EventDataset
    boundaries: dict[str, list[str]]
    config: RuleConfig

    @cached_property
    def order(self) -> list[str]:
        """The labels, the most frequent first."""
        support = self.data.label_support
        return sorted(self.boundaries, key=lambda label: -support[label])

    @cached_property
    def _studies(self) -> "dict[str, _Study]":
        studies = [_Study.of(study, self.boundaries, self.config.seed) for study in self.data.studies()]
        return {label: study for study in studies for label in study.data.label_names}

    def find(self, label: str) -> Rule | None:
        return self._studies[label].find(label, self.boundaries[label], self.config)


@dataclass(frozen=True)
class RuleWork(Work[RuleLearner]):
    """Find the rules of labels, one a unit; a label whose turn comes after the deadline is left out."""

    data: str
    """the fingerprint of the data"""
    config: RuleConfig

    def save(self, state: RuleLearner, folder: Path) -> None:
        share_data(state.data, self.folder.parent)
        write_unit(folder / "boundaries.json", {"boundaries": state.boundaries})

    def open(self, folder: Path) -> RuleLearner:
        boundaries = read_unit(folder / "boundaries.json")["boundaries"]
        return RuleLearner(shared_data(self.data, self.folder.parent), boundaries, self.config)

    def do(self, state: RuleLearner, unit: int) -> None:
        label = state.order[unit]
        if not self.deadline.is_over:
            write_rules({label: state.find(label)}, self.path(unit))

    def path(self, unit: int) -> Path:
        return self.folder / f"label-{unit:05}.json"


@dataclass(frozen=True)
class _Study:
    """The sequences for which some labels are known, with what their rules are learned from."""

    data: EventDataset
    occurrences: Occurrences
    carried: sp.csc_array
    draw: NDArray[np.float64]

    @classmethod
    def of(cls, data: EventDataset, boundaries: Mapping[str, list[str]], seed: int) -> "_Study":
        events = {event for label in data.label_names for event in boundaries.get(label, ())}
        draw = data.group_draw(np.random.default_rng(seed))
        return cls(data, Occurrences.locate(data, events), data.label_matrix().tocsc(), draw)

    def find(self, label: str, events: list[str], config: RuleConfig) -> Rule | None:
        """The rule of a label over these event types."""
        data = self.data
        column = self.carried[:, [data.label_names.index(label)]].toarray().ravel().astype(bool)
        learn = _learning(column, self.draw, config.held_out, data.group_numbers)
        return _find(label, events, self.occurrences, column, learn, data.groups, config)


def _find(
    label: str,
    events: list[str],
    occurrences: Occurrences,
    carried: NDArray[np.bool_],
    learn: NDArray[np.bool_],
    groups: Groups,
    config: RuleConfig,
) -> Rule | None:
    if not events or min(carried.sum(), (~carried).sum()) < config.min_support:
        return None
    learning = LearningData(occurrences, learn, carried, config.unit)
    literals = _best_literals(learning, events, config)
    return _judged(label, literals, learning, groups, config) if literals else None


def _best_literals(learning: LearningData, events: list[str], config: RuleConfig) -> Literals:
    """The rule of greatest worth in the learning sequences; none if no rule is worth its length.

    Three event types at a time are tried where one or two do not tell it shortly.
    """
    narrowed, rows = learning.found.narrow(events)
    near = LearningData(narrowed, learning.learn[rows], learning.carried[rows], learning.unit)
    literals = presence_literals(events)
    if config.kind == "arrangement":
        literals += arranged_literals(near, events)
    best = _search(learning, near, literals, config)
    triples = _triples(near, events, best) if config.kind == "arrangement" else []
    return _search(learning, near, literals + triples, config) if triples else best


def _triples(near: LearningData, events: list[str], best: Literals) -> list[Literal]:
    """Literals on three event types that tell more than a rule of one literal, or may replace a longer."""
    is_short = len(best) == 1 and len(best[0]) == 1
    return triple_literals(near, events, holds(best if is_short else (), near.found))


def _search(
    learning: LearningData, near: LearningData, literals: list[Literal], config: RuleConfig
) -> Literals:
    """The rule of greatest worth over some literals; `near` are the sequences in which one may hold."""
    held = np.stack([literal.holds(near.found)[near.learn] for literal in literals])
    carried = near.carried[near.learn]
    missed = int(learning.carried[learning.learn].sum()) - int(carried.sum())
    elsewhere = (missed, int(learning.learn.sum()) - len(carried) - missed)
    worth = DescriptionLength(
        LiteralPatterns.collapse(tuple(literals), held, carried, elsewhere), config.penalty
    )
    return _named(Search(worth, config.max_literals, config.max_conjunctions).best(), literals)


def _learning(
    carried: NDArray[np.bool_], draw: NDArray[np.float64], share: float, group: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The learning sequences: the same share of the groups with the label in a sequence and of the others.

    `draw` is the same for all sequences of a group, so that a group is held out as a whole.
    """
    learn, with_label = np.ones(len(carried), bool), np.isin(group, group[carried])
    for rows in (np.flatnonzero(with_label), np.flatnonzero(~with_label)):
        n_held = round(share * len(rows))
        if n_held:
            last = np.partition(draw[rows], n_held - 1)[n_held - 1]
            learn[rows[draw[rows] <= last]] = False
    return learn


def _named(rule: Dnf, literals: list[Literal]) -> Literals:
    """The literals of a rule in the order of the boundary, negated ones last."""
    named = [*literals, *(replace(literal, negated=True) for literal in literals)]
    return tuple(tuple(named[at] for at in conjunction) for conjunction in sorted(map(sorted, rule)))


def _judged(
    label: str, literals: Literals, learning: LearningData, groups: Groups, config: RuleConfig
) -> Rule | None:
    """The rule with its figures on held-out sequences; None if it is not good enough there."""
    judge = ~learning.learn
    held, carried = holds(literals, learning.found)[judge], learning.carried[judge]
    support, carrying, hits = int(held.sum()), int(carried.sum()), int((held & carried).sum())
    if not hits:
        return None
    rule = Rule(label, literals, support, carrying, hits / support, hits / carrying)
    weak = rule.precision < config.min_precision or rule.recall < config.min_recall
    accident = _by_accident(held, carried, None if groups is None else groups[judge])
    return None if weak or accident > ACCIDENT else rule


def _by_accident(held: NDArray[np.bool_], carried: NDArray[np.bool_], groups: Groups) -> float:
    """P(at least these hits) if the rule picked as many of the held-out sequences at random."""
    counts = np.array([(held & carried).sum(), len(held), carried.sum(), held.sum()])
    if groups is not None:  # as many independent sequences as the groups are worth
        stratum = np.zeros(len(held), np.int64)
        effect = ScoreDesignEffect.of(carried, stratum, groups).of_rows(np.flatnonzero(held))
        counts = np.rint(counts / effect).astype(np.int64)
    hits, n, carrying, support = counts.tolist()
    return upper_tail(hits, n, carrying, support)
