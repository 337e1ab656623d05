"""Next-event logits of many positions: of the event types that matter, in blocks that stay in the cache.

With tens of thousands of event types, these logits are most of the cost of proposing contexts. Most event
types are too rare to be among the most probable ones whatever the state says, so bounds rule them out first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import vector_norm

from eventcargo.batches import Batch
from eventcargo.models.density import NextEvents, column_blocks
from eventcargo.vocabulary import UNK

if TYPE_CHECKING:
    from eventcargo.models.transformer.model import Transformer

POSITIONS_AT_ONCE = 128
"""Positions whose logits, one column over the vocabulary each, are computed at once."""

STATES_AT_ONCE = 4_096
"""Positions whose states are computed at once."""

FEW = 0.5
"""Largest share of the event types that is worth gathering; of more, all logits are computed."""


@torch.inference_mode()
def next_events(model: "Transformer", batch: Batch, where: NDArray[np.bool_], k: int) -> Iterator[NextEvents]:
    """Next-event logits where the mask is true, block by block; each block overwrites the one before."""
    head = EventHead(model.event_weight, model.event_bias + model.never_next)
    for rows in np.array_split(np.arange(len(where)), max(where.size // STATES_AT_ONCE, 1)):
        states = model.states(batch.rows(rows), for_labels=False)[0]
        yield from head.blocks(states[torch.as_tensor(where[rows], device=states.device)], k)


@dataclass(frozen=True)
class Screened:
    """The ids that can be among the most probable, and the least logits that the others have."""

    ids: Tensor
    floors: Tensor


class EventHead:
    """The weights (ids, D) and biases (ids,) of the next-event head."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight, self._bias = weight, bias[:, None]
        self._memory = weight.new_empty(0)

    def blocks(self, states: Tensor, k: int) -> Iterator[NextEvents]:
        """Logits of states (positions, D): all, or those of the ids that the `k` most probable are among."""
        screened = self.screen(states, k) if 0 < k < FEW * len(self._weight) and len(states) else None
        if screened is None:
            for block in torch.split(states, POSITIONS_AT_ONCE):
                yield NextEvents(self._all(block))
            return
        weight, bias = self._weight[screened.ids], self._bias[screened.ids]
        for block in torch.split(states, POSITIONS_AT_ONCE):
            logits = torch.addmm(bias, weight, block.T).T
            yield NextEvents(logits, screened.ids, screened.floors, partial(self._all, block))

    @torch.inference_mode()
    def _all(self, states: Tensor) -> Tensor:
        """Logits of all ids, in memory that is used again: (positions, ids)."""
        size = len(self._weight) * len(states)
        if size > self._memory.numel():
            self._memory = self._weight.new_empty(size)
        # Event types by row: products of tall weights with few columns are faster than the other way round.
        logits = self._memory[:size].view(len(self._weight), -1)
        for start, stop in column_blocks(logits.T):
            torch.addmm(self._bias[start:stop], self._weight[start:stop], states.T, out=logits[start:stop])
        return logits.T

    def screen(self, states: Tensor, k: int) -> Screened | None:
        """The event types that can be among the `k` most probable of a position; None if they are many.

        With c the mean of the states, |w.h - w.c| <= |w| |h - c| (Cauchy-Schwarz), so one product with c
        bounds the logits of an event type at all positions. At each position, k event types reach the least
        logit of those with the largest w.c + b; what stays below it by its bound is ruled out.
        """
        weight, bias = self._weight[UNK:], self._bias[UNK:, 0]
        norms, centre = vector_norm(weight, dim=1), states.mean(dim=0)
        middle = torch.addmv(bias, weight, centre)
        firsts = middle.topk(k).indices
        least = torch.addmm(bias[firsts, None], weight[firsts], states.T).amin()
        reach = vector_norm(states - centre, dim=1).amax() * norms + self._rounding(states, norms, bias)
        possible = middle + reach >= least
        ids = possible.nonzero()[:, 0] + UNK
        if not k <= len(ids) <= FEW * len(weight):
            return None
        return Screened(ids, (middle - reach)[~possible])

    @staticmethod
    def _rounding(states: Tensor, norms: Tensor, bias: Tensor) -> Tensor:
        """More than rounding can change a logit: n eps / 2 times the sum of the magnitudes of n products."""
        largest = vector_norm(states, dim=1).amax() * norms + bias.abs()
        return largest * (2 * states.shape[1] * torch.finfo(states.dtype).eps)
