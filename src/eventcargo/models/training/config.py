"""The settings of a training run: its budget, its loss, and how it goes about both."""

from dataclasses import dataclass

import torch

from eventcargo.errors import ConfigError
from eventcargo.models.training.budget import BudgetConfig
from eventcargo.models.training.losses import LossConfig

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
"""Kinds of numbers for matrix products; None: as the weights are."""


@dataclass(frozen=True)
class TrainConfig(BudgetConfig, LossConfig):
    """Settings of a training run."""

    tokens: int = 1024
    """positions of a batch, over all processes"""
    weight_decay: float = 0.01
    """decay of the weights of linear maps; embeddings, norms and biases have none"""
    clip: float = 1.0
    """largest norm of a step's gradient"""
    held_out: float = 0.1
    """share of sequences that are not trained on but choose the best model; 0: the last model is taken"""
    checks: int = 20
    """how often a run looks at the held-out sequences"""
    patience: int = 10
    """checks in a row without a better model after which a run stops early; 0: never"""
    save_every: int = 200
    """steps between two checkpoints of a run with a folder"""
    freeze: bool = False
    """once the labels are learnt, the model of the next event is left as pretrain left it"""
    min_count: int = 1
    """event types seen less often are unknown to the model"""
    accumulate: int = 1
    """parts a batch is computed in, one after the other, to save memory"""
    precision: str = "float32"
    """float32, or on CUDA bfloat16 or float16 for the matrix products"""
    device: str = "cpu"
    """where to train: cpu, cuda, cuda:1, ..."""
    seed: int = 0
    """number that all random draws follow from"""

    def __post_init__(self) -> None:
        BudgetConfig.__post_init__(self)
        LossConfig.__post_init__(self)
        for name in ("tokens", "checks", "save_every", "min_count", "accumulate"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: use 1 or more")
        for name in ("weight_decay", "patience", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)}: use 0 or more")
        if not self.clip > 0:
            raise ConfigError(f"clip={self.clip}: use a number above 0")
        if not 0 <= self.held_out < 1:
            raise ConfigError(f"held_out={self.held_out}: use 0 to below 1")
        if self.freeze and not self.pretrain:
            raise ConfigError("freeze=True leaves the next event untrained; set pretrain above 0")
        if self.precision not in PRECISIONS:
            raise ConfigError(f"precision={self.precision!r}: use {', '.join(PRECISIONS)}")
        if self.precision != "float32" and not self.device.startswith("cuda"):
            raise ConfigError(f"precision={self.precision!r} on device={self.device!r}: it needs CUDA")
