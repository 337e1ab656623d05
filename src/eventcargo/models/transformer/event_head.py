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
from eventcargo.models.density import POSITIONS_AT_ONCE, column_blocks

if TYPE_CHECKING:
    from eventcargo.models.transformer.model import Transformer

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
    weight, bias = model.event_weight, model.event_logits(states.new_zeros(1, states.shape[1]))[0]
    memory = states.new_empty(POSITIONS_AT_ONCE, len(weight))
    for block in torch.split(states, POSITIONS_AT_ONCE):
        logits = memory[: len(block)]
        for start, stop in column_blocks(logits):
            torch.addmm(bias[start:stop], block, weight[start:stop].T, out=logits[:, start:stop])
        yield logits
