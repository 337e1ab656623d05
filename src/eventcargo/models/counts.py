"""Counts: a DensityModel of smoothed counts, fitted in one pass over the data without training.

It is the honest floor under every trained model. Next event: pairs of neighbours with absolute discounting,
backed off to single events. Labels: naive Bayes on the set of event types seen so far. It uses numpy and
scipy; its tensors are on the CPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.events import EventDataset, Ragged
from eventcargo.models.density import IMPOSSIBLE, Densities, DensityModel
from eventcargo.models.pretrained import read_model, write_model
from eventcargo.vocabulary import BOS, EOS, PAD, Vocabulary

KIND = "counts"

FITTED_AT_ONCE = 2_000_000
"""Events counted at once, so that data larger than memory can be counted."""

IDS_AT_ONCE = 1_024
"""Rows of the label weights computed at once, which bounds memory."""

DISCOUNT = 0.75
"""Subtracted from the count of every pair and of every event type, and given to unseen ones."""

PULLS = tuple(np.geomspace(0.1, 1e6, 15).tolist())
"""Candidates for `pull`: pseudo-events, distributed like single events, added to the pairs of each id."""

ANY_LENGTH = 2**31 - 1
"""Counts limit no sequence."""


def left_out_likelihood(pairs: sp.csr_array, single: NDArray[np.float64], pull: float) -> float:
    """Leave-one-out log-likelihood: each pair is predicted from the counts without one occurrence of it.

    >>> once = sp.csr_array(np.array([[1, 1]]))  # either backs off to its probability as a single event
    >>> round(float(np.exp(left_out_likelihood(once, np.array([0.5, 0.5]), pull=0.1))), 3)
    0.149
    """
    n, k = np.asarray(pairs.sum(axis=1)), np.diff(pairs.indptr)
    n, k = np.repeat(n, k), np.repeat(k, k)
    kinds = k - (pairs.data == 1)
    rest = np.maximum(pairs.data - 1 - DISCOUNT, 0)
    probability = (rest + (pull + DISCOUNT * kinds) * single[pairs.indices]) / (n - 1 + pull)
    return float(pairs.data @ np.log(probability))


@dataclass(frozen=True)
class Tally:
    """Counts over V ids and Y labels.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "x"), (0.0, 1.0), ("bad",))])
    >>> tally = Tally.of(data, Vocabulary(("x",)))
    >>> int(tally.pairs[4, 4]), int(tally.present[4]), int((tally + tally).sequences)
    (1, 1, 2)
    """

    pairs: sp.csr_array  # (V, V): how often an id directly follows another, BOS and EOS included
    joint: sp.csr_array  # (V, Y): sequences with both the id and the label
    present: NDArray[np.int64]  # (V,): sequences with the id
    support: NDArray[np.int64]  # (Y,): sequences with the label
    sequences: int
    known: "KnownTally | None" = None  # None: all labels are known for all sequences

    @classmethod
    def of(cls, data: EventDataset, vocabulary: Vocabulary) -> "Tally":
        """The counts of a data set that fits in memory."""
        ids = vocabulary.lookup(data.event_names)[data.flat()[1]]
        holds = _holds(data.rows.offsets, ids, len(vocabulary))
        carried = data.label_matrix().astype(np.int64)
        return cls(
            pairs=_pairs(data.rows, ids, len(vocabulary)),
            joint=sp.csr_array(holds.T @ carried),
            present=np.asarray(holds.sum(axis=0)),
            support=np.asarray(carried.sum(axis=0)),
            sequences=len(data),
            known=None if data.known is None else KnownTally.of(data, holds),
        )

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.pairs + other.pairs,
            self.joint + other.joint,
            self.present + other.present,
            self.support + other.support,
            self.sequences + other.sequences,
            None if self.known is None or other.known is None else self.known + other.known,
        )

    def to_tensors(self) -> dict[str, Tensor]:
        """All counts by name, for a safetensors file."""
        sparse = {"pairs": self.pairs, "joint": self.joint}
        arrays = {"present": self.present, "support": self.support, "sequences": self.sequences}
        if self.known is not None:
            sparse["known_present"], arrays["known_sequences"] = self.known.present, self.known.sequences
        arrays |= {f"{name}.{part}": getattr(m, part) for name, m in sparse.items() for part in STORED}
        return {name: torch.from_numpy(np.array(values, np.int64)) for name, values in arrays.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], n_ids: int, n_labels: int) -> "Tally":
        """The counts restored from `to_tensors`; raises `DataError` for other tensors."""
        try:
            arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
            pairs, joint = (
                _sparse(arrays, "pairs", (n_ids, n_ids)),
                _sparse(arrays, "joint", (n_ids, n_labels)),
            )
            present, support, sequences = (arrays[name] for name in ("present", "support", "sequences"))
            if (present.shape, support.shape, sequences.shape) != ((n_ids,), (n_labels,), ()):
                raise ValueError(f"{len(present)} ids and {len(support)} labels")
            known = None
            if "known_sequences" in arrays:
                known_present = _sparse(arrays, "known_present", (n_ids, n_labels))
                known = KnownTally(known_present, arrays["known_sequences"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"no counts of {n_ids:,} ids and {n_labels:,} labels: {error}") from None
        return cls(pairs, joint, present, support, int(sequences), known)


@dataclass(frozen=True)
class KnownTally:
    """Counts of the sequences for which each of Y labels is known."""

    present: sp.csr_array  # (V, Y): those with the id
    sequences: NDArray[np.int64]  # (Y,)

    @classmethod
    def of(cls, data: EventDataset, holds: sp.csr_array) -> "KnownTally":
        known = sp.csr_array(data.known_matrix(), dtype=np.int64)
        return cls(sp.csr_array(holds.T @ known), data.n_known)

    def __add__(self, other: "KnownTally") -> "KnownTally":
        return KnownTally(self.present + other.present, self.sequences + other.sequences)


class Counts(DensityModel):
    """Next events from pairs of neighbours, labels from the event types seen so far.

    P(b | a) = (max(n_ab - d, 0) + (m + d k_a) P(b)) / (n_a + m), for n_ab pairs, n_a in total, and k_a
    distinct ids after a; d is DISCOUNT, and m (`pull`) maximises the leave-one-out likelihood, so that pairs
    do no harm where order says nothing. P(b) is discounted likewise toward the uniform distribution. At EOS,
    which nothing follows, the result is P(b).

    The log-odds of a label start at its prior and change by a fixed weight at the first occurrence of each
    event type; at EOS, absent event types count as well. A weight compares each cell of the table (event type
    present or not, label or not) with its expectation under independence, `smoothing` sequences added to
    both, so that rare event types have hardly any weight, and a label without an example has none.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "y"), (0.0, 1.0), ("bad",))])
    >>> Counts.fit(data)
    Counts: 1 sequence, 2 event types, 3 pairs, 1 label
    """

    def __init__(
        self,
        tally: Tally,
        vocabulary: Vocabulary,
        label_names: tuple[str, ...],
        smoothing: float = 5.0,
    ) -> None:
        if not smoothing > 0 or not np.isfinite(smoothing):
            raise ConfigError(f"smoothing={smoothing}: use a number above 0; the default is 5")
        self.tally, self.vocabulary, self.label_names = tally, vocabulary, label_names
        self.smoothing, self.max_length = smoothing, ANY_LENGTH
        self._count_events()
        self._weigh_labels()

    @classmethod
    def fit(
        cls,
        data: EventDataset,
        vocabulary: Vocabulary | None = None,
        smoothing: float = 5.0,
    ) -> "Counts":
        """The counts of a data set; the vocabulary defaults to all its event types."""
        if len(data) == 0:
            raise DataError("0 sequences; counts need at least 1")
        known = Vocabulary.from_dataset(data) if vocabulary is None else vocabulary
        tally = reduce(add, (Tally.of(chunk, known) for chunk in data.parts(FITTED_AT_ONCE)))
        return cls(tally, known, data.label_names, smoothing)

    def _count_events(self) -> None:
        """Compute the distribution of single events, the shares of pairs, and the mass left after each id."""
        pairs = self.tally.pairs
        single = np.asarray(pairs.sum(axis=0), np.float64)
        spread = DISCOUNT * (single > 0).sum() / (len(single) - 2)
        self._single = (np.maximum(single - DISCOUNT, 0) + spread) / single.sum()
        self._single[[PAD, BOS]] = 0.0
        self.pull = max(PULLS, key=lambda m: left_out_likelihood(pairs, self._single, m))
        n, k = np.asarray(pairs.sum(axis=1)), np.diff(pairs.indptr)
        self._left = (self.pull + DISCOUNT * k) / (n + self.pull)
        self._share = (pairs.data - DISCOUNT) / (np.repeat(n, k) + self.pull)

    def _weigh_labels(self) -> None:
        """Compute what seeing each id, and at the end not seeing it, adds to each label's log-odds."""
        shape = (len(self.vocabulary), len(self.label_names))
        self._seen, self._gain = np.empty(shape, np.float32), np.empty(shape, np.float32)
        support = self.tally.support
        self._prior = np.log(support + 0.5) - np.log(self._sequences - support + 0.5)
        self._at_end = self._prior.copy()
        for start in range(0, shape[0], IDS_AT_ONCE):
            block = slice(start, start + IDS_AT_ONCE)
            seen, unseen = self._weights(block)
            self._seen[block], self._gain[block] = seen, seen - unseen
            self._at_end += unseen.sum(axis=0)

    def _weights(self, ids: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights of some ids where they occur and where they do not: (ids, Y) each."""
        both = self.tally.joint[ids].toarray().astype(np.float64)
        present, support = self._present(ids), self.tally.support[None]
        expected = present * support / np.maximum(self._sequences, 1)
        rest = self._sequences - support
        seen = self._lift(both, expected) - self._lift(present - both, present - expected)
        unseen = self._lift(support - both, support - expected)
        return seen, unseen - self._lift(rest - present + both, rest - present + expected)

    @property
    def _sequences(self) -> NDArray[np.int64] | int:
        """The sequences for which labels are known."""
        return self.tally.sequences if self.tally.known is None else self.tally.known.sequences

    def _present(self, ids: slice) -> NDArray[np.int64]:
        """Of these, the ones with some ids: (ids, Y), or (ids, 1) if all labels are known."""
        if self.tally.known is None:
            return self.tally.present[ids, None]
        return self.tally.known.present[ids].toarray()

    def _lift(self, observed: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(observed + self.smoothing) - np.log(expected + self.smoothing)

    def densities(
        self,
        batch: Batch,
        *,
        events_at: NDArray[np.bool_] | None = None,
        labels_at: NDArray[np.bool_] | None = None,
        label_columns: NDArray[np.int64] | None = None,
    ) -> Densities:
        """Logits at the positions where the masks (B, L) are true."""
        columns = np.arange(len(self.label_names)) if label_columns is None else label_columns
        events = None if events_at is None else self._event_logits(batch.ids[events_at])
        labels = None if labels_at is None else self._label_logits(batch, labels_at, columns)
        return Densities(
            None if events is None else torch.from_numpy(events),
            None if labels is None else torch.from_numpy(labels),
        )

    def _event_logits(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """log P(next id | id): (positions, V); the logarithm over V is taken once, not per row."""
        pairs = self.tally.pairs
        with np.errstate(divide="ignore"):
            single = np.maximum(np.log(self._single), IMPOSSIBLE).astype(np.float32)
        logits = np.add.outer(np.log(self._left[ids]).astype(np.float32), single)
        stored = Ragged(pairs.indptr[ids].astype(np.int64), pairs.indptr[ids + 1].astype(np.int64))
        at, after = np.repeat(np.arange(len(ids)), stored.lengths), stored.gather(pairs.indices)
        share = stored.gather(self._share)
        logits[at, after] = np.log(share + self._left[ids][at] * self._single[after])
        return logits

    def _label_logits(
        self, batch: Batch, where: NDArray[np.bool_], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        is_end = batch.ids == EOS
        logits = np.empty((int(where.sum()), len(columns)), np.float32)
        at_end = is_end[where]
        logits[~at_end] = self._given_prefix(batch.ids, where & ~is_end, columns)
        logits[at_end] = self._given_all(batch.ids, where & is_end, columns)
        return logits

    def _given_prefix(
        self, ids: NDArray[np.int64], where: NDArray[np.bool_], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Prior plus the weights of the event types up to each position: (positions, Y)."""
        rows = np.flatnonzero(where.any(axis=1))
        steps = np.zeros((len(rows), ids.shape[1], len(columns)), np.float32)
        row, position = _first_occurrences(ids[rows])
        steps[row, position] = self._seen[ids[rows[row], position][:, None], columns]
        np.cumsum(steps, axis=1, out=steps)
        return self._prior[columns] + steps[where[rows]]

    def _given_all(
        self, ids: NDArray[np.int64], where: NDArray[np.bool_], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Prior plus the weights of all event types, absent ones included: (rows, Y)."""
        rows = np.flatnonzero(where.any(axis=1))
        row, position = _first_occurrences(ids[rows])
        gains = self._gain[ids[rows[row], position][:, None], columns]
        adds = sp.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(rows), len(row)))
        return self._at_end[columns] + adds @ gains

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, vocabulary.json and model.safetensors, replacing an earlier model."""
        header = {"kind": KIND, "label_names": list(self.label_names), "smoothing": self.smoothing}
        write_model(Path(folder), header, self.vocabulary, self.tally.to_tensors())

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "Counts":
        """Load a model from `save_pretrained`; raises `DataError` for a truncated or foreign folder."""
        header, vocabulary, tensors = read_model(Path(folder), KIND)
        if set(header) != {"label_names", "smoothing"}:
            raise DataError(
                f"{folder}/config.json has {sorted(header)}; counts have label_names and smoothing"
            )
        names = tuple(header["label_names"])
        try:
            tally = Tally.from_tensors(tensors, len(vocabulary), len(names))
        except DataError as error:
            raise DataError(f"{folder}/model.safetensors is damaged: {error}") from None
        return cls(tally, vocabulary, names, header["smoothing"])

    def __repr__(self) -> str:
        return (
            f"Counts: {counted(self.tally.sequences, 'sequence')}, "
            f"{counted(len(self.vocabulary.event_names), 'event type')}, "
            f"{counted(self.tally.pairs.nnz, 'pair')}, {counted(len(self.label_names), 'label')}"
        )


def _first_occurrences(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and positions of the first occurrence of each id in its row, row by row."""
    keys = ids + (ids.max(initial=0) + 1) * np.arange(len(ids))[:, None]
    first = np.sort(np.unique(keys, return_index=True)[1])
    return first // max(ids.shape[1], 1), first % max(ids.shape[1], 1)


STORED = ("data", "indices", "indptr")
"""The three arrays of a sparse matrix."""


def _holds(offsets: NDArray[np.int64], ids: NDArray[np.int64], n_ids: int) -> sp.csr_array:
    """Which ids occur in which sequence, as 0 and 1: (sequences, V)."""
    # Copy the ids: the matrix sorts its columns in place, and counting pairs needs their order.
    parts = (np.ones(len(ids), np.int64), ids.copy(), offsets)
    matrix = sp.csr_array(parts, shape=(len(offsets) - 1, n_ids))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _pairs(rows: Ragged, ids: NDArray[np.int64], n_ids: int) -> sp.csr_array:
    """How often each id directly follows each other one: (V, V)."""
    ends = rows.offsets[1:] + 2 * np.arange(1, len(rows.starts) + 1) - 1
    line = np.full(len(ids) + 2 * len(ends), PAD, np.int64)
    line[ends] = EOS
    line[ends - rows.lengths - 1] = BOS
    line[line == PAD] = ids
    before, after = line[:-1], line[1:]
    real = before != EOS
    ones = np.ones(int(real.sum()), np.int64)
    return sp.csr_array(sp.coo_array((ones, (before[real], after[real])), shape=(n_ids, n_ids)))


def _sparse(arrays: Mapping[str, NDArray[np.int64]], name: str, shape: tuple[int, int]) -> sp.csr_array:
    matrix = sp.csr_array(tuple(arrays[f"{name}.{part}"] for part in STORED), shape=shape)
    matrix.check_format(full_check=True)
    return matrix
