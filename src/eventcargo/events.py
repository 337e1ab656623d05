"""EventDataset: sequences of time-stamped events with labels, as immutable ragged columns with names.

All readers and simulators end here; models, baselines and scores start here. The order is canonical
(sequences, event types and labels sorted by name), so that the order of the input rows changes nothing.
Selecting makes a view on the same columns, which may be files mapped into memory: nothing is copied before
`flat`.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.binary_matrix import BinaryMatrix, tally_numbers
from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.event_kinds import EventKinds
from eventcargo.known_labels import KnownLabels
from eventcargo.ragged import Ragged, blocks
from eventcargo.sequences import EventSequence, check_sequences, check_value_names, stack_values
from eventcargo.storage import read_columns, write_columns

__all__ = ["EventDataset", "EventSequence", "Ragged", "TimeKind", "describe_times"]

TimeKind = Literal["number", "datetime", "order"]
"""Kind of the times: plain numbers, seconds since 1970 (UTC), or only the order of rows (0, 1, 2, ...)."""

SAVED_AT_ONCE = 100_000
"""Sequences gathered at once when a data set is saved, so that it may be larger than memory."""


class EventDataset:
    """Sequences of events with labels.

    Made by `read_events`, `read_meds`, `EventDataset.load` or a simulator. `data[0]` and `data["VIN123"]`
    give one sequence by names, `data[:100]` and `data[rows]` a data set of several; `events`, `times` and
    `labels` are the flat columns for code that needs speed.
    `values` are further numbers of every event (mileage, temperature), one column for each of `value_names`,
    NaN if not recorded. `groups` numbers the group of each sequence (None: each is its own): what must not be
    torn apart by a split, such as the sequences of one patient. `kinds` says which event types are
    attributes, families or thresholds. `known` says which labels are known for which sequence (None: all): a
    label that a sequence does not carry is absent only if it is known, and says nothing otherwise.

    >>> data = EventDataset.from_sequences([
    ...     EventSequence("car1", ("P01", "U02"), (0.0, 3.5), ("brake",)),
    ...     EventSequence("car2", ("U02",), (1.0,), ()),
    ... ])
    >>> len(data), data.event_names, data["car1"].labels
    (2, ('P01', 'U02'), ('brake',))
    """

    def __init__(
        self,
        sequence_ids: pa.Array,
        events: NDArray[np.int32],
        times: NDArray[np.float64],
        rows: Ragged,
        labels: NDArray[np.int32],
        label_rows: Ragged,
        event_names: Sequence[str],
        label_names: Sequence[str],
        time_kind: TimeKind = "number",
        values: NDArray[np.float64] | None = None,
        value_names: Sequence[str] = (),
        groups: NDArray[np.int32] | None = None,
        kinds: EventKinds = EventKinds(),  # noqa: B008 (frozen)
        known: KnownLabels | None = None,
    ) -> None:
        self.sequence_ids = sequence_ids
        self.events = _frozen(events)
        self.times = _frozen(times)
        self.rows = rows
        self.labels = _frozen(labels)
        self.label_rows = label_rows
        self.event_names = tuple(event_names)
        self.label_names = tuple(label_names)
        self.time_kind = time_kind
        self.value_names = tuple(value_names)
        self.values = _frozen(np.zeros((len(times), 0)) if values is None else values)
        self.groups = None if groups is None else _frozen(groups)
        self.kinds = kinds
        self.known = known
        n_groups = len(sequence_ids) if groups is None else len(groups)
        n_known = len(sequence_ids) if known is None else len(known)
        counts = {len(sequence_ids), len(rows.starts), len(label_rows.starts), n_groups, n_known}
        assert len(counts) == 1, f"columns disagree on the number of sequences: {sorted(counts)}"
        assert len(events) == len(times), f"{len(events)} events but {len(times)} times"
        expected = (len(times), len(self.value_names))
        assert self.values.shape == expected, f"values of {self.values.shape}, expected {expected}"

    @classmethod
    def from_sequences(
        cls,
        sequences: Sequence[EventSequence],
        time_kind: TimeKind = "number",
        value_names: Sequence[str] = (),
    ) -> "EventDataset":
        """A small data set from Python objects; larger ones come from `read_events`."""
        ordered = sorted(sequences, key=lambda sequence: sequence.id)
        check_sequences(ordered)
        check_value_names(value_names)
        event_names = sorted({name for sequence in ordered for name in sequence.events})
        label_names = sorted({name for sequence in ordered for name in sequence.labels})
        event_ids = {name: i for i, name in enumerate(event_names)}
        label_ids = {name: i for i, name in enumerate(label_names)}
        return cls(
            sequence_ids=pa.array([sequence.id for sequence in ordered], pa.large_string()),
            events=np.array([event_ids[name] for s in ordered for name in s.events], np.int32),
            times=np.array([time for s in ordered for time in s.times], np.float64),
            rows=Ragged.from_offsets(_offsets([len(s.events) for s in ordered])),
            labels=np.array(
                [i for s in ordered for i in sorted({label_ids[name] for name in s.labels})], np.int32
            ),
            label_rows=Ragged.from_offsets(_offsets([len(set(s.labels)) for s in ordered])),
            event_names=event_names,
            label_names=label_names,
            time_kind=time_kind,
            values=stack_values(ordered, len(value_names)),
            value_names=value_names,
        )

    def __len__(self) -> int:
        return len(self.sequence_ids)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of events of every sequence."""
        return self.rows.lengths

    @property
    def n_events(self) -> int:
        return int(self.lengths.sum())

    @cached_property
    def support(self) -> NDArray[np.int64]:
        """Number of sequences that carry each label."""
        return _frozen(np.bincount(self.label_rows.gather(self.labels), minlength=len(self.label_names)))

    @property
    def label_support(self) -> dict[str, int]:
        """Number of sequences that carry each label, by name."""
        return dict(zip(self.label_names, self.support.tolist(), strict=True))

    @property
    def time_range(self) -> tuple[float, float] | None:
        """The first and the last time of all events; None if there is only an order."""
        used = self.lengths > 0
        if self.time_kind == "order" or not used.any():
            return None
        first = self.times[self.rows.starts[used]].min()
        return float(first), float(self.times[self.rows.stops[used] - 1].max())

    @property
    def shape(self) -> tuple[int]:
        """The number of sequences; scikit-learn takes what has a shape apart by rows, as in `data[rows]`."""
        return (len(self),)

    @overload
    def __getitem__(self, key: int | str) -> EventSequence: ...
    @overload
    def __getitem__(self, key: Any) -> "EventDataset": ...
    def __getitem__(self, key: Any) -> "EventSequence | EventDataset":
        """A sequence by position or id; a data set by a slice, positions, ids or a mask, as in `select`."""
        if isinstance(key, tuple):
            return self._rows_of_array_key(key)
        if isinstance(key, slice):
            return self.select(np.arange(len(self))[key])
        if not isinstance(key, int | str) and np.ndim(key):
            return self.select(key)
        row = self._row_of(key) if isinstance(key, str) else self._row_at(key)
        start, stop = self.rows.starts[row], self.rows.stops[row]
        label_start, label_stop = self.label_rows.starts[row], self.label_rows.stops[row]
        return EventSequence(
            id=self.sequence_ids[row].as_py(),
            events=tuple(self.event_names[i] for i in self.events[start:stop]),
            times=tuple(self.times[start:stop].tolist()),
            labels=tuple(self.label_names[i] for i in self.labels[label_start:label_stop]),
            values=tuple(map(tuple, self.values[start:stop].tolist())) if self.value_names else (),
        )

    def _rows_of_array_key(self, key: tuple[Any, ...]) -> "EventDataset":
        """`data[rows, ...]`, as scikit-learn writes it."""
        if len(key) != 2 or key[1] is not Ellipsis:
            raise TypeError(f"a data set has rows alone; use data[rows], not data[{key!r}]")
        return self[key[0]]

    def __iter__(self) -> Iterator[EventSequence]:
        return (self[row] for row in range(len(self)))

    def _row_of(self, sequence_id: str) -> int:
        row = int(pc.index(self.sequence_ids, pa.scalar(sequence_id, self.sequence_ids.type)).as_py())
        if row < 0:
            raise KeyError(f"no sequence {sequence_id!r} among {len(self):,}")
        return row

    def _row_at(self, position: int) -> int:
        if not -len(self) <= position < len(self):
            raise IndexError(f"position {position} of {counted(len(self), 'sequence')}")
        return range(len(self))[position]

    def select(self, which: "Sequence[str] | Sequence[int] | NDArray[Any]") -> "EventDataset":
        """The sequences given by ids, a Boolean mask or positions, in the order given; a view."""
        rows = self._positions(which)
        return EventDataset(
            sequence_ids=self.sequence_ids.take(pa.array(rows)),
            events=self.events,
            times=self.times,
            rows=self.rows.take(rows),
            labels=self.labels,
            label_rows=self.label_rows.take(rows),
            event_names=self.event_names,
            label_names=self.label_names,
            time_kind=self.time_kind,
            values=self.values,
            value_names=self.value_names,
            groups=None if self.groups is None else self.groups[rows],
            kinds=self.kinds,
            known=None if self.known is None else self.known.take(rows),
        )

    def _positions(self, which: "Sequence[str] | Sequence[int] | NDArray[Any]") -> NDArray[np.int64]:
        chosen = np.asarray(which)
        if chosen.dtype == np.bool_:
            if chosen.shape != (len(self),):
                raise ConfigError(
                    f"a mask of shape {chosen.shape} for {counted(len(self), 'sequence')}; give one value "
                    "per sequence"
                )
            return np.flatnonzero(chosen)
        if chosen.size == 0:
            return np.zeros(0, np.int64)
        if chosen.dtype.kind in "iu":
            if chosen.min() < -len(self) or chosen.max() >= len(self):
                raise ConfigError(
                    f"position {chosen.max() if chosen.max() >= len(self) else chosen.min()} of "
                    f"{counted(len(self), 'sequence')}; use 0 to {len(self) - 1}"
                )
            return chosen.astype(np.int64) % len(self)
        names = pa.array([str(name) for name in which], self.sequence_ids.type)
        positions = pc.index_in(names, value_set=self.sequence_ids)
        if positions.null_count:
            missing = names.filter(pc.is_null(positions))
            raise DataError(
                f"{len(missing):,} of {counted(len(names), 'sequence id')} not in the data, "
                f"the first: {missing[0].as_py()!r}"
            )
        return cast(NDArray[np.int64], positions.to_numpy().astype(np.int64))

    def split(self, *fractions: float, seed: int = 0) -> "tuple[EventDataset, ...]":
        """Random disjoint parts: `train, test = data.split(0.8)`; the last part is the rest.

        Groups stay whole, so the parts have the sizes asked for only about.

        >>> data = EventDataset.from_sequences([EventSequence(str(i), ("a",), (0.0,), ()) for i in range(10)])
        >>> [len(part) for part in data.split(0.6, 0.2)]
        [6, 2, 2]
        """
        if not fractions or not all(part > 0 for part in fractions) or sum(fractions) > 1 + 1e-9:
            raise ConfigError(f"fractions={fractions}: each must be above 0 and their sum at most 1")
        ends = np.round(np.cumsum(fractions) * len(self)).astype(np.int64)
        if sum(fractions) > 1 - 1e-9:
            ends = ends[:-1]
        order = self.group_order(np.random.default_rng(seed))
        parts = np.split(order, [self.group_end(order, int(end)) for end in ends])
        return tuple(self.select(np.sort(rows)) for rows in parts)

    def folds(self, k: int, seed: int = 0) -> "Iterator[tuple[EventDataset, EventDataset]]":
        """`k` pairs (rest, fold); the folds are disjoint, cover all sequences and keep groups whole."""
        if not 2 <= k <= self.n_groups:
            unit = "sequence" if self.groups is None else "group"
            raise ConfigError(f"k={k} folds of {counted(self.n_groups, unit)}; use 2 to {self.n_groups:,}")
        fold_of = (np.random.default_rng(seed).permutation(self.n_groups) % k)[self.group_numbers]
        return ((self.select(fold_of != fold), self.select(fold_of == fold)) for fold in range(k))

    @cached_property
    def group_numbers(self) -> NDArray[np.int64]:
        """The number of each sequence's group, from 0, in order of first appearance.

        Without groups every sequence has its own number, so code that works by group needs no other case.

        >>> data = EventDataset.from_sequences([EventSequence(i, (), (), ()) for i in "abcd"])
        >>> data.group_numbers.tolist(), data.in_groups([7, 3, 7, 3]).group_numbers.tolist()
        ([0, 1, 2, 3], [0, 1, 0, 1])
        """
        if self.groups is None:
            return _frozen(np.arange(len(self)))
        return _frozen(first_appearances(self.groups))

    @property
    def n_groups(self) -> int:
        """Number of groups; without groups, of sequences."""
        return int(self.group_numbers.max(initial=-1)) + 1

    def in_groups(self, groups: "Sequence[int] | NDArray[Any] | None") -> "EventDataset":
        """The same sequences in other groups, one number per sequence; None: each is its own group."""
        if groups is not None and len(groups) != len(self):
            raise ConfigError(
                f"{counted(len(groups), 'group number')} for {counted(len(self), 'sequence')}; give one per "
                "sequence"
            )
        grouped = self.select(np.arange(len(self)))
        grouped.groups = None if groups is None else _frozen(np.asarray(groups, np.int32))
        return grouped

    def without_labels(self) -> "EventDataset":
        """The same sequences without their labels, as a model reads them."""
        bare, none = self.select(np.arange(len(self))), np.zeros(len(self), np.int64)
        bare.labels, bare.label_rows, bare.label_names = _frozen(self.labels[:0]), Ragged(none, none), ()
        bare.known = None
        return bare

    def group_draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """A random number from 0 to 1 for every sequence, the same for all sequences of a group."""
        return rng.random(self.n_groups)[self.group_numbers]

    def group_order(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The sequences in a random order in which those of a group follow each other."""
        rank = np.empty(self.n_groups, np.int64)
        rank[rng.permutation(self.n_groups)] = np.arange(self.n_groups)
        return np.argsort(rank[self.group_numbers], kind="stable")

    def group_end(self, order: NDArray[np.int64], wanted: int) -> int:
        """How many of the first sequences of an order make whole groups, as near to `wanted` as possible."""
        number = self.group_numbers[order]
        ends = np.flatnonzero(np.concatenate([[True], number[1:] != number[:-1], [True]]))
        return int(ends[np.argmin(np.abs(ends - wanted))])

    def ids(self) -> Iterator[str]:
        """The ids of all sequences, of which few are in memory as texts at a time."""
        return (name for names in self._ids_in_parts() for name in names)

    def _ids_in_parts(self) -> Iterator[list[str]]:
        parts = range(0, len(self), SAVED_AT_ONCE)
        return (self.sequence_ids.slice(at, SAVED_AT_ONCE).to_pylist() for at in parts)

    def chunks(self, size: int) -> "Iterator[EventDataset]":
        """Consecutive parts of at most `size` sequences, for work that must not load all data at once."""
        if size < 1:
            raise ConfigError(f"size={size}: a chunk must hold at least 1 sequence")
        return (self.select(np.arange(at, min(at + size, len(self)))) for at in range(0, len(self), size))

    def parts(self, most: int) -> "Iterator[EventDataset]":
        """Consecutive parts of at most `most` events, or of one sequence that has more.

        >>> data = EventDataset.from_sequences(
        ...     [EventSequence(name, ("x",) * 3, (0.0, 1.0, 2.0), ()) for name in "abc"])
        >>> [len(part) for part in data.parts(7)]
        [2, 1]
        """
        return (self.select(np.arange(first, end)) for first, end in blocks(self.rows.offsets, most))

    def flat(self) -> "tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]":
        """Offsets, events and times of the sequences, contiguous."""
        return self.rows.offsets, self.rows.gather(self.events), self.rows.gather(self.times)

    @cached_property
    def event_counts(self) -> NDArray[np.int64]:
        """How often each event type occurs."""
        return _frozen(tally_numbers(self.flat()[1], len(self.event_names)))

    def presence(self) -> sp.csr_array:
        """Which event types occur in which sequence: (sequences, event types), a sparse 0/1 matrix."""
        offsets, events, _ = self.flat()
        return _binary_rows(offsets, events, len(self.event_names))

    @cached_property
    def incidence(self) -> BinaryMatrix:
        """What `presence` says, for data of any size; made once."""
        starts, stops = self.rows.starts, self.rows.stops
        parts = (Ragged(starts[first:end], stops[first:end]) for first, end in blocks(self.rows.offsets))
        width = len(self.event_names)
        return BinaryMatrix.joined(
            (_binary_rows(part.offsets, part.gather(self.events), width) for part in parts), width
        )

    def label_matrix(self) -> sp.csr_array:
        """Which labels each sequence carries: (sequences, labels), a sparse 0/1 matrix."""
        return _binary_rows(
            self.label_rows.offsets, self.label_rows.gather(self.labels), len(self.label_names)
        )

    def positives(self) -> list[NDArray[np.int32]]:
        """For each label the sequences that carry it, in order.

        >>> data = EventDataset.from_sequences(
        ...     [EventSequence("a", (), (), ("x",)), EventSequence("b", (), (), ("x", "y"))])
        >>> [rows.tolist() for rows in data.positives()]
        [[0, 1], [1]]
        """
        by_label = self.label_matrix().tocsc()
        by_label.sort_indices()
        rows = np.split(by_label.indices.astype(np.int32), by_label.indptr[1:-1])
        return rows[: len(self.label_names)]

    @cached_property
    def n_known(self) -> NDArray[np.int64]:
        """For how many sequences each label is known."""
        n_labels = len(self.label_names)
        if self.known is None:
            return _frozen(np.full(n_labels, len(self)))
        return _frozen(self.known.counts(n_labels))

    @property
    def _known_share(self) -> float:
        return float(self.n_known.sum()) / max(len(self) * len(self.label_names), 1)

    def known_rows(self, label: int) -> NDArray[np.bool_] | None:
        """The sequences for which a label is known; None: all."""
        return None if self.known is None else self.known.sequences(label)

    def known_matrix(self) -> NDArray[np.bool_] | None:
        """Which labels are known for which sequence: (sequences, labels); None: all."""
        return None if self.known is None else self.known.matrix(len(self.label_names))

    def knowing(self, known: NDArray[np.bool_] | None) -> "EventDataset":
        """The same sequences with other known labels, given as (sequences, labels); None: all are known.

        >>> data = EventDataset.from_sequences(
        ...     [EventSequence("a", (), (), ("x",)), EventSequence("b", (), (), ("x", "y"))])
        >>> data.knowing(np.array([[True, False], [True, True]])).n_known.tolist()
        [2, 1]
        """
        if known is not None:
            self._check_known(known)
        view = self.select(np.arange(len(self)))
        view.known = None if known is None or known.all() else KnownLabels.of(known)
        return view

    def _check_known(self, known: NDArray[np.bool_]) -> None:
        shape = (len(self), len(self.label_names))
        if known.shape != shape:
            raise ConfigError(
                f"known labels of shape {known.shape}; give one value per sequence and label: {shape}"
            )
        unknown = int((~known[self.label_matrix().nonzero()]).sum())
        if unknown:
            raise ConfigError(
                f"{counted(unknown, 'label')} carried by a sequence but not known for it; what is carried is "
                "known"
            )

    def studies(self) -> "list[EventDataset]":
        """The data sets in which all labels are known: a study for all labels known for the same sequences.

        Each has the sequences for which its labels are known, and these labels alone. Whatever is asked for
        label by label is asked in its study, where nothing is unknown.

        >>> data = EventDataset.from_sequences(
        ...     [EventSequence("a", (), (), ("x",)), EventSequence("b", (), (), ("x", "y"))])
        >>> known = np.array([[True, False], [True, True]])
        >>> [(study.label_names, len(study)) for study in data.knowing(known).studies()]
        [(('x',), 2), (('y',), 1)]
        """
        if self.known is None:
            return [self]
        alike = self.known.alike(len(self.label_names))
        return [self.select(rows)._with_labels(labels) for labels, rows in alike]

    def _with_labels(self, kept: NDArray[np.int64]) -> "EventDataset":
        """The same sequences with some of the labels, all of them known."""
        number = np.full(len(self.label_names), -1, np.int32)
        number[kept] = np.arange(len(kept))
        labels = number[self.label_rows.gather(self.labels)]
        rows = np.repeat(np.arange(len(self)), self.label_rows.lengths)[labels >= 0]
        view = self.select(np.arange(len(self)))
        view.labels, view.known = _frozen(labels[labels >= 0]), None
        view.label_rows = Ragged.from_offsets(_offsets(np.bincount(rows, minlength=len(self)).tolist()))
        view.label_names = tuple(self.label_names[label] for label in kept)
        return view

    @cached_property
    def fingerprint(self) -> str:
        """A short text that changes with sequences, events, times, labels, values, names, groups or kinds."""
        code = 0
        for part in self.chunks(100_000):
            columns = (*part.flat(), part.label_rows.offsets, part.label_rows.gather(part.labels))
            for column in (*columns, part.rows.gather(part.values)):
                code = zlib.crc32(np.ascontiguousarray(column).data, code)
        values = ("", *self.value_names) if self.value_names else ()
        words = "\n".join((*self.event_names, "", *self.label_names, *values)).encode()
        code = zlib.crc32(words, code)
        for at, names in enumerate(self._ids_in_parts()):
            code = zlib.crc32(("\n" * (at > 0) + "\n".join(names)).encode(), code)
        if self.groups is not None:
            code = zlib.crc32(np.ascontiguousarray(self.groups).tobytes(), code)
        if self.kinds:
            code = zlib.crc32(json.dumps(self.kinds.to_dict()).encode(), code)
        if self.known is not None:
            for column in (self.known.rows.offsets, self.known.contiguous):
                code = zlib.crc32(np.ascontiguousarray(column).tobytes(), code)
        return f"{len(self)} sequences, {self.n_events} events, {code:08x}"

    def save(self, folder: str | Path) -> None:
        """Write the columns to a new folder that `load` maps into memory."""
        header = {
            "sequences": len(self),
            "events": self.n_events,
            "time_kind": self.time_kind,
            "label_names": self.label_names,
            "event_names": self.event_names,
            **({"value_names": self.value_names} if self.value_names else {}),
            **({"grouped": True} if self.groups is not None else {}),
            **({"kinds": self.kinds.to_dict()} if self.kinds else {}),
            **({"known": int(self.known.rows.lengths.sum())} if self.known is not None else {}),
        }
        parts = {
            "offsets": [self.rows.offsets],
            "events": (part.rows.gather(self.events) for part in self.chunks(SAVED_AT_ONCE)),
            "times": (part.rows.gather(self.times) for part in self.chunks(SAVED_AT_ONCE)),
            "label_offsets": [self.label_rows.offsets],
            "labels": (part.label_rows.gather(self.labels) for part in self.chunks(SAVED_AT_ONCE)),
            "values": (part.rows.gather(self.values) for part in self.chunks(SAVED_AT_ONCE)),
            "groups": [np.zeros(0, np.int32) if self.groups is None else self.groups],
            **known_columns(self.known),
        }
        write_columns(Path(folder), header, parts, int(self.label_rows.lengths.sum()), self.sequence_ids)

    @classmethod
    def load(cls, folder: str | Path, verify: bool = True) -> "EventDataset":
        """Open a saved data set; its columns stay on disk and are read when used.

        To notice damage, all bytes are compared with their checksums; `verify=False` trusts that this was
        done before, as worker processes do.
        """
        header, columns, ids = read_columns(Path(folder), verify)
        if verify:
            for name in ("event", "label"):
                _check_numbers(folder, name, columns[f"{name}s"], len(header[f"{name}_names"]))
        return cls(
            sequence_ids=ids,
            events=columns["events"],
            times=columns["times"],
            rows=Ragged.from_offsets(np.asarray(columns["offsets"])),
            labels=columns["labels"],
            label_rows=Ragged.from_offsets(np.asarray(columns["label_offsets"])),
            event_names=header["event_names"],
            label_names=header["label_names"],
            time_kind=header["time_kind"],
            values=columns.get("values"),
            value_names=header.get("value_names", ()),
            groups=columns.get("groups"),
            kinds=EventKinds.from_dict(header.get("kinds", {})),
            known=_known(columns),
        )

    def __repr__(self) -> str:
        groups = "" if self.groups is None else f" of {counted(self.n_groups, 'group')}"
        head = (
            f"EventDataset: {counted(len(self), 'sequence')}{groups}, {counted(self.n_events, 'event')} of "
            f"{counted(len(self.event_names), 'type')}, {counted(len(self.label_names), 'label')}"
        )
        if len(self) == 0:
            return head
        low, middle, high = (int(value) for value in np.quantile(self.lengths, [0, 0.5, 1]))
        values = [f"  values              {', '.join(self.value_names)}"] if self.value_names else []
        known = (
            [f"  labels known        {self._known_share:.1%} of sequences and labels"] if self.known else []
        )
        return "\n".join(
            [
                head,
                f"  events a sequence   {low:,} to {high:,}, median {middle:,}",
                f"  labels a sequence   {self.label_rows.lengths.mean():.2f} on average, "
                f"{int((self.label_rows.lengths == 0).sum()):,} sequences without",
                *known,
                f"  times               {describe_times(self)}",
                *values,
            ]
        )


def describe_times(data: EventDataset) -> str:
    """The range of times in words."""
    if data.time_range is None:
        return "none; the order of rows"
    first, last = data.time_range
    if data.time_kind == "datetime":
        days = np.array([first, last]).astype("datetime64[s]").astype("datetime64[D]")
        return f"{days[0]} to {days[1]}"
    return f"numbers, {first:,.6g} to {last:,.6g}"


def first_appearances(values: NDArray[Any]) -> NDArray[np.int64]:
    """A number for each value, from 0, in order of first appearance.

    >>> first_appearances(np.array([7, 3, 7, 5])).tolist()
    [0, 1, 0, 2]
    """
    _, first, number = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def known_columns(known: KnownLabels | None) -> dict[str, list[NDArray[Any]]]:
    """The columns of known labels as they are stored; none if all are known."""
    return {} if known is None else {"known_offsets": [known.rows.offsets], "known": [known.contiguous]}


def _check_numbers(folder: str | Path, what: str, numbers: NDArray[np.integer], n_names: int) -> None:
    """Refuse numbers of events or labels that have no name, as in a header of other data."""
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n_names):
        raise DataError(
            f"{folder} is damaged: the {what} numbers {numbers.min():,} to {numbers.max():,} have "
            f"{counted(n_names, 'name')}; save it again, or use read_events for tables"
        )


def _known(columns: Mapping[str, NDArray[Any]]) -> KnownLabels | None:
    if "known" not in columns:
        return None
    return KnownLabels(Ragged.from_offsets(np.asarray(columns["known_offsets"])), columns["known"])


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _binary_rows(offsets: NDArray[np.int64], columns: NDArray[np.int32], width: int) -> sp.csr_array:
    """A sparse 0/1 matrix from ragged column numbers; repeats count once."""
    if len(columns) and not 0 <= columns.min() <= columns.max() < width:
        raise DataError(
            f"numbers {columns.min()} to {columns.max()} for {width:,} names; the data are damaged"
        )
    ones = np.ones(len(columns), np.int32)
    narrow = np.int32 if len(columns) < np.iinfo(np.int32).max else np.int64
    # A copy, because the matrix sorts its indices in place and the data set must not change.
    indices, starts = columns.astype(narrow), offsets.astype(narrow)
    matrix = sp.csr_array((ones, indices, starts), shape=(len(offsets) - 1, width))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
