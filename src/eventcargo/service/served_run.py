"""ServedRun: the model of a run with its cohort, knowledge, rules and verdicts, as requests ask for it.

The figures are those of `eventcargo predict RUN EVENTS` and `eventcargo explain RUN EVENTS` on the same
sequences, because the same functions compute them.
"""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import eventcargo.cohort
from eventcargo.checksums import file_checksum
from eventcargo.cohort.config import COHORT, Cohort, read_cohort
from eventcargo.cohort.durations import parse_duration, parse_lookback
from eventcargo.cohort.event_types import clean_up, normalised
from eventcargo.cohort.families import CODE, PARENTS, Parents, read_parents
from eventcargo.discovery import load_run_model, read_current_rules
from eventcargo.discovery.run_folder import (
    GRAPH,
    MODEL,
    MODEL_FILES,
    RUN,
    VERDICTS,
    RunManifest,
    is_current,
    knowledge_of_run,
)
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, counted, did_you_mean
from eventcargo.events import EventDataset
from eventcargo.io import read_events, read_graph
from eventcargo.oneshot.extract import allowed_pairs
from eventcargo.prediction import explain_all, predict, unknown_events
from eventcargo.prediction.explanations import LIKELY
from eventcargo.release import RELEASE
from eventcargo.rules.literals import KINDS
from eventcargo.rules.occurrences import Occurrences
from eventcargo.rules.rule import Rule, holds
from eventcargo.service.problems import unusable
from eventcargo.service.sequences import ID, NAME, TIME, Fields, Sent
from eventcargo.verdicts import Verdict, read_verdicts, verdict_notes

if TYPE_CHECKING:
    from eventcargo.models.density import DensityModel

EDGE = ("event", "sign", "odds_ratio", "odds_low", "odds_high")
"""What the boundary of a label tells of each event type."""

TIMES = ("number", "datetime", "order")

DURATIONS = ("gap", "horizon", "washout")
"""Settings of a cohort that are lengths of time."""


@dataclass(frozen=True)
class ServedRun:
    """A run that answers requests; it is read once and never written to.

    `values` are the value columns of the run's data, `parents` its table of families, by name.
    """

    folder: Path
    model: "DensityModel"
    cohort: Cohort
    rules: Mapping[str, Rule]
    verdicts: Mapping[str, Verdict]
    boundaries: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    allowed: NDArray[np.bool_] | None = None
    values: tuple[str, ...] = ()
    parents: Parents = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        folder: Path,
        model: "DensityModel | None" = None,
        *,
        device: str = "cpu",
        values: Sequence[str] = (),
        parents: str | None = None,
    ) -> "ServedRun":
        """Read a run; one whose model has changed, or that has none, is refused."""
        if (folder / RUN).exists():
            RunManifest.read(folder).check_model()
        loaded = load_run_model(folder, device) if model is None else model
        if loaded is None:
            raise ConfigError(f"{folder} had no time to fit a model; run discover with more time")
        cohort = read_cohort(folder / COHORT)[0] if (folder / COHORT).exists() else Cohort()
        _check_names(folder, (*values, *filter(None, [cohort.numeric_value])))
        rules = {label: rule for label, rule in read_current_rules(folder).items() if rule is not None}
        return cls(
            folder,
            loaded,
            cohort,
            rules,
            read_verdicts(folder / VERDICTS) if is_current(folder, VERDICTS) else {},
            _boundaries(folder),
            allowed_pairs(knowledge_of_run(folder), loaded, _nothing()),
            tuple(values),
            read_parents(parents, cohort.normalise) if parents else {},
            {name: file_checksum(path) for name in MODEL_FILES if (path := folder / MODEL / name).exists()},
        )

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of sequences that the model knows, or that the cohort adjusts for."""
        known = {name.partition("=")[0] for name in self.model.vocabulary.kinds.attributes}
        return tuple(sorted((known | set(self.cohort.adjust)) - {self.cohort.group}))

    @cached_property
    def times(self) -> tuple[str, ...]:
        """The kinds of time that the cohort and the rules of the run can use."""
        limits = [literal for rule in self.rules.values() for group in rule.literals for literal in group]
        units = {literal.unit for literal in limits if KINDS[literal.kind].timed}
        if units:
            return ("datetime",) if "s" in units else ("number",)
        return tuple(kind for kind in TIMES if _can_cut(self.cohort, kind))

    @cached_property
    def reading(self) -> Cohort:
        """How new sequences are cut: to their last event where outcomes are not known yet."""
        cohort = self.cohort.before_outcomes if self.cohort.label_time else self.cohort
        return replace(cohort, group="")

    def fields(self, max_sequences: int, max_events: int) -> Fields:
        """What the sequences of requests may have."""
        numbers = tuple(filter(None, (*self.values, self.cohort.numeric_value)))
        return Fields(self.times, numbers, self.attributes, max_sequences, max_events)

    def health(self) -> dict[str, Any]:
        """What is served: the run, its model by checksums, and the release."""
        return {
            "status": "ready",
            "release": RELEASE,
            "run": self.folder.absolute().name,
            "model": {"fingerprint": self.model.fingerprint, "checksums": dict(self.checksums)},
            "labels": len(self.model.label_names),
            "event_types": len(self.model.vocabulary.event_names),
        }

    def labels(self) -> dict[str, Any]:
        """Every label with its boundary, rule and verdict."""
        return {"labels": [self._label(name) for name in self.model.label_names]}

    def predict(self, sent: Sent, labels: Sequence[str] = ()) -> dict[str, Any]:
        """The probabilities of the labels of each sequence, and the rules that hold for it."""
        names = self._named(labels)
        with _notes() as notes:
            data = self.read(sent)
            table = predict(self.model, data)
            rules = self._rules_that_hold(data, names, notes)
        sequences = [
            {"id": row["sequence_id"], "probabilities": {name: row[name] for name in names}, "rules": held}
            for row, held in zip(table.iter_rows(named=True), rules, strict=True)
        ]
        return self._answer(sent, data, sequences, names, notes)

    def explain(self, sent: Sent, labels: Sequence[str] = ()) -> dict[str, Any]:
        """As `predict`, with the events that moved the labels: those named, else the likely ones."""
        names = self._named(labels)
        with _notes() as notes:
            data = self.read(sent)
            table = predict(self.model, data)
            causes = pl.concat(list(explain_all(self.model, data, labels or None, allowed=self.allowed)))
            rules = self._rules_that_hold(data, names, notes)
        of_sequence = causes.partition_by("sequence_id", as_dict=True, include_key=False)
        sequences = []
        for row, held in zip(table.iter_rows(named=True), rules, strict=True):
            likely = [name for name in names if labels or row[name] >= LIKELY]
            own = of_sequence.get((row["sequence_id"],))
            sequences.append(
                {
                    "id": row["sequence_id"],
                    "probabilities": {name: row[name] for name in names},
                    "rules": held,
                    "explained": likely,
                    "causes": [] if own is None else own.to_dicts(),
                }
            )
        return self._answer(sent, data, sequences, names, notes)

    def read(self, sent: Sent) -> EventDataset:
        """The sequences of a request as the model reads them, cut and cleaned as those of the run."""
        self._check_left(sent)
        has_static, events = bool(self.attributes), sent.events()
        time = TIME if TIME in events.columns else None
        if not (self.reading.cuts or has_static or self.parents):
            data = read_events(events, sequence_id=ID, time=time, event=NAME, values=self.values)
            patterns = self.cohort.exclude
            return eventcargo.cohort.exclude(data, patterns).data if patterns else data
        tables = eventcargo.cohort.Tables(
            events,
            static=sent.static() if has_static else None,
            parents=self._parents_of(sent.names),
            values=self.values,
            sequence_id=ID,
            time=TIME,
            event=NAME,
        )
        built = eventcargo.cohort.build_cohort(self.reading, tables, like=self.model.vocabulary)
        return built.data.without_labels()

    def _check_left(self, sent: Sent) -> None:
        """Refuse events of which none is read."""
        try:
            clean_up(sorted(set(sent.names)), self.cohort.normalise, self.cohort.exclude)
        except ConfigError:
            patterns = ", ".join(map(repr, self.cohort.exclude))
            raise unusable(f"every event is of a type that this run leaves out: {patterns}") from None

    def _parents_of(self, names: Sequence[str]) -> pl.DataFrame | None:
        """The rows of the table of families that some event types need."""
        if not self.parents:
            return None
        clean = normalised if self.cohort.normalise else str
        waiting, needed = sorted({clean(name) for name in names}), dict[str, list[str]]()
        while waiting:
            name = waiting.pop()
            if name in self.parents and name not in needed:
                needed[name] = list(self.parents[name])
                waiting += needed[name]
        columns = {CODE: list(needed), PARENTS[0]: list(needed.values())}
        return pl.DataFrame(columns, schema={CODE: pl.String(), PARENTS[0]: pl.List(pl.String())})

    def _named(self, labels: Sequence[str]) -> list[str]:
        """The labels to tell of: those asked for, in the model's order, else all."""
        known = list(self.model.label_names)
        for name in labels:
            if name not in known:
                meant = did_you_mean(name, known)
                hint = f"did you mean {meant!r}?" if meant else "GET /labels lists them"
                raise unusable(f"label={name}: not among the {counted(len(known), 'label')}; {hint}")
        return [name for name in known if not labels or name in labels]

    def _rules_that_hold(
        self, data: EventDataset, labels: Sequence[str], notes: list[str]
    ) -> list[dict[str, str]]:
        """For each sequence, the rules of these labels that hold for it, by label."""
        rules = {name: self.rules[name] for name in labels if name in self.rules}
        located = Occurrences.locate(data, {event for rule in rules.values() for event in rule.events})
        held: list[dict[str, str]] = [{} for _ in range(len(data))]
        for name, rule in rules.items():
            try:
                rows = np.flatnonzero(holds(rule.literals, located))
            except DataError as error:
                notes.append(f"the rule of {name!r} is left out: {error}")
                continue
            for row in rows.tolist():
                held[row][name] = rule.text
        return held

    def _answer(
        self,
        sent: Sent,
        data: EventDataset,
        sequences: list[dict[str, Any]],
        labels: Sequence[str],
        notes: list[str],
    ) -> dict[str, Any]:
        """The sequences with what holds for all of them."""
        ids = set(data.sequence_ids.to_pylist())
        if self.cohort.cuts:  # a sequence may have been cut into several, named by their ends
            ids |= {name.rpartition("@")[0] for name in ids}
        return {
            "sequences": sequences,
            "verdicts": {name: self._level(name) for name in labels},
            "unknown_events": unknown_events(self.model, data).to_dicts(),
            "left_out": [name for name in sent.ids if name not in ids],
            "notes": notes,
        }

    def _level(self, label: str) -> str | None:
        return self.verdicts[label].level if label in self.verdicts else None

    def _label(self, name: str) -> dict[str, Any]:
        rule, verdict = self.rules.get(name), self.verdicts.get(name)
        return {
            "label": name,
            "boundary": self.boundaries.get(name, []),
            "rule": None if rule is None else {"text": rule.text, **_figures(rule)},
            "verdict": None if verdict is None else verdict_notes({name: verdict})[name],
        }


def _figures(rule: Rule) -> dict[str, Any]:
    """How good a rule is on held-out sequences."""
    return {"precision": rule.precision, "recall": rule.recall, "support": rule.support}


def _boundaries(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The event types of the boundary of each label with their signs and odds ratios, the surest first."""
    if not (folder / GRAPH).exists():
        return {}
    edges = read_graph(folder / GRAPH).edges.select("label", *EDGE)
    parts = edges.partition_by("label", as_dict=True, include_key=False, maintain_order=True)
    return {str(label): part.to_dicts() for (label,), part in parts.items()}


def _check_names(folder: Path, values: Sequence[str]) -> None:
    """Refuse value columns that requests could not tell from other entries."""
    for name in values:
        if name in (ID, TIME, NAME):
            raise ConfigError(f"{folder} has a column of values called {name!r}; rename it and run again")


def _can_cut(cohort: Cohort, kind: str) -> bool:
    """Whether the durations of a cohort fit a kind of times."""
    try:
        lookback = parse_lookback(cohort.lookback, kind)
        durations = [parse_duration(name, getattr(cohort, name), kind) for name in DURATIONS]
    except ConfigError:
        return False
    is_timed = cohort.label_time or cohort.outcomes or math.isfinite(lookback.time) or any(durations)
    return kind != "order" or not is_timed


def _nothing() -> EventDataset:
    """A data set without any event type: the names to know are those of the model."""
    return EventDataset.from_sequences([])


@contextmanager
def _notes() -> Iterator[list[str]]:
    """Gather what the block warns of; patterns to exclude that match nothing are no news of a request."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EventCargoWarning)
        warnings.filterwarnings("ignore", ".*: no event type matches", EventCargoWarning)
        yield notes
    notes += dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, EventCargoWarning))
