"""Gradients of matrices with one row for each event type, of which a step reaches few.

Such a gradient is sparse: the rows that were looked up, with their values. Dense ones are made anew for each
lookup, and with many event types that takes longer than the layers of a small model. The optimiser sees it
densely all the same, in a buffer that is made once, so what is learnt does not depend on this.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


def clip_gradients(parameters: Iterable[nn.Parameter], most: float) -> Tensor:
    """The norm of all gradients together; where it is above `most`, they are scaled down to it.

    >>> weight = nn.Parameter(torch.zeros(2))
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> clip_gradients([weight], most=1.0).item()
    5.0
    >>> weight.grad
    tensor([0.6000, 0.8000])
    """
    parts = [_values(parameter) for parameter in parameters if parameter.grad is not None]
    norm = nn.utils.get_total_norm(parts)
    factor = (most / (norm + 1e-6)).clamp(max=1)
    for part in parts:
        part.mul_(factor)
    return norm


def _values(parameter: nn.Parameter) -> Tensor:
    """The numbers of a gradient; those of a row that was looked up several times are summed first."""
    assert parameter.grad is not None
    if not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad.values()


class RowAdamW(torch.optim.AdamW):
    """AdamW that takes sparse gradients too and does with them what it does with dense ones.

    >>> table = nn.Embedding.from_pretrained(torch.ones(3, 1), freeze=False, sparse=True)
    >>> table(torch.tensor([1])).sum().backward()
    >>> RowAdamW([{"params": [table.weight]}], lr=0.5, weight_decay=0.0).step()
    >>> table.weight.detach().squeeze(1)
    tensor([1.0000, 0.5000, 1.0000])
    """

    def __init__(self, groups: Iterable[dict[str, Any]], **settings: Any) -> None:
        super().__init__(groups, **settings)
        self._dense: dict[nn.Parameter, Tensor] = {}  # zero between two steps

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step; gradients that were sparse are used up."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        sparse = [p for p in parameters if p.grad is not None and p.grad.is_sparse]
        rows = [self._spread(parameter) for parameter in sparse]
        loss = super().step(closure)
        for parameter, reached in zip(sparse, rows, strict=True):
            self._dense[parameter][reached] = 0
            parameter.grad = None
        return loss

    def _spread(self, parameter: nn.Parameter) -> Tensor:
        """The rows of a sparse gradient, which is replaced by a dense one."""
        assert parameter.grad is not None
        sparse = parameter.grad.coalesce()
        if parameter not in self._dense:
            self._dense[parameter] = torch.zeros_like(parameter)
        rows = sparse.indices()[0]
        self._dense[parameter][rows] = sparse.values()
        parameter.grad = self._dense[parameter]
        return rows
