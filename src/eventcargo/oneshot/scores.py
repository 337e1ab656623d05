"""EventScores: what a test found out about events of sequences and their labels, one row for each such pair.

Flat columns: padding never costs memory, and a test may look at any set of pairs. Positions are those of
`Batch.ids` everywhere; there are no offsets.
"""

from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.models.density import DensityModel


@dataclass(frozen=True)
class EventScores:
    """Scored pairs of an event and a label, sorted by row, label and position.

    `strength` is in nats and not negative; `effect` is the mean change of the label's probability that the
    event makes, positive where it promotes the label. Both are means over particles, `effect_sd` is the
    standard deviation of the effect over them (0 where nothing is drawn). `before` and `entropy` tell of the
    label given what the test conditions on, without the event; the information an edge has follows from them.
    """

    rows: NDArray[np.int64]  # row of the batch
    labels: NDArray[np.int64]  # column of the model's labels
    positions: NDArray[np.int64]  # position in Batch.ids
    strength: NDArray[np.float64]
    effect: NDArray[np.float64]
    effect_sd: NDArray[np.float64]
    particles: NDArray[np.int64]  # draws that were used
    before: NDArray[np.float64] | None = None  # mean probability of the label without the event
    entropy: NDArray[np.float64] | None = None  # mean entropy of the label without the event, in nats

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> "EventScores":
        """Some of the pairs."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: part[which] for name, part in columns.items() if part is not None})


class OneshotTest(Protocol):
    """A test of events against labels in single sequences."""

    name: str

    def score(
        self, model: DensityModel, batch: Batch, wanted: NDArray[np.bool_], seeds: NDArray[np.int64]
    ) -> EventScores:
        """Scores of every pair the test can look at, for the labels wanted in each sequence: (B,
        labels).

        `seeds` has one number for each sequence, from which its draws follow: what stands beside a sequence
        in a batch changes nothing.
        """
        ...


def bernoulli_kl(after: Tensor, before: Tensor) -> Tensor:
    """KL(sigmoid(after) || sigmoid(before)) in nats, in float64, from logits; never negative.

    p log(p / q) + (1 - p) log((1 - p) / (1 - q)) with logarithms of sigmoids: a probability that would round
    to 0 or 1 keeps its distance from it, so that nothing has to be clamped.

    >>> bernoulli_kl(torch.tensor(0.0), torch.tensor(0.1).logit()).item()
    0.5108...
    """
    p, q = after.double(), before.double()
    rise = torch.sigmoid(p) * (F.logsigmoid(p) - F.logsigmoid(q))
    fall = torch.sigmoid(-p) * (F.logsigmoid(-p) - F.logsigmoid(-q))
    return (rise + fall).clamp(min=0.0)  # rounding alone can make it negative


def bernoulli_entropy(logits: Tensor) -> Tensor:
    """Entropy of a label of these logits in nats, in float64.

    >>> bernoulli_entropy(torch.tensor(0.0)).item()
    0.6931...
    """
    p = logits.double()
    return -(torch.sigmoid(p) * F.logsigmoid(p) + torch.sigmoid(-p) * F.logsigmoid(-p))


def probability_change(after: Tensor, before: Tensor) -> Tensor:
    """sigmoid(after) - sigmoid(before), in float64: positive where the event promotes the label.

    >>> probability_change(torch.tensor(0.0), torch.tensor(-100.0)).item()
    0.5
    """
    return torch.sigmoid(after.double()) - torch.sigmoid(before.double())
