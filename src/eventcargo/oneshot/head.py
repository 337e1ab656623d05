"""The event head in parts: next-event logits of many positions, computed where they stay in the cache.

A batch and the positions asked for go in; logits over the whole vocabulary come out, some positions at a
time. With tens of thousands of event types, these logits are what proposals of contexts cost.
"""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch

COLUMNS = 2_048
"""Event types of which logits and exponentials are computed at once on a CPU, so that they stay in the
cache."""


@runtime_checkable
class StatesModel(Protocol):
    """A model whose logits of the next event are a linear map of its states.

    States of many sequences then take one pass, and the map is applied to as many of them as fit the cache.
    """

    def states(self, batch: Batch, for_labels: bool = True) -> tuple[Tensor, Tensor]:
        """States for the next event (B, L, D), and those for labels, which are not used here."""
        ...

    def event_logits(self, states: Tensor) -> Tensor:
        """Logits of the next id from states (positions, D)."""
        ...

    @property
    def event_weight(self) -> Tensor:
        """The linear map: (vocabulary, D)."""
        ...


def column_parts(like: Tensor) -> Iterator[tuple[int, int]]:
    """Where parts of the columns start and stop; elsewhere than on a CPU all are one part."""
    size = like.shape[1]
    step = COLUMNS if like.device.type == "cpu" else size
    return ((start, min(start + step, size)) for start in range(0, size, step))


@torch.inference_mode()
def split_logits(model: StatesModel, batch: Batch, asked: NDArray[np.bool_], size: int) -> Iterator[Tensor]:
    """Next-event logits of one pass, `size` positions at a time, each time in the same memory."""
    states = model.states(batch, for_labels=False)[0]
    states = states[torch.as_tensor(asked, device=states.device)]  # (positions, D)
    weight, bias = model.event_weight, model.event_logits(states.new_zeros(1, states.shape[1]))[0]
    memory = states.new_empty(size, len(weight))
    for some in torch.split(states, size):
        logits = memory[: len(some)]
        for start, stop in column_parts(logits):
            torch.addmm(bias[start:stop], some, weight[start:stop].T, out=logits[:, start:stop])
        yield logits
