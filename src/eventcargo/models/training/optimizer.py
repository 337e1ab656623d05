"""The optimiser, and gradients of matrices with one row per event type, of which a step reaches few.

Such a gradient is sparse: the rows that were looked up, with their values. Dense gradients are allocated for
each lookup, which with many event types takes longer than the layers of a small model. The optimiser still
sees a dense gradient, in a buffer that is allocated once, so the result does not depend on this.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from eventcargo.errors import EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.models.base_rates import Rates
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.vocabulary import Vocabulary


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
    """Scale all gradients down to a common norm of `max_norm`, if it is larger; returns the norm before.

    >>> weight = nn.Parameter(torch.zeros(2))
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> clip_gradients([weight], max_norm=1.0).item()
    5.0
    >>> weight.grad
    tensor([0.6000, 0.8000])
    """
    gradients = [_values(parameter) for parameter in parameters if parameter.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(factor)
    return norm


def _values(parameter: nn.Parameter) -> Tensor:
    """The values of a gradient; those of a row that was looked up several times are summed first."""
    assert parameter.grad is not None
    if not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad.values()


class RowAdamW(torch.optim.AdamW):
    """AdamW that also accepts sparse gradients and treats them like dense ones.

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
        """One step; sparse gradients are reset to None."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        sparse = [p for p in parameters if p.grad is not None and p.grad.is_sparse]
        rows = [self._spread(parameter) for parameter in sparse]
        loss = super().step(closure)
        for parameter, reached in zip(sparse, rows, strict=True):
            self._dense[parameter][reached] = 0
            parameter.grad = None
        return loss

    def _spread(self, parameter: nn.Parameter) -> Tensor:
        """Replace a sparse gradient by a dense one and return its rows."""
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
    linear: LinearTerm | None,
) -> Transformer:
    """An untrained model that starts at the rates of the data."""
    model = Transformer(
        shape, vocabulary, data.label_names, value_names=data.value_names, linear=linear, seed=config.seed
    )
    model.start_from(rates.events, rates.labels, rates.time_scale, rates.values)
    absent = np.flatnonzero(data.support == 0)
    if len(absent):
        warnings.warn(
            f"{len(absent):,} of {counted(len(data.label_names), 'label')} "
            f"{'has' if len(absent) == 1 else 'have'} no positive example, the first: "
            f"{data.label_names[absent[0]]!r}; labels without one are kept but never predicted",
            EventCargoWarning,
            stacklevel=2,
        )
        model.never_predict(absent, float(rates.labels[absent[0]]))
    return model.placed(config.device)


def make_optimizer(model: Transformer, config: TrainConfig) -> RowAdamW:
    """AdamW without decay of embeddings, the next-event head, norms and biases.

    The rows of rare event types get few gradients, and decay would erode them in between. With a sampled
    softmax a step reaches few rows, so the model is set to give sparse gradients.
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
