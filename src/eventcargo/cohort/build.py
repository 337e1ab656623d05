"""`build_cohort`: tables of events and outcomes go in, a data set of sequences comes out.

Events are read once as numbers, sorted by subject part by part, cut and written: memory holds one part and a
few numbers for each subject and sequence, however long the tables are.
"""

import logging
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from eventcargo.cohort.attributes import Attributes, make_attributes, read_static, with_pairs
from eventcargo.cohort.config import COHORT, INDEX, Cohort, write_cohort
from eventcargo.cohort.controls import Histories, follow_up
from eventcargo.cohort.cutting import Cutter, without_duplicates
from eventcargo.cohort.durations import parse_duration, parse_lookback
from eventcargo.cohort.event_types import CleanUp, clean_up, matching
from eventcargo.cohort.expansion import Expansion
from eventcargo.cohort.families import Parents, add_families, known_parents, read_parents
from eventcargo.cohort.grouping import Grouping, group_index
from eventcargo.cohort.index_kind import index_kind
from eventcargo.cohort.index_times import (
    IndexTimes,
    at_end,
    at_outcomes,
    at_predictions,
    check_nothing_follows,
    in_windows,
)
from eventcargo.cohort.outcomes import Outcomes, read_outcomes, read_timeless
from eventcargo.cohort.recording import Recording, record
from eventcargo.cohort.sequence_files import Kept, SequenceFiles
from eventcargo.cohort.sequence_names import index_table, sequence_names
from eventcargo.cohort.spool import Rows
from eventcargo.cohort.summary import CohortSummary
from eventcargo.cohort.survey import Survey, survey
from eventcargo.cohort.tables import Tables
from eventcargo.cohort.thresholds import (
    Scale,
    add_thresholds,
    given_cuts,
    known_cuts,
    measured,
    quantile_cuts,
)
from eventcargo.cohort.timing import TimingCounts, write_timing
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, argument
from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset, known_columns
from eventcargo.files import atomic_file, check_new_folder
from eventcargo.known_labels import KnownLabels
from eventcargo.logs import timed
from eventcargo.storage import write_columns
from eventcargo.vocabulary import Vocabulary


@dataclass(frozen=True)
class CohortData:
    """A data set with what a cohort counted.

    `index` has a row per sequence: its subject, index time, group, labels, and whether it is a case. `timing`
    has, for each label and event type, the events before, at and after the outcome.
    """

    data: EventDataset
    summary: CohortSummary
    index: pl.DataFrame
    timing: pl.DataFrame


LOG = logging.getLogger(__name__)


def build_cohort(
    cohort: Cohort, tables: Tables, out: str | Path | None = None, like: Vocabulary | None = None
) -> CohortData:
    """Make the sequences of a cohort; with `out`, write them to this new folder and map them into memory.

    Thresholds, bands and families are chosen by the tables, or are those of the event types `like`, so that a
    model reads new tables as those it was trained on.
    """
    if out is not None:
        check_new_folder(Path(out))
        Path(out).parent.mkdir(parents=True, exist_ok=True)
    beside = None if out is None else Path(out).absolute().parent
    with timed(LOG, "cohort"), tempfile.TemporaryDirectory(prefix=".cohort-", dir=beside) as folder:
        built = _Builder(cohort, tables.resolved(), Path(folder), like).build(Path(out or f"{folder}/data"))
        return built if out is not None else replace(built, data=_in_memory(built.data))


def _in_memory(data: EventDataset) -> EventDataset:
    """The data set with columns that need no file."""
    return EventDataset(
        pa.concat_arrays([pa.array(data.sequence_ids.to_pylist(), pa.large_string())]),
        np.array(data.events),
        np.array(data.times),
        data.rows,
        np.array(data.labels),
        data.label_rows,
        data.event_names,
        data.label_names,
        data.time_kind,
        np.array(data.values),
        data.value_names,
        None if data.groups is None else np.array(data.groups),
        data.kinds,
        None if data.known is None else KnownLabels(data.known.rows, np.array(data.known.labels)),
    )


class _Builder:
    """The steps from tables to a data set, in their order."""

    def __init__(self, cohort: Cohort, tables: Tables, folder: Path, like: Vocabulary | None = None) -> None:
        self.cohort, self.tables, self.folder, self.like = cohort, tables, folder, like
        self.kind = index_kind(cohort, tables)
        self.counts: Counter[str] = Counter()

    def build(self, out: Path) -> CohortData:
        self._record()
        self._find_outcomes()
        self._choose_index()
        self._add_companions()
        self._add_attributes()
        files, timing = self._cut()
        return self._save(files, timing, out)

    def _record(self) -> None:
        """Read the events and look at them."""
        cohort = self.cohort
        columns = self.tables.values + ((cohort.numeric_value,) if cohort.numeric_value else ())
        if len(set(columns)) < len(columns):
            raise ConfigError(
                f"{argument('numeric_value', cohort.numeric_value)} is among values; name it once"
            )
        streams = self.kind == "windows"
        if streams and cohort.group:
            self.tables = self.tables.by_group(cohort.group)
        self.recording: Recording = record(self.tables, columns, cohort.group, streams, self.folder)
        if self.recording.time_kind == "order" and self.kind != "end":
            raise DataError(f"the events have no column {self.tables.time!r}; a cohort needs their times")
        self.cleaned: CleanUp = clean_up(self.recording.codes, cohort.normalise, cohort.exclude)
        for pattern in self.cleaned.unmatched:
            _warn(f"{argument('exclude', pattern)}: no event type matches")
        self.outcome_types = matching(self.cleaned.types, cohort.outcomes, cohort.normalise)
        self.survey: Survey = survey(
            self.recording,
            self.cleaned.number_of,
            len(self.cleaned.types),
            np.array(sorted(self.outcome_types), np.int32),
            cohort.seed,
            bool(cohort.numeric_value),
        )

    def _find_outcomes(self) -> None:
        """Outcomes with times, from their table and from the events."""
        self.outcomes: Outcomes | None = None
        if self.cohort.label_time:
            self.outcomes, self.counts["outcomes_without_events"] = read_outcomes(
                self.tables,
                self.cohort.label_time,
                self.recording.subjects,
                self.recording.time_kind,
                self.cohort.normalise,
            )
        if self.outcome_types:
            subjects, times, codes = self.survey.outcomes
            own = Outcomes.of(subjects, times, codes, pa.array(self.cleaned.types.names, pa.large_string()))
            self.outcomes = own.used() if self.outcomes is None else self.outcomes.joined(own.used())
        if self.outcomes is not None and self.cohort.only:
            self.outcomes = self.outcomes.only(self.cohort.only)

    def _choose_index(self) -> None:
        """The moments at which sequences end."""
        self.controls_missing = 0
        kind, cohort = self.kind, self.cohort
        if kind == "prediction":
            self.index: IndexTimes = at_predictions(self.tables.outcome_tables[0], self.recording.subjects)
        elif kind == "end":
            self.index = self._whole()
        else:
            assert self.outcomes is not None
            horizon = self._duration("horizon")
            if kind == "windows":
                every = self._duration("every")
                if every <= 0:
                    raise ConfigError(f"{argument('every', cohort.every)}: use a time above 0")
                self.index = in_windows(self.outcomes, self._histories(), every, horizon or every)
            else:
                self.index, self.controls_missing = at_outcomes(
                    self.outcomes,
                    self._histories(),
                    horizon,
                    self._duration("washout"),
                    cohort.controls,
                    cohort.seed,
                    self.time_kind,
                )

    def _whole(self) -> IndexTimes:
        if self.outcomes is not None:
            check_nothing_follows(self.outcomes, self.survey.last)
            marks = (self.outcomes.subjects, self.outcomes.labels, self.outcomes.label_names)
            return at_end(self.survey.last, *marks)
        subjects, normalise = self.recording.subjects, self.cohort.normalise
        return at_end(self.survey.last, *read_timeless(self.tables, subjects, normalise))

    def _histories(self) -> Histories:
        assert self.outcomes is not None
        end = follow_up(self.survey.first, self.survey.last, self.recording.counts)
        np.maximum.at(end, self.outcomes.subjects, self.outcomes.times)
        return Histories(self.survey.first, end)

    @property
    def time_kind(self) -> str:
        return self.recording.time_kind

    def _duration(self, name: str) -> float:
        return parse_duration(name, getattr(self.cohort, name), self.time_kind)

    def _add_companions(self) -> None:
        """Families and thresholds."""
        cohort, types, expansion = self.cohort, self.cleaned.types, Expansion()
        known = None if self.like is None else self.like.kinds.families
        self.families = add_families(
            types, expansion, self._read_parents(), cohort.prefix, self.survey.occurrences, known
        )
        self.scales: list[Scale] = []
        if cohort.numeric_value:
            self.scales = add_thresholds(types, expansion, *self._cuts())
        elif cohort.cut:
            raise ConfigError(
                f"{argument('cut', cohort.cut[0])} needs the numbers: give {argument('numeric_value')}"
            )
        self.expansion = expansion

    def _cuts(self) -> tuple[Mapping[int, tuple[list[float], list[float]]], Mapping[int, tuple[float, ...]]]:
        """The thresholds of event types: by quantiles, or known, and given."""
        types, cohort = self.cleaned.types, self.cohort
        if self.like is not None:
            return known_cuts(self.like.kinds.scales, types), {}
        automatic = quantile_cuts(*self.survey.numbers, cohort.quantiles)
        return automatic, given_cuts(cohort.cut, types, cohort.normalise)

    def _read_parents(self) -> Parents:
        if self.tables.parents is None:
            return {} if self.like is None else known_parents(self.like.kinds.families)
        return read_parents(self.tables.parents, self.cohort.normalise, self.tables.reading)

    def _add_attributes(self) -> None:
        """Attributes from their table and from events without a time, and the groups."""
        cohort, subjects, types = self.cohort, self.recording.subjects, self.cleaned.types
        attributes, static = Attributes.none(len(subjects)), None
        if self.tables.static is not None:
            static = read_static(self.tables.static, self.tables.sequence_id, self.tables.reading)
            known = None if self.like is None else self.like.kinds.attributes
            attributes = make_attributes(static, subjects, types, cohort.adjust, (cohort.group,), known)
        elif cohort.adjust:
            raise ConfigError(
                f"{argument('adjust', cohort.adjust[0])} needs attributes: give {argument('static')}"
            )
        owners, codes = self.survey.timeless
        if len(codes):
            never = [types.names[code] for code in np.unique(codes) if not self.survey.occurrences[code]]
            attributes = with_pairs(attributes, owners, codes, never)
        self.attributes = attributes
        self.grouping: Grouping = group_index(
            self.index, self.recording, static, cohort, self.kind, self.time_kind
        )

    def _cut(self) -> tuple[SequenceFiles, pl.DataFrame]:
        """Cut the sequences part by part."""
        cohort, types, n_values = self.cohort, self.cleaned.types, len(self.tables.values)
        files = SequenceFiles(self.folder, len(types), n_values, cohort.min_sequences > 1)
        n_subjects = len(self.recording.subjects)
        self.cutter = Cutter(
            self.index,
            self.index.of_subjects(n_subjects),
            parse_lookback(cohort.lookback, self.time_kind),
            self._duration("gap"),
            self.expansion.compiled(len(types)),
            self.attributes,
            n_values,
            bool(cohort.numeric_value),
        )
        timing = None if self.outcomes is None else TimingCounts(self.outcomes, n_subjects)
        self.moments: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        for rows in self.recording.parts(self.folder, self._kept):
            if len(rows):
                self._cut_part(rows, files, timing)
        names, labels = types.names, self.index.label_names
        empty = TimingCounts.empty() if timing is None else timing.table(names, labels)
        return files, empty

    def _kept(self, rows: Rows) -> Rows:
        """Rows of subjects with an index, with a time and an event type that is not left out."""
        rows["code"] = self.cleaned.number_of[rows["code"]]
        rows = rows[(rows["code"] >= 0) & ~np.isnan(rows["time"])]
        has_index = self.cutter.of_subjects.lengths[rows["subject"]] > 0
        self.counts["no_index"] += len(rows) - int(has_index.sum())
        return rows[has_index]

    def _cut_part(self, rows: Rows, files: SequenceFiles, timing: TimingCounts | None) -> None:
        if self.cohort.duplicates == "drop":
            n_before = len(rows)
            rows = without_duplicates(rows)
            self.counts["duplicates"] += n_before - len(rows)
        codes, offsets = self.cutter.expand(rows)
        if timing is not None:
            timing.add(np.repeat(rows, np.diff(offsets)), codes)
        moments, piece = self.cutter.cut(rows, codes, offsets, self.counts)
        self.moments.append(moments)
        files.add(piece)

    def _save(self, files: SequenceFiles, timing: pl.DataFrame, out: Path) -> CohortData:
        """Drop rare types and empty sequences, and write the data set with its index and counts."""
        types, cohort, index = self.cleaned.types, self.cohort, self.index
        stays = files.n_events > 0
        if cohort.min_sequences > 1:
            rare = stays & self._are_rare(files)
            self.counts["rare_types"], self.counts["rare_events"] = rare.sum(), files.n_events[rare].sum()
            stays &= ~rare
        order = sorted(np.flatnonzero(stays), key=lambda number: types.names[number])
        number_of = np.full(len(types), -1, np.int32)
        number_of[order] = np.arange(len(order))
        names = [types.names[number] for number in order]
        is_attribute = np.isin(np.arange(len(types)), [types.numbers[name] for name in self.attributes.names])
        kept = Kept.of(files, number_of, is_attribute)
        moments = np.concatenate(self.moments)[kept.are_sequences]
        if not len(moments):
            raise DataError("no sequence has an event before its index time; check times, look-back and gap")
        groups = self.grouping.of_moments(moments)
        ids = sequence_names(self.recording.subjects, index, moments, self.kind, self.time_kind)
        self._write(kept, moments, names, ids, groups, out)
        summary = self._summary(moments, len(moments) if groups is None else int(groups.max()) + 1)
        table = index_table(ids, index, moments, self.recording.subjects, groups, self.time_kind)
        write_cohort(out / COHORT, cohort, summary.to_dict())
        with atomic_file(out / INDEX) as target:
            table.write_parquet(target)
        write_timing(out, timing)
        for name in summary.labels_also_events:
            _warn(f"label {name!r} is also an event type: earlier ones may be found as its cause")
        return CohortData(EventDataset.load(out), summary, table, timing)

    def _write(
        self,
        kept: Kept,
        moments: NDArray[np.int64],
        names: list[str],
        ids: pa.Array,
        groups: NDArray[np.int32] | None,
        out: Path,
    ) -> None:
        """Write the columns of the data set."""
        label_rows = self.index.label_rows.take(moments)
        values = self.tables.values
        kinds = self._kinds(set(names))
        known = None if self.index.known is None else self.index.known.take(moments)
        header = {
            "sequences": len(moments),
            "events": int(kept.lengths.sum()),
            "time_kind": self.time_kind,
            "label_names": list(self.index.label_names),
            "event_names": names,
            **({"value_names": list(values)} if values else {}),
            **({"grouped": True} if groups is not None else {}),
            **({"kinds": kinds.to_dict()} if kinds else {}),
            **({"known": int(known.rows.lengths.sum())} if known is not None else {}),
        }
        parts = {
            "offsets": [np.concatenate([[0], np.cumsum(kept.lengths)])],
            "events": kept.column("events"),
            "times": [kept.positions()] if self.time_kind == "order" else kept.column("times"),
            "label_offsets": [label_rows.offsets],
            "labels": [label_rows.gather(self.index.labels)],
            "values": kept.column("values"),
            "groups": [] if groups is None else [groups],
            **known_columns(known),
        }
        write_columns(out, header, parts, int(label_rows.lengths.sum()), ids)

    def _are_rare(self, files: SequenceFiles) -> NDArray[np.bool_]:
        """Which event types are in too few sequences, or were when the known ones were chosen."""
        if self.like is None:
            return files.n_sequences < self.cohort.min_sequences
        return ~np.isin(self.cleaned.types.names, self.like.event_names)

    def _kinds(self, names: set[str]) -> EventKinds:
        """The kinds of the event types that remain."""
        families = {family: tuple(sorted(members)) for family, members in sorted(self.families.items())}
        attributes, scales = self.attributes, tuple(self.scales)
        kinds = EventKinds(attributes.names, attributes.adjusted, families, scales, measured(scales))
        return kinds.only(names)

    def _summary(self, moments: NDArray[np.int64], n_groups: int) -> CohortSummary:
        are_cases, counts = self.index.are_cases, self.counts
        cases = int(are_cases[moments].sum())
        types = set(self.cleaned.types.names)
        return CohortSummary(
            index=self.kind,
            lookback=self.cohort.lookback,
            subjects=len(np.unique(self.index.subjects[moments])),
            cases=cases,
            controls=len(moments) - cases,
            controls_missing=self.controls_missing,
            empty_cases=int(are_cases.sum()) - cases,
            empty_controls=int((~are_cases).sum()) - (len(moments) - cases),
            outcomes_without_events=counts["outcomes_without_events"],
            events_read=self.survey.n_rows,
            events_used=counts["used"],
            after_index=counts["after_index"],
            same_instant=counts["same_instant"],
            in_gap=counts["in_gap"],
            before_lookback=counts["before_lookback"],
            no_index=counts["no_index"],
            excluded=self.survey.n_excluded,
            duplicates=counts["duplicates"],
            without_time=len(self.survey.timeless[0]),
            merged_spellings=self.cleaned.merged_spellings,
            rare_types=int(counts["rare_types"]),
            rare_events=int(counts["rare_events"]),
            subjects_without_attributes=self.attributes.n_without,
            families=len(self.families),
            thresholds=sum(map(len, self.scales)),
            groups=n_groups,
            grouped_by=self.grouping.words,
            labels_also_events=tuple(name for name in self.index.label_names if name in types),
        )


def _warn(message: str) -> None:
    warnings.warn(message, EventCargoWarning, stacklevel=5)
