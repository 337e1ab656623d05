"""Probabilities of the labels of whole sequences, and the event types that a model does not know."""

from collections.abc import Iterator

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.batches import kept_attributes, places_in_sequence, report_cuts
from eventcargo.errors import counted, warn
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel, end_logits, walk
from eventcargo.progress import OnProgress
from eventcargo.vocabulary import MARKS

SHOWN = 3
"""Unknown event types named in a warning."""


def predict(model: DensityModel, data: EventDataset, *, progress: OnProgress | None = None) -> pl.DataFrame:
    """P(label | whole sequence): one row per sequence, with its id and one column per label.

    Labels of the data are not read.

    >>> from eventcargo.models import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> predict(Oracle(process), process.sample(50, seed=1).data).columns[:2]
    ['sequence_id', 'L000']
    """
    result = expit(label_logits(model, data, progress=progress))
    ids = pl.Series("sequence_id", data.sequence_ids.to_pylist(), dtype=pl.String)
    return pl.DataFrame([ids, *(pl.Series(name, result[:, at]) for at, name in enumerate(model.label_names))])


def label_logits(
    model: DensityModel, data: EventDataset, *, progress: OnProgress | None = None
) -> NDArray[np.float64]:
    """The logit of P(label | whole sequence): (sequences, labels of the model)."""
    bare = data.without_labels()
    report_cuts(bare, model.max_length)
    result = np.empty((len(bare), len(model.label_names)))
    for rows, batch in walk(model, bare):
        result[rows] = end_logits(model, batch, np.arange(len(model.label_names)))
        if progress is not None:
            progress("predicting", int(rows[-1]) + 1, len(bare), "sequences")
    return result


def prefix_probabilities(
    model: DensityModel, data: EventDataset
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """P(label | events so far) within each sequence, in order: places of the events read, and probabilities.

    The first row of the probabilities is before any event, the next ones are after each event that the model
    reads, the last is given the whole sequence and that it has ended; one column for each label of the model:
    (2 + events read, labels). Labels of the data are not read.

    >>> from eventcargo.models import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> places, so_far = next(prefix_probabilities(Oracle(process), process.sample(50, seed=1).data))
    >>> len(so_far) - len(places), bool(((so_far >= 0) & (so_far <= 1)).all())
    (2, True)
    """
    bare = data.without_labels()
    kept, room = kept_attributes(bare, model.max_length), model.max_length - MARKS
    for rows, batch in walk(model, bare):
        with torch.inference_mode():
            logits = model.densities(batch, labels_at=batch.mask).labels
        assert logits is not None
        every = np.split(expit(logits.double().cpu().numpy()), np.cumsum(batch.lengths)[:-1])
        for row, so_far in zip(rows.tolist(), every, strict=True):
            cut = np.maximum(bare.lengths[row : row + 1] - room, 0)
            yield places_in_sequence(np.arange(len(so_far) - 2), kept[row : row + 1], cut), so_far


def unknown_events(model: DensityModel, data: EventDataset) -> pl.DataFrame:
    """Event types of the data that the model does not know, the most frequent first.

    Columns: event, occurrences, sequences.
    """
    known = set(model.vocabulary.event_names)
    strange = [number for number, name in enumerate(data.event_names) if name not in known]
    table = pl.DataFrame(
        {
            "event": pl.Series([data.event_names[number] for number in strange], dtype=pl.String),
            "occurrences": data.event_counts[strange],
            "sequences": data.incidence.totals[strange],
        }
    )
    return table.filter(pl.col("occurrences") > 0).sort(["occurrences", "event"], descending=[True, False])


def warn_of_unknown(unknown: pl.DataFrame, data: EventDataset) -> None:
    """Warn of event types that the model does not know, with their names and counts."""
    if not len(unknown):
        return
    named = ", ".join(f"{event} ({n:,})" for event, n, _ in unknown.head(SHOWN).iter_rows())
    more = ", ..." if len(unknown) > SHOWN else ""
    share = unknown["occurrences"].sum() / max(data.n_events, 1)
    warn(
        f"the model does not know {counted(len(unknown), 'event type')}, {share:.1%} of all events: "
        f"{named}{more}; it reads them as unknown, so they explain nothing"
    )
