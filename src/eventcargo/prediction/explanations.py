"""Explanations of many sequences as one table, with the figures that `explain` gives for each of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.batches import Batch, Batches, kept_attributes, places_in_sequence, report_cuts
from eventcargo.errors import ConfigError, counted, did_you_mean
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel, check_values, end_logits
from eventcargo.oneshot.explain import MAX_SETS, MIN_STRENGTH
from eventcargo.oneshot.score_shard import BLOCK, TOKENS
from eventcargo.oneshot.total import TotalTest, Types, minimal_sets
from eventcargo.progress import OnProgress
from eventcargo.vocabulary import MARKS

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

EXPLANATIONS: dict[str, pl.DataType] = {
    "sequence_id": pl.String(),
    "label": pl.String(),
    "probability": pl.Float64(),  # P(label | sequence)
    "event": pl.String(),
    "count": pl.Int64(),  # occurrences of the event type that the model reads
    "first_position": pl.Int64(),  # of the first of them in the sequence, from 0
    "first_time": pl.Float64(),  # its time; a date if the data have dates, null if they have only an order
    "without": pl.Float64(),  # P(label | sequence with the event type and the others hidden)
    "effect": pl.Float64(),  # probability - without
    "strength": pl.Float64(),  # nats
    "others": pl.List(pl.String()),  # hidden together with it, because each would have been enough
}
"""Columns of a table of explanations: a row for each event type, or set of them, that moves a label."""

DATE = pl.Datetime("us", "UTC")

LIKELY = 0.5
"""Labels of at least this probability are explained, where none are named."""

LEAST = 0.01
"""Event types that move a label by no more are left out, in nats."""


def explain_all(
    model: DensityModel,
    data: EventDataset,
    labels: Sequence[str] | None = None,
    *,
    allowed: Flags | None = None,
    progress: OnProgress | None = None,
) -> Iterator[pl.DataFrame]:
    """The event types that move the labels of each sequence, in tables of some hundred sequences.

    `labels` defaults to those of a probability of at least one half; labels that the data carry are not read.
    `allowed`, (labels, V), marks the pairs that may be causes. The strongest of a label come first.
    """
    bare = data.without_labels()
    check_values(model, bare)
    report_cuts(bare, model.max_length)
    chosen, permitted = _chosen(model, labels), _permitted(model, allowed)
    for start in range(0, len(bare), BLOCK):
        part = bare[start : start + BLOCK]
        yield _explained(model, part, chosen, permitted)
        if progress is not None:
            progress("explaining", start + len(part), len(bare), "sequences")


def schema_of(data: EventDataset) -> dict[str, pl.DataType]:
    """The columns of explanations of these data."""
    return {**EXPLANATIONS, **({"first_time": DATE} if data.time_kind == "datetime" else {})}


def _chosen(model: DensityModel, labels: Sequence[str] | None) -> Flags | None:
    """The labels to explain in every sequence; None: the likely ones of each."""
    if labels is None:
        return None
    for name in labels:
        if name not in model.label_names:
            meant = did_you_mean(name, list(model.label_names))
            hint = f"; did you mean {meant!r}?" if meant else ""
            known = counted(len(model.label_names), "label")
            raise ConfigError(f"label {name!r} is not among the model's {known}{hint}")
    return np.isin(model.label_names, list(labels))


def _permitted(model: DensityModel, allowed: Flags | None) -> Flags:
    """Pairs that may be causes: never with an event type that the data adjust for."""
    shape = (len(model.label_names), len(model.vocabulary))
    result = np.ones(shape, bool) if allowed is None else allowed.copy()
    result[:, list(model.vocabulary.numbered_kinds.adjusted)] = False
    return result


def _explained(model: DensityModel, data: EventDataset, chosen: Flags | None, allowed: Flags) -> pl.DataFrame:
    """The table of a few sequences."""
    batches = Batches(data, model.vocabulary, model.max_length)
    columns, tables = np.arange(len(model.label_names)), [pl.DataFrame(schema=schema_of(data))]
    for rows in batches.in_order(TOKENS):
        batch = batches.take(rows)
        whole = expit(end_logits(model, batch, columns))
        wanted = whole >= LIKELY if chosen is None else np.tile(chosen, (len(rows), 1))
        if wanted.any():
            moved = _moved(model, batch, wanted, allowed)
            tables.append(_Named(model, data, rows, batch, whole).table(moved))
    return pl.concat(tables)


@dataclass(frozen=True)
class _Moved:
    """Labels and the event types that move them, as numbers: single types, then sets of them."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    ids: list[list[int]]
    effect: Floats
    strength: Floats


def _moved(model: DensityModel, batch: Batch, wanted: Flags, allowed: Flags) -> _Moved:
    scores = TotalTest(allowed).score(model, batch, wanted)
    scores = scores.take(scores.strength > LEAST)
    single = batch.ids[scores.rows, scores.positions]
    sets = minimal_sets(model, batch, wanted, MIN_STRENGTH, allowed)
    rank = np.arange(len(sets)) - _first_of(sets.rows, sets.labels)
    sets = sets.take(np.flatnonzero((sets.sizes > 1) & (rank < MAX_SETS)))
    several = [ids[:size].tolist() for ids, size in zip(sets.ids, sets.sizes, strict=True)]
    return _Moved(
        np.concatenate([scores.rows, sets.rows]),
        np.concatenate([scores.labels, sets.labels]),
        [[event] for event in single.tolist()] + several,
        np.concatenate([scores.effect, sets.effect]),
        np.concatenate([scores.strength, sets.strength]),
    )


def _first_of(rows: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of some sorted pairs, the place of the first one that equals it."""
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (np.diff(rows) != 0) | (np.diff(labels) != 0)
    starts = np.flatnonzero(is_new)
    return starts[np.cumsum(is_new) - 1] if len(rows) else starts


class _Named:
    """What moved the labels of a batch, by names and times."""

    def __init__(
        self,
        model: DensityModel,
        data: EventDataset,
        rows: NDArray[np.int64],
        batch: Batch,
        whole: Floats,
    ) -> None:
        self._model, self._data, self._rows, self._batch, self._whole = model, data, rows, batch, whole
        types = Types.of(batch)
        pairs = zip(types.rows.tolist(), types.ids.tolist(), strict=True)
        self._first = dict(zip(pairs, types.positions.tolist(), strict=True))

    def table(self, moved: _Moved) -> pl.DataFrame:
        """The rows, sorted by sequence, label and strength."""
        in_order = [
            sorted(ids, key=lambda one, row=row: self._first[row, one])  # type: ignore[misc]
            for row, ids in zip(moved.rows.tolist(), moved.ids, strict=True)
        ]
        first = np.array([ids[0] for ids in in_order], np.int64)
        shown = np.array(
            [self._first[pair] for pair in zip(moved.rows.tolist(), first.tolist(), strict=True)]
        )
        sequences = self._rows[moved.rows]
        places = self._places(sequences, moved.rows, shown.astype(np.int64))
        names = self._model.vocabulary.decode
        probability = self._whole[moved.rows, moved.labels]
        columns = {
            "sequence_id": pl.Series(self._data.sequence_ids).cast(pl.String)[sequences],
            "label": pl.Series(self._model.label_names, dtype=pl.String)[moved.labels],
            "probability": probability,
            "event": names(first.tolist()),
            "count": (self._batch.ids[moved.rows] == first[:, None]).sum(axis=1),
            "first_position": places,
            "first_time": self._times(sequences, places),
            "without": probability - moved.effect,
            "effect": moved.effect,
            "strength": moved.strength,
            "others": [names(ids[1:]) for ids in in_order],
        }
        order = np.lexsort((shown, -moved.strength, moved.labels, moved.rows))
        return pl.DataFrame(columns, schema=schema_of(self._data))[order]

    def _places(
        self, sequences: NDArray[np.int64], rows: NDArray[np.int64], shown: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Places in the whole sequences of positions in the batch, which may be cut."""
        kept = kept_attributes(self._data, self._model.max_length)
        n_cut = self._data.lengths[sequences] - (self._batch.lengths[rows] - MARKS)
        return places_in_sequence(shown - 1, kept[sequences], n_cut)

    def _times(self, sequences: NDArray[np.int64], places: NDArray[np.int64]) -> pl.Series:
        if self._data.time_kind == "order":
            return pl.Series([None] * len(places), dtype=pl.Float64)
        starts = np.concatenate([[0], np.cumsum(self._data.lengths)])
        times = self._data.flat()[2][starts[sequences] + places]
        if self._data.time_kind != "datetime":
            return pl.Series(times, dtype=pl.Float64)
        return pl.Series(np.round(times * 1e6).astype(np.int64)).cast(DATE)
