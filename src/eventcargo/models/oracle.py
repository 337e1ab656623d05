"""Oracle: the exact conditional probabilities of a simulated process as a DensityModel.

It answers with the probabilities of an `ExactProcess` itself, so that both phases can be tested with a model
that makes no error. It needs no training and uses numpy; its tensors are on the CPU.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.errors import DataError, counted
from eventcargo.models.density import IMPOSSIBLE, Densities, DensityModel
from eventcargo.simulation.exact import ExactProcess
from eventcargo.simulation.simulated import event_names, label_names
from eventcargo.vocabulary import BOS, EOS, MARKS, SPECIAL, UNK, Vocabulary

LOGIT_LIMIT = 30.0
"""Largest label logit. A process without label noise is certain of its labels; sigmoid(30) is 1 in float32
and sigmoid(-30) is 1e-13, so that certainty stays finite."""


class Oracle(DensityModel):
    """A DensityModel that returns the probabilities of `process` itself.

    Before EOS, label probabilities average over all continuations of the sequence; at EOS, they are given the
    whole sequence. P(label | whole sequence) also holds for sequences shorter than the process makes: a label
    is its rule plus noise, whatever the length. At EOS, events may be hidden (UNK): they then match no rule,
    as tests that hide events require. Other event types, and more events than the longest sequence of the
    process, raise `DataError`. After EOS, the next id is EOS with certainty.

    >>> from eventcargo.models import label_probabilities
    >>> from eventcargo.simulation.exact import ExactConfig
    >>> process = ExactProcess.from_config(ExactConfig(label_noise=0.02), seed=1)
    >>> probabilities = label_probabilities(Oracle(process), process.sample(100, seed=1).data)
    >>> np.unique(probabilities.astype(float).round(6)).tolist()
    [0.02, 0.98]
    """

    def __init__(self, process: ExactProcess) -> None:
        self.process = process
        self.vocabulary = Vocabulary(tuple(event_names(len(process.first))))
        self.label_names = tuple(label_names(len(process.rules)))
        self.max_length = process.config.length_max + MARKS

    def densities(
        self,
        batch: Batch,
        *,
        events_at: NDArray[np.bool_] | None = None,
        labels_at: NDArray[np.bool_] | None = None,
        label_columns: NDArray[np.int64] | None = None,
    ) -> Densities:
        """Exact logits at the positions where the masks (B, L) are true."""
        events = None if events_at is None else self._event_logits(batch, events_at)
        labels = None if labels_at is None else self._label_logits(batch, labels_at)
        if labels is not None and label_columns is not None:
            labels = labels[:, label_columns]
        return Densities(_tensor(events), _tensor(labels))

    def _event_logits(self, batch: Batch, where: NDArray[np.bool_]) -> NDArray[np.float64]:
        probabilities = [np.zeros((0, len(self.vocabulary)))]
        for positions, events in self._asked(batch, where):
            probabilities.append(self._over_ids(self.process.next_event_probabilities(events))[positions])
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.concatenate(probabilities)), IMPOSSIBLE)

    def _over_ids(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the process (last column: the end) in the order of ids, plus a row for EOS."""
        over_ids = np.zeros((len(probabilities) + 1, len(self.vocabulary)))
        over_ids[:-1, len(SPECIAL) :] = probabilities[:, :-1]
        over_ids[:-1, EOS] = probabilities[:, -1]
        over_ids[-1, EOS] = 1.0
        return over_ids

    def _label_logits(self, batch: Batch, where: NDArray[np.bool_]) -> NDArray[np.float64]:
        blocks = [np.zeros((0, len(self.label_names)))]
        for positions, events in self._asked(batch, where, may_hide=True):
            at_end = self.process.labels_complete(events)[None]
            if len(positions) == 1 and positions[0] == len(events) + 1:
                blocks.append(at_end)
                continue
            blocks.append(np.concatenate([self.process.label_posteriors(events), at_end])[positions])
        probabilities = np.concatenate(blocks)
        with np.errstate(divide="ignore"):
            return np.clip(np.log(probabilities) - np.log1p(-probabilities), -LOGIT_LIMIT, LOGIT_LIMIT)

    def _asked(
        self, batch: Batch, where: NDArray[np.bool_], may_hide: bool = False
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each row, the requested positions and the numbers of the events up to the last of them."""
        for row in np.flatnonzero(where.any(axis=1)):
            positions = np.flatnonzero(where[row])
            end = may_hide and len(positions) == 1 and batch.ids[row, positions[0]] == EOS
            yield positions, self._events(int(row), batch.ids[row, : positions[-1] + 1], end)

    def _events(self, row: int, ids: NDArray[np.int64], may_hide: bool) -> NDArray[np.int64]:
        """Numbers of the events after BOS, without a final EOS; UNK, if allowed, is one number more."""
        inside = ids[1:-1] if len(ids) > 1 and ids[-1] == EOS else ids[1:]
        if may_hide:
            inside = np.where(inside == UNK, len(self.vocabulary), inside)
        wrong = 1 + np.flatnonzero((inside < len(SPECIAL)) | (inside >= len(self.vocabulary) + may_hide))
        if ids[0] != BOS or len(wrong):
            at = 0 if ids[0] != BOS else int(wrong[0])
            raise DataError(
                f"row {row} of the batch has {self._name(int(ids[at]))} at position {at}; the oracle reads "
                f"BOS, then its {counted(len(self.process.first), 'event type')}, then EOS"
            )
        if len(inside) > self.process.config.length_max:
            raise DataError(
                f"row {row} of the batch has {counted(len(inside), 'event')}; "
                f"this process makes at most {self.process.config.length_max}"
            )
        return inside - len(SPECIAL)

    def _name(self, number: int) -> str:
        return self.vocabulary.decode([number])[0] if 0 <= number < len(self.vocabulary) else f"id {number}"


def _tensor(values: NDArray[np.float64] | None) -> Tensor | None:
    return None if values is None else torch.from_numpy(values.astype(np.float32))
