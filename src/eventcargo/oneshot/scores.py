"""EventScores: the results of a test, one row per pair of an event and a label.

Columns are flat: padding costs no memory, and a test may score any set of pairs. Positions always index
`Batch.ids`; there are no offsets.
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

    `strength` is in nats and never negative. `effect` is the change that the event makes to the label's
    probability, positive if it promotes the label. Both are means over particles; `effect_sd` is the standard
    deviation of the effect over particles (0 if nothing is drawn). `before` and `entropy` describe the label
    given what the test conditions on, without the event; the information of an edge follows from them.
    `others` are the other members of a set that decides the label only together: the event is scored with
    them hidden.
    """

    rows: NDArray[np.int64]  # row of the batch
    labels: NDArray[np.int64]  # column of the model's labels
    positions: NDArray[np.int64]  # position in Batch.ids
    strength: NDArray[np.float64]
    effect: NDArray[np.float64]
    effect_sd: NDArray[np.float64]
    particles: NDArray[np.int64]  # number of particles used
    before: NDArray[np.float64] | None = None  # mean probability of the label without the event
    entropy: NDArray[np.float64] | None = None  # mean entropy of the label without the event, in nats
    others: NDArray[np.int64] | None = None  # (n, 2) event types that stay hidden; -1: none

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> "EventScores":
        """The selected pairs."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: data[which] for name, data in columns.items() if data is not None})


class OneshotTest(Protocol):
    """A test of events against labels in single sequences."""

    name: str

    def score(
        self, model: DensityModel, batch: Batch, wanted: NDArray[np.bool_], seeds: NDArray[np.int64]
    ) -> EventScores:
        """Scores of all pairs the test covers, for the labels wanted in each sequence: (B, labels).

        `seeds` holds one number per sequence that determines its draws, so the rest of the batch does not
        change the scores of a sequence.
        """
        ...


@dataclass(frozen=True)
class Bernoulli:
    """Labels by their logits: probabilities and log probabilities of yes and no, in float64.

    The logarithms come from logsigmoid, so probabilities near 0 or 1 need no clamping.
    """

    yes: Tensor
    no: Tensor
    log_yes: Tensor
    log_no: Tensor

    @classmethod
    def of(cls, logits: Tensor) -> "Bernoulli":
        x = logits.double()
        return cls(torch.sigmoid(x), torch.sigmoid(-x), F.logsigmoid(x), F.logsigmoid(-x))

    def __getitem__(self, which: tuple[slice, ...]) -> "Bernoulli":
        return Bernoulli(self.yes[which], self.no[which], self.log_yes[which], self.log_no[which])

    def divergence(self, other: "Bernoulli") -> Tensor:
        """KL(self || other) in nats: p log(p / q) + (1 - p) log((1 - p) / (1 - q)); never negative."""
        rise = self.yes * (self.log_yes - other.log_yes)
        fall = self.no * (self.log_no - other.log_no)
        return (rise + fall).clamp(min=0.0)  # rounding alone can make it negative

    @property
    def entropy(self) -> Tensor:
        """-p log p - (1 - p) log(1 - p), in nats."""
        return -(self.yes * self.log_yes + self.no * self.log_no)


def bernoulli_kl(after: Tensor, before: Tensor) -> Tensor:
    """KL(sigmoid(after) || sigmoid(before)) in nats and float64, from logits; never negative.

    >>> bernoulli_kl(torch.tensor(0.0), torch.tensor(0.1).logit()).item()
    0.5108...
    """
    return Bernoulli.of(after).divergence(Bernoulli.of(before))


def bernoulli_entropy(logits: Tensor) -> Tensor:
    """Entropy of a label with these logits in nats and float64.

    >>> bernoulli_entropy(torch.tensor(0.0)).item()
    0.6931...
    """
    return Bernoulli.of(logits).entropy


def probability_change(after: Tensor, before: Tensor) -> Tensor:
    """sigmoid(after) - sigmoid(before) in float64; positive if the event promotes the label.

    >>> probability_change(torch.tensor(0.0), torch.tensor(-100.0)).item()
    0.5
    """
    return torch.sigmoid(after.double()) - torch.sigmoid(before.double())
