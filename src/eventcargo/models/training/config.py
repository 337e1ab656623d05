"""Settings of a training run: its budget, its loss and its mechanics."""

from dataclasses import dataclass

import torch

from eventcargo.config import setting
from eventcargo.errors import ConfigError
from eventcargo.models.training.budget import BudgetConfig
from eventcargo.models.training.losses import LossConfig

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
"""Number types of matrix products; None: the type of the weights."""


@dataclass(frozen=True)
class TrainConfig(BudgetConfig, LossConfig):
    """Settings of a training run."""

    tokens: int = setting(1024, ge=1)
    """positions per batch, over all processes"""
    weight_decay: float = setting(0.01, ge=0)
    """weight decay of linear maps; embeddings, norms and biases have none"""
    clip: float = setting(1.0, gt=0)
    """largest norm of the gradient of a step"""
    held_out: float = setting(0.1, ge=0, lt=1)
    """share of sequences held out to choose the best model; 0: take the last model"""
    checks: int = setting(20, ge=1)
    """number of checks on the held-out sequences"""
    patience: int = setting(10, ge=0)
    """stop after this many checks in a row without a better model; 0: never"""
    trial: int = setting(0, ge=0)
    """steps after which a run with a linear term ends unless the network has begun to lower the label loss on
    the held-out sequences, if there is anything left to lower at all; 0: use the whole budget"""
    save_every: int = setting(200, ge=1)
    """steps between checkpoints of a run with a folder"""
    freeze: bool = False
    """freeze the next-event model after pretraining, while the labels are trained"""
    min_count: int = setting(1, ge=1)
    """event types that occur less often are unknown to the model"""
    accumulate: int = setting(1, ge=1)
    """parts of a batch that are computed one after the other, to save memory"""
    precision: str = "float32"
    """number type of matrix products: float32, or on CUDA bfloat16 or float16"""
    device: str = "cpu"
    """device to train on: cpu, cuda, cuda:1, ..."""
    seed: int = setting(0, ge=0)
    """seed of all random draws"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.freeze and not self.pretrain:
            raise ConfigError("freeze=True leaves the next event untrained; set pretrain above 0")
        if self.precision not in PRECISIONS:
            raise ConfigError(f"precision={self.precision!r}: use {', '.join(PRECISIONS)}")
        if self.precision != "float32" and not self.device.startswith("cuda"):
            raise ConfigError(f"precision={self.precision!r} on device={self.device!r}: it needs CUDA")
