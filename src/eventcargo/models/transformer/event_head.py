"""Next-event logits of many positions, computed in blocks that stay in the cache.

With tens of thousands of event types, these logits are most of the cost of proposing contexts.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.models.density import column_blocks

if TYPE_CHECKING:
    from eventcargo.models.transformer.model import Transformer

POSITIONS_AT_ONCE = 128
"""Positions whose logits, one column over the vocabulary each, are computed at once."""

STATES_AT_ONCE = 4_096
"""Positions whose states are computed at once."""


@torch.inference_mode()
def blockwise_logits(model: "Transformer", batch: Batch, where: NDArray[np.bool_]) -> Iterator[Tensor]:
    """Next-event logits where the mask is true, block by block; each block overwrites the one before."""
    for rows in np.array_split(np.arange(len(where)), max(where.size // STATES_AT_ONCE, 1)):
        yield from _of_one_pass(model, batch.rows(rows), where[rows])


def _of_one_pass(model: "Transformer", batch: Batch, where: NDArray[np.bool_]) -> Iterator[Tensor]:
    states = model.states(batch, for_labels=False)[0]
    states = states[torch.as_tensor(where, device=states.device)]  # (positions, D)
    weight, bias = model.event_weight, model.event_logits(states.new_zeros(1, states.shape[1])).T
    memory = states.new_empty(len(weight) * min(POSITIONS_AT_ONCE, len(states)))
    for block in torch.split(states, POSITIONS_AT_ONCE):
        # Event types by row: products of tall weights with few columns are faster than the other way round.
        logits = memory[: len(weight) * len(block)].view(len(weight), -1)
        for start, stop in column_blocks(logits.T):
            torch.addmm(bias[start:stop], weight[start:stop], block.T, out=logits[start:stop])
        yield logits.T
