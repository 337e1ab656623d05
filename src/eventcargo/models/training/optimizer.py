"""The optimiser, and gradients of matrices with one row per event type, of which a step reaches few.

Such a gradient is sparse: the rows that were looked up, with their values. Dense gradients are allocated for
each lookup, which with many event types takes longer than the layers of a small model. The optimiser still
sees a dense gradient, in a buffer that is allocated once, so the result does not depend on this.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from eventcargo.errors import EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.models.base_rates import Rates
from eventcargo.models.focused.term import FocusedTerm
from eventcargo.models.huggingface.backbone import Backbone
from eventcargo.models.huggingface.model import HuggingFace
from eventcargo.models.label_model import LabelModel
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


class RowAdamW:
    """AdamW that also accepts sparse gradients and treats them like dense ones.

    A step is torch's own, but this is no `torch.optim.Optimizer`: making one loads torch's compiler, which
    takes longer than the trial of a small network. Each group may have `params`, `lr` and `weight_decay`.

    >>> table = nn.Embedding.from_pretrained(torch.ones(3, 1), freeze=False, sparse=True)
    >>> table(torch.tensor([1])).sum().backward()
    >>> RowAdamW([{"params": [table.weight]}], lr=0.5, weight_decay=0.0).step()
    >>> table.weight.detach().squeeze(1)
    tensor([1.0000, 0.5000, 1.0000])
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        *,
        lr: float,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.param_groups = [{"lr": lr, "weight_decay": weight_decay, **group} for group in groups]
        self._betas, self._eps = betas, eps
        self._state: dict[nn.Parameter, dict[str, Tensor]] = {}
        self._dense: dict[nn.Parameter, Tensor] = {}  # zero between two steps

    @property
    def _parameters(self) -> list[nn.Parameter]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step; sparse gradients are reset to None."""
        sparse = [p for p in self._parameters if p.grad is not None and p.grad.is_sparse]
        rows = [self._spread(parameter) for parameter in sparse]
        for group in self.param_groups:
            self._step(group)
        for parameter, reached in zip(sparse, rows, strict=True):
            self._dense[parameter][reached] = 0
            parameter.grad = None

    def _step(self, group: dict[str, Any]) -> None:
        reached = [parameter for parameter in group["params"] if parameter.grad is not None]
        states = [self._state.setdefault(parameter, _fresh(parameter)) for parameter in reached]
        means, squares, steps = ([state[name] for state in states] for name in STATE)
        adamw(
            reached,
            [parameter.grad for parameter in reached],
            means,
            squares,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=self._betas[0],
            beta2=self._betas[1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=self._eps,
            maximize=False,
        )

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

    def to_tensors(self) -> dict[str, Tensor]:
        """What it remembers, by parameter number and name."""
        numbered = enumerate(self._state.get(parameter, {}) for parameter in self._parameters)
        return {f"{number}.{name}": value for number, held in numbered for name, value in held.items()}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the memory from `to_tensors` of an optimiser of the same parameters."""
        for number, parameter in enumerate(self._parameters):
            held = {name: tensors[f"{number}.{name}"] for name in STATE if f"{number}.{name}" in tensors}
            if held:
                self._state[parameter] = {name: value.to(parameter.device) for name, value in held.items()}


STATE = ("exp_avg", "exp_avg_sq", "step")
"""What AdamW remembers of a parameter: the means of its gradients and of their squares, and its steps."""


def _fresh(parameter: nn.Parameter) -> dict[str, Tensor]:
    zeros = [torch.zeros_like(parameter), torch.zeros_like(parameter), parameter.new_zeros(())]
    return dict(zip(STATE, zeros, strict=True))


def make_model(
    data: EventDataset,
    vocabulary: Vocabulary,
    rates: Rates,
    config: TrainConfig,
    shape: TransformerConfig,
    linear: LinearTerm | None,
    focused: FocusedTerm | None = None,
    backbone: Backbone | None = None,
) -> LabelModel:
    """An untrained model that starts at the rates of the data; with a `backbone`, that is its Tf_x."""
    terms: dict[str, Any] = {"linear": linear, "focused": focused, "seed": config.seed}
    names = data.label_names
    model: LabelModel
    if backbone is not None:
        queries, longest = shape.label_queries, shape.max_length
        model = HuggingFace(backbone, vocabulary, names, max_length=longest, label_queries=queries, **terms)
    else:
        model = Transformer(shape, vocabulary, names, value_names=data.value_names, **terms)
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


def make_optimizer(model: LabelModel, config: TrainConfig) -> RowAdamW:
    """AdamW without decay of embeddings, the next-event head, norms and biases.

    The rows of rare event types get few gradients, and decay would erode them in between. With a sampled
    softmax a step reaches few rows, so the model is set to give sparse gradients.
    """
    if isinstance(model, Transformer):
        model.embedding.sparse = config.is_sampled(len(model.vocabulary))
    rows = ("embedding", "event_head")
    decayed = [p for name, p in model.named_parameters() if p.ndim > 1 and not name.startswith(rows)]
    others = [p for name, p in model.named_parameters() if p.ndim < 2 or name.startswith(rows)]
    groups = [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return RowAdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98))
