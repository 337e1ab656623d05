"""EdgeCollector: edges and tested counts, collected as numbers and named at the end."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.batches import Batch, kept_attributes, places_in_sequence
from eventcargo.edges import EDGES, EXPOSED, POLARITIES, POSITIVES, SUPPORT, EdgeTable, voting
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.oneshot.group_sums import GroupSums
from eventcargo.oneshot.pooled import PooledEvidence
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.sets import MAX_SIZE, NONE
from eventcargo.oneshot.total import Types
from eventcargo.vocabulary import MARKS

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

OTHERS = tuple(f"other_{at}" for at in range(1, MAX_SIZE))
"""Columns of the event types hidden together with an event, as numbers."""


class EdgeCollector:
    """Collects the results of tests on a data set, with the model's numbers for labels and event types."""

    def __init__(self, model: DensityModel, data: EventDataset) -> None:
        self._model, self._data, self._carried = model, data, data.label_matrix()
        self._kept = kept_attributes(data, model.max_length)
        self._tested: dict[tuple[str, str], Ints] = {}
        self._exposed: dict[tuple[str, str], sp.csr_array] = {}
        self._edges: list[pl.DataFrame] = []
        self._groups = GroupSums()

    def note_tested(
        self, test: str, polarity: str, rows: Ints, wanted: Flags, types: Types, allowed: Flags | None = None
    ) -> None:
        """Count the labels tested in sequences `rows`, (sequences, labels), and the event types they hold.

        Pairs that are not `allowed`, (labels, V), do not count as exposed. `rows` are whole groups.
        """
        if self._data.groups is not None:
            self._groups.add((test, polarity), self._data.group_numbers[rows], wanted, types, allowed)
        ones = np.ones(len(types.rows), np.int64)
        shape = (len(wanted), len(self._model.vocabulary))
        holds = sp.csr_array((ones, (types.rows, types.ids)), shape=shape)
        exposed, kind = sp.csr_array(wanted.T.astype(np.int64)) @ holds, (test, polarity)  # (labels, V)
        if allowed is not None:
            exposed = _only(exposed, allowed)
        known = kind in self._tested
        self._tested[kind] = wanted.sum(axis=0) + (self._tested[kind] if known else 0)
        self._exposed[kind] = exposed + self._exposed[kind] if known else exposed

    def note_edges(self, test: str, rows: Ints, batch: Batch, kept: EventScores) -> None:
        """Add the scores of a batch that are edges; `rows` are its sequences in the data set."""
        sequences = rows[kept.rows]
        n_cut = self._data.lengths[sequences] - (batch.lengths[kept.rows] - MARKS)  # events cut off
        places = places_in_sequence(kept.positions - 1, self._kept[sequences], n_cut)
        columns = {
            "sequence": sequences,
            "label": kept.labels,
            "event": batch.ids[kept.rows, kept.positions],
            "position": places.astype(np.int32),
            "strength": kept.strength.astype(np.float32),
            "effect_sd": kept.effect_sd.astype(np.float32),
            "effect": kept.effect.astype(np.float32),
            **{name: _known(getattr(kept, name), len(kept)) for name in ("before", "entropy")},
            **_others(kept),
        }
        self._edges.append(pl.DataFrame(columns).with_columns(test=pl.lit(test)))

    def table(self, pooled: PooledEvidence | None = None) -> EdgeTable:
        """Everything by name; edges are sorted by sequence, label, test and position."""
        empty = pl.DataFrame(schema=EDGES)
        numbers = pl.concat(self._edges) if self._edges else None
        order = ("sequence", "label", "test", "position")
        edges = empty if numbers is None else self._named(numbers.sort(*order))
        support = [self._support(*kind) for kind in self._tested]
        exposed = [self._exposure(*kind) for kind in self._tested]
        table = EdgeTable(
            edges,
            pl.concat([pl.DataFrame(schema=SUPPORT), *support]),
            pl.concat([pl.DataFrame(schema=EXPOSED), *exposed]),
            self._positives(),
            *(self._grouped(edges) if self._data.groups is not None else ()),
        )
        if pooled is not None:
            table = replace(table, pooled=pooled.table(self._labels, self._events))
        return EdgeTable.join([table])

    def _grouped(self, edges: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The sums over groups of tested sequences and of votes."""
        ids = pl.Series(self._data.sequence_ids).cast(pl.String)
        groups = pl.DataFrame({"sequence": ids, "group": self._data.group_numbers})
        return self._groups.tables(voting(edges).join(groups, on="sequence"), self._labels, self._events)

    def _named(self, numbers: pl.DataFrame) -> pl.DataFrame:
        rows, labels = numbers["sequence"].to_numpy(), numbers["label"].to_numpy()
        carried = np.asarray(self._carried[rows, labels]).ravel() > 0 if len(rows) else np.zeros(0, bool)
        columns = {
            **{name: numbers[name] for name in EDGES if name in numbers.columns},
            "sequence": pl.Series(self._data.sequence_ids).cast(pl.String)[rows],
            "label": self._labels[labels],
            "event": self._events[numbers["event"].to_numpy()],
            "others": self._named_others(numbers),
            "polarity": pl.Series(POLARITIES, dtype=pl.String)[(~carried).astype(np.int64)],
        }
        return _table(EDGES, columns)

    def _named_others(self, numbers: pl.DataFrame) -> pl.Series:
        """The others hidden together with each event, by name; mostly none."""
        known = numbers.select(pl.col(OTHERS).replace(NONE, None))
        named = pl.DataFrame({name: self._events.gather(known[name]) for name in OTHERS})
        return named.select(others=pl.concat_list(pl.all()).list.drop_nulls())["others"]

    def _positives(self) -> pl.DataFrame:
        """Number of positives of each label, and of all sequences for which it is known."""
        carried = np.asarray(self._carried.sum(axis=0)).ravel()
        columns = {"label": pl.Series(self._data.label_names, dtype=pl.String), "positives": carried}
        return _table(POSITIVES, {**columns, "sequences": self._data.n_known})

    def _support(self, test: str, polarity: str) -> pl.DataFrame:
        tested = self._tested[test, polarity]
        labels = np.flatnonzero(tested)
        return _table(
            SUPPORT,
            {
                "label": self._labels[labels],
                "sequences": tested[labels],
                **_kind(test, polarity, len(labels)),
            },
        )

    def _exposure(self, test: str, polarity: str) -> pl.DataFrame:
        counts = sp.coo_array(self._exposed[test, polarity])
        labels, events = counts.coords
        return _table(
            EXPOSED,
            {
                "label": self._labels[labels],
                "event": self._events[events],
                "sequences": counts.data,
                **_kind(test, polarity, len(labels)),
            },
        )

    @property
    def _labels(self) -> pl.Series:
        return pl.Series(self._model.label_names, dtype=pl.String)

    @property
    def _events(self) -> pl.Series:
        vocabulary = self._model.vocabulary
        return pl.Series(vocabulary.decode(range(len(vocabulary))), dtype=pl.String)


def _only(counts: sp.csr_array, allowed: Flags) -> sp.csr_array:
    entries = sp.coo_array(counts)
    inside = allowed[entries.coords]
    at = tuple(axis[inside] for axis in entries.coords)
    return sp.csr_array((entries.data[inside], at), shape=counts.shape)


def _kind(test: str, polarity: str, size: int) -> dict[str, pl.Series]:
    return {
        name: pl.repeat(value, size, dtype=pl.String, eager=True)
        for name, value in (("test", test), ("polarity", polarity))
    }


def _others(scores: EventScores) -> dict[str, Ints]:
    """The event types hidden together with each event, a column for each."""
    none = np.full((len(scores), len(OTHERS)), NONE)
    return dict(zip(OTHERS, (none if scores.others is None else scores.others).T.copy(), strict=True))


def _known(values: NDArray[np.float64] | None, size: int) -> pl.Series:
    """A column of an edge table; null if the test does not compute it."""
    if values is None:
        return pl.repeat(None, size, dtype=pl.Float32, eager=True)
    return pl.Series(values.astype(np.float32))


def _table(schema: Mapping[str, pl.DataType], columns: Mapping[str, Any]) -> pl.DataFrame:
    """A table of these columns, in the order and with the types of the schema."""
    return pl.DataFrame({name: pl.Series(name, columns[name]).cast(kind) for name, kind in schema.items()})
