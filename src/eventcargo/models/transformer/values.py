"""ValueInput: how numbers other than time (mileage, temperature) enter the Transformer.

Each column gives three inputs per position: its level, its change since the previous event, and whether it is
missing. Level and change are scaled by typical values of the training data and squashed by asinh, which is
linear near 0 and logarithmic far from it, so that neither the unit nor an outlier matters much.
"""

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from torch import Tensor, nn

from eventcargo.models.base_rates import ValueScales

FARTHEST = 1e30
"""Bound of scaled values, far beyond real ones, because one that overflows would spoil all others."""


class ValueInput(nn.Linear):
    """A linear map from raw values (B, L, C), NaN if missing, to the width of the model: (B, L, D).

    >>> values = torch.tensor([[[0.0], [torch.nan]]])
    >>> ValueInput(1, 8).inputs(values).tolist()
    [[[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]
    """

    middle: Tensor
    spread: Tensor
    change: Tensor

    def __init__(self, n_columns: int, width: int) -> None:
        super().__init__(3 * n_columns, width, bias=False)
        self.register_buffer("middle", torch.zeros(n_columns))
        self.register_buffer("spread", torch.ones(n_columns))
        self.register_buffer("change", torch.ones(n_columns))

    @torch.no_grad()
    def measure_by(self, scales: ValueScales) -> None:
        """Set the scales to those of the training data."""
        for name in ("middle", "spread", "change"):
            getattr(self, name).copy_(torch.as_tensor(getattr(scales, name)))

    def forward(self, values: Tensor) -> Tensor:
        return super().forward(self.inputs(values))

    def inputs(self, values: Tensor) -> Tensor:
        """Levels, changes and missing flags, concatenated: (B, L, 3 C)."""
        levels = (values - self.middle) / self.spread  # (B, L, C)
        changes = F.pad(values.diff(dim=1), (0, 0, 1, 0)) / self.change  # (B, L, C); 0 at BOS
        squashed = torch.cat([levels, changes], dim=-1).clamp(-FARTHEST, FARTHEST).asinh()  # (B, L, 2 C)
        return torch.cat([squashed.nan_to_num(nan=0.0), values.isnan().to(values.dtype)], dim=-1)
