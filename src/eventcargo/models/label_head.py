"""Heads from the states of Tf_y to label logits: from the state of one position, or by label queries.

Axes: B sequences, L positions, D width, S sequences of particles, N particles each.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from torch import Tensor, nn

OPEN_AT_FIRST = -2.0
"""Logit of the gates of label queries before training: an event in eight passes."""

Product = Callable[[Tensor], Tensor]
"""From one row of weights per label (labels, D) to its products with states: (labels, N, positions)."""


class LabelHead(nn.Module):
    """A linear map from the state of a position to the logits of chosen labels, initially zero."""

    looks_back = False
    """Whether the logits of a position need the states of all positions before it."""

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_labels, width))
        self.bias = nn.Parameter(torch.zeros(n_labels))

    @property
    def is_zero(self) -> bool:
        """Whether all logits are zero, as before training."""
        return not (bool(self.weight.any()) or bool(self.bias.any()))

    def forward(self, states: Tensor, at: Tensor, chosen: Tensor) -> Tensor:
        """Logits (positions, labels) at the positions where `at` (B, L) is true, from states (B, L, D)."""
        return self.of_rows(states[at], chosen)

    def of_rows(self, states: Tensor, chosen: Tensor) -> Tensor:
        """Logits (positions, labels) of single states (positions, D)."""
        weight, bias = self.weight[chosen], self.bias[chosen]
        if states.is_contiguous():
            return F.linear(states, weight, bias)
        return torch.addmm(bias[:, None], weight, states.T).T  # one column per state: five times as fast

    def of_products(self, product: Product, chosen: Tensor) -> Tensor:
        """Logits (labels, N, positions) by the products of states with rows of weights."""
        return product(self.weight[chosen]).add_(self.bias[chosen, None, None])


class LabelQueries(LabelHead):
    """Each label attends to all events so far by a query of its own, and adds up what they say.

    Attention is by sigmoid gates, not by a softmax: what one event says is not divided by the number of
    events, so a cause counts as much among two hundred events as among two, and its gradient does too.
    """

    looks_back = True

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__(width, n_labels)
        self.query = nn.Parameter(torch.randn(n_labels, width) * width**-0.5)
        self.opening = nn.Parameter(torch.full((n_labels,), OPEN_AT_FIRST))

    def forward(self, states: Tensor, at: Tensor, chosen: Tensor) -> Tensor:
        gates = F.linear(states, self.query[chosen], self.opening[chosen]).sigmoid()  # (B, L, labels)
        said = gates * F.linear(states, self.weight[chosen])
        return said.float().cumsum(1)[at] + self.bias[chosen]

    def of_products(self, product: Product, chosen: Tensor) -> Tensor:
        gates = product(self.query[chosen]).add_(self.opening[chosen, None, None]).sigmoid_()
        said = gates.mul_(product(self.weight[chosen]))
        return said.cumsum(-1).add_(self.bias[chosen, None, None])
