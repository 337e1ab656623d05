"""DensityModel: what the two phases need from a model, and nothing more.

One pass evaluates both heads of the paper: Tf_x, the next event given ids 0 to i, and Tf_y, the labels given
ids 0 to i (eq:prob_x, eq:prob_y). Heads are computed only at the requested positions and labels; results are
flat, one row per requested position, so that padding costs no memory.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch, Batches, packed, report_cuts
from eventcargo.errors import ConfigError, DataError, argument, counted
from eventcargo.events import EventDataset
from eventcargo.vocabulary import Vocabulary

POSITIONS_AT_ONCE = 64
"""Positions whose next-event logits, one row over the vocabulary each, are computed at once. Twice as many
take a third longer, because fewer of them stay in the cache."""

COLUMNS_AT_ONCE = 2_048
"""Event types whose logits and exponentials are computed at once on a CPU, so that they stay in the cache."""

HIDDEN_TOKENS = 8_192
"""Positions per forward pass over sequences with hidden event types."""

IMPOSSIBLE = -1e4
"""The logit of an id that cannot come next: its softmax is exactly 0, and unlike -inf it makes no NaN."""


@dataclass(frozen=True)
class Densities:
    """Logits, one row per requested position, in the order of `mask.nonzero()`."""

    events: Tensor | None  # (positions, vocabulary): softmax gives P(id at i + 1 | ids..i)
    labels: Tensor | None  # (positions, labels): sigmoid gives P(label | ids..i)


@dataclass(frozen=True)
class NextEvents:
    """Next-event logits of a block of positions: of all ids, or of those that can be the most probable."""

    logits: Tensor  # (positions, columns)
    ids: Tensor | None = None  # (columns,) ascending, without marks; None: one column per id
    floors: Tensor | None = None  # (event types left out,): the logit of each is at least this everywhere
    all: Callable[[], Tensor] | None = None  # gives the logits of all ids, which may overwrite others


@dataclass(frozen=True)
class SharedWeights:
    """Weights of the features about two event types that hold, flat: hiding either takes them, both, once."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class HidingChanges:
    """Logits of whole sequences, and what hiding each event type subtracts from them.

    The label's logit at the end is min(slope * logits, cap), and min(slope * (logits - taken), cap) once the
    event type is hidden. Of several hidden together, `taken` adds up, less what each two of them share. The
    flat columns are sorted by row, label and id.
    """

    logits: NDArray[np.float64]  # (B, labels)
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    ids: NDArray[np.int64]  # the hidden event type
    taken: NDArray[np.float64]
    slope: NDArray[np.float64]  # (labels,)
    cap: NDArray[np.float64]  # (labels,)
    shared: SharedWeights | None = None  # None: no feature is about two event types


@runtime_checkable
class DensityModel(Protocol):
    """A model of sequences: trained, counted, exact or external.

    A new kind of model inherits from this class and provides `vocabulary`, `label_names`, `max_length` and
    `densities`. Everything else has a default that is right for every model; a model overrides it where it
    has a faster way.
    """

    vocabulary: Vocabulary
    label_names: tuple[str, ...]
    max_length: int
    value_names: tuple[str, ...] | None = None
    """Value columns the model reads, in order; None: it ignores values."""

    def densities(
        self,
        batch: Batch,
        *,
        events_at: NDArray[np.bool_] | None = None,
        labels_at: NDArray[np.bool_] | None = None,
        label_columns: NDArray[np.int64] | None = None,
    ) -> Densities:
        """Logits at the positions where the masks (B, L) are true; `label_columns` defaults to all labels."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return torch.device("cpu")

    @property
    def n_bytes(self) -> int:
        """Memory of the weights."""
        return 0

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Labels whose model is not clearly better than their base rate on held-out sequences."""
        return ()

    @property
    def fingerprint(self) -> str:
        """A short text that changes with the names or weights of the model."""
        return names_fingerprint(self)

    @property
    def can_be_saved(self) -> bool:
        """Whether the model has a `save_pretrained` of its own, so that other processes can load it."""
        return type(self).save_pretrained is not DensityModel.save_pretrained

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the model to a folder that `load_model` reads."""
        raise ConfigError(f"{type(self).__name__} cannot be saved to {folder}: it has no save_pretrained")

    @property
    def linear_labels(self) -> NDArray[np.bool_]:
        """Labels whose logit at the end is the linear term alone: (labels,)."""
        return np.zeros(len(self.label_names), bool)

    def hiding_changes(self, batch: Batch) -> HidingChanges | None:  # noqa: ARG002 (others use it)
        """How hiding event types changes the linear term, without a forward pass; None: there is no term."""
        return None

    def fold_changes(self, batch: Batch, fold: int) -> HidingChanges | None:  # noqa: ARG002 (others use it)
        """`hiding_changes` by weights that were fitted without one fold; None: there are none.

        The fold of a sequence is that of `fold_numbers`. Logits of labels without such weights are NaN.
        """
        return None

    def hiding_matters(self, label_columns: NDArray[np.int64]) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """Which ids can change each of some labels' logits by being hidden: (labels, V); None: all."""
        return None

    def hidden_logits(
        self,
        batch: Batch,
        rows: NDArray[np.int64],
        ids: NDArray[np.int64],
        labels: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Logits of a label of each row at its end, with event types of the row hidden: (n,).

        `rows` may repeat rows of the batch; `ids`, (n, any number), are hidden, negative ones are none.
        """
        columns = np.unique(labels)
        copies = np.column_stack([rows, ids])
        distinct, which = np.unique(copies, axis=0, return_inverse=True)
        lengths = batch.lengths[distinct[:, 0]]
        logits = np.empty((len(distinct), len(columns)))
        for block in packed(np.argsort(lengths, kind="stable"), lengths, HIDDEN_TOKENS):
            logits[block] = end_logits(self, hidden(batch, distinct[block, 0], distinct[block, 1:]), columns)
        return logits[which.ravel(), np.searchsorted(columns, labels)]

    def next_events(
        self,
        batch: Batch,
        where: NDArray[np.bool_],
        k: int,  # noqa: ARG002 (models that rule out event types use it)
    ) -> Iterator[NextEvents]:
        """Next-event logits at the positions where the mask (B, L) is true, block by block.

        A model may leave out event types that are not among the `k` most probable (0: none) of any position.
        """
        for rows in np.array_split(np.arange(len(where)), max(where.size // POSITIONS_AT_ONCE, 1)):
            logits = self.densities(batch.rows(rows), events_at=where[rows]).events
            assert logits is not None
            yield NextEvents(logits)

    def particle_labels(
        self, batch: Batch, n: int, first: int, label_columns: Sequence[NDArray[np.int64]]
    ) -> Tensor:
        """Label logits of particles before the end: (pairs of a sequence and a label, n, L - first).

        Every `n` successive rows of the batch are the particles of a sequence: they differ only in their
        `first` ids. Each sequence has label columns of its own. Logits are those of position `first` - 1 and
        later; from the EOS of a sequence on, they mean nothing.
        """
        at, every = np.arange(batch.ids.shape[1]), np.unique(np.concatenate(label_columns))
        where = (at >= first - 1) & (at < batch.lengths[:, None] - 1)
        logits = self.densities(batch, labels_at=where, label_columns=every).labels
        assert logits is not None
        own = np.repeat(np.arange(len(label_columns)), [len(columns) for columns in label_columns])
        rows = np.repeat(np.arange(len(batch.ids)), where.sum(axis=1))
        result = logits.new_zeros(len(own), n, len(at) - first)
        for pair, column in enumerate(np.searchsorted(every, np.concatenate(label_columns)).tolist()):
            of_pair = torch.as_tensor(rows // n == own[pair], device=logits.device)
            of_sequence = logits[of_pair, column].view(n, -1)
            result[pair, :, : of_sequence.shape[1]] = of_sequence
        return result


def hidden(batch: Batch, rows: NDArray[np.int64], ids: NDArray[np.int64]) -> Batch:
    """One copy of the sequence per row, with the event types of the row, (n, any number), hidden."""
    copies = batch.rows(rows, int(batch.lengths[rows].max(initial=1)))
    return copies.hide((copies.ids[:, :, None] == ids[:, None, :]).any(axis=2))


@torch.inference_mode()
def end_logits(model: DensityModel, batch: Batch, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logits of some labels given the whole sequences: (B, labels)."""
    labels = model.densities(batch, labels_at=batch.at_end, label_columns=columns).labels
    assert labels is not None
    logits: NDArray[np.float64] = labels.double().cpu().numpy()
    return logits


def names_fingerprint(model: DensityModel) -> str:
    """The kind of a model and a checksum of its event types and labels."""
    names = "\n".join((*model.vocabulary.event_names, "", *model.label_names))
    return f"{type(model).__name__}, {zlib.crc32(names.encode()):08x}"


def column_blocks(like: Tensor) -> Iterator[tuple[int, int]]:
    """Start and stop of each block of columns; one block on any device but a CPU."""
    size = like.shape[1]
    step = COLUMNS_AT_ONCE if like.device.type == "cpu" else size
    return ((start, min(start + step, size)) for start in range(0, size, step))


@torch.inference_mode()
def label_probabilities(model: DensityModel, data: EventDataset, tokens: int = 16_384) -> NDArray[np.float32]:
    """P(label | whole sequence) for every sequence and every label of the model: (sequences, labels)."""
    report_cuts(data, model.max_length)
    result = np.empty((len(data), len(model.label_names)), np.float32)
    for rows, batch in walk(model, data, tokens):
        labels = model.densities(batch, labels_at=batch.at_end).labels
        assert labels is not None
        result[rows] = torch.sigmoid(labels.float()).cpu().numpy()
    return result


def walk(
    model: DensityModel, data: EventDataset, tokens: int = 16_384
) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Row numbers and batches of a data set, in order, encoded for the model."""
    check_labels(model, data)
    check_values(model, data)
    batches = Batches(data, model.vocabulary, model.max_length)
    for rows in batches.in_order(tokens):
        yield rows, batches.take(rows)


def check_labels(model: DensityModel, data: EventDataset) -> None:
    """Raise `DataError` if the labels of the data are not the model's: columns would be mixed up."""
    if data.label_names and tuple(data.label_names) != tuple(model.label_names):
        odd = sorted(set(data.label_names) ^ set(model.label_names)) or ["their order"]
        raise DataError(
            f"the data have {counted(len(data.label_names), 'label')}, the model {len(model.label_names):,}; "
            f"they differ in {odd[:3]}; read the data with the labels the model was trained on"
        )


def check_values(model: DensityModel, data: EventDataset) -> None:
    """Raise `DataError` if the value columns are not the model's; one without `value_names` ignores them."""
    wanted = model.value_names
    if wanted is not None and tuple(data.value_names) != tuple(wanted):
        raise DataError(
            f"the data have the value columns {list(data.value_names)}, the model was trained on "
            f"{list(wanted)}; read the data with {argument('values', list(wanted))}"
        )
