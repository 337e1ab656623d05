"""Several processes that train one model: each takes its share of every batch, and gradients are summed.

All processes draw the same positions and weights for the whole batch of a step, so that any number of
processes follows the loss curve of one, up to floating-point error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run; `ProcessGroup()` is one process alone."""

    rank: int = 0
    size: int = 1

    @classmethod
    def present(cls) -> "ProcessGroup":
        """The process group that was initialised, or one process alone."""
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size())
        return cls()

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and reports."""
        return self.rank == 0

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace gradients by their sums over all processes."""
        if self.size == 1:
            return
        for parameter in parameters:
            if not parameter.requires_grad:
                continue
            if parameter.grad is None:  # this share of the batch does not reach it
                parameter.grad = torch.zeros_like(parameter)
            if parameter.grad.is_sparse:  # each process has different rows
                parameter.grad = parameter.grad.to_dense()
            dist.all_reduce(parameter.grad)

    def sum(self, value: Tensor) -> Tensor:
        """A value summed over all processes."""
        if self.size > 1:
            dist.all_reduce(value)
        return value

    def broadcast(self, *values: float) -> tuple[float, ...]:
        """The first process's values, in all processes, because clocks and signals differ."""
        if self.size == 1:
            return values
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        shared = torch.tensor(values, dtype=torch.float64, device=device)
        dist.broadcast(shared, src=0)
        return tuple(shared.tolist())

    def broadcast_tensors(self, tensors: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
        """The first process's tensors, in all processes; the others pass None."""
        if self.size == 1:
            assert tensors is not None
            return dict(tensors)
        held: list[Any] = [tensors]
        dist.broadcast_object_list(held, src=0)
        return dict(held[0])
