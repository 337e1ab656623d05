"""Gradients of matrices with one row for each event type, of which a step reaches few.

Such a gradient is sparse: the rows that were looked up, with their values. Dense ones are made anew for each
lookup, and with many event types that takes longer than the layers of a small model. The optimiser sees it
densely all the same, in a buffer that is made once, so what is learnt does not depend on this.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from eventcargo.errors import EventCargoWarning
from eventcargo.events import EventDataset
from eventcargo.models.base_rates import Rates
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.model import ExplicitTerm, Transformer, TransformerConfig
from eventcargo.vocabulary import Vocabulary


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


def make_model(
    data: EventDataset,
    vocabulary: Vocabulary,
    rates: Rates,
    config: TrainConfig,
    shape: TransformerConfig,
    linear: ExplicitTerm | None,
) -> Transformer:
    """An untrained model that begins at the rates of the data."""
    model = Transformer(
        shape, vocabulary, data.label_names, value_names=data.value_names, linear=linear, seed=config.seed
    )
    model.start_from(rates.events, rates.labels, rates.time_scale, rates.values)
    absent = np.flatnonzero(data.support == 0)
    if len(absent):
        warnings.warn(
            f"{len(absent):,} of {len(data.label_names):,} labels have no positive example, the first: "
            f"{data.label_names[absent[0]]!r}; they are kept and never predicted",
            EventCargoWarning,
            stacklevel=2,
        )
        model.never_predict(absent, float(rates.labels[absent[0]]))
    return model.placed(config.device)


def make_optimizer(model: Transformer, config: TrainConfig) -> RowAdamW:
    """AdamW; embeddings, the head of events, norms and biases are not decayed.

    The rows of rare event types get few gradients, and decay would wear them off in between. Where the
    softmax is sampled, a step reaches few rows, and the model is told to give sparse gradients of them.
    """
    model.embedding.sparse = config.is_sampled(len(model.vocabulary))
    rows = ("embedding", "event_head")
    decayed = [p for name, p in model.named_parameters() if p.ndim > 1 and not name.startswith(rows)]
    others = [p for name, p in model.named_parameters() if p.ndim < 2 or name.startswith(rows)]
    groups = [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return RowAdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98), fused=True)
