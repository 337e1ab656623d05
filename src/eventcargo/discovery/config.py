"""The settings of a whole run, and what they mean for each of its stages."""

from dataclasses import dataclass
from typing import Literal

from eventcargo.batches import MARKS
from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError
from eventcargo.fusion import FuseConfig
from eventcargo.models.training.budget import seconds
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.config import SIZES, TransformerConfig, transformer_size
from eventcargo.oneshot.config import ExtractConfig

TRAINING = {"default": 0.7, "fast": 0.6, "paper": 0.5}
"""Share of the time for training, by preset; the paper's phase 1 takes longer."""

TESTING = 0.85
"""Share of the time after which phase 1 looks at no further sequences."""

SIZE_OF = {"default": "small", "fast": "tiny", "paper": "paper"}
CRITERION_OF = {"default": "", "fast": "", "paper": "adaptive"}
PAPER_SHARD = 512
"""Sequences of a shard where each takes long: a run can only be stopped, or be late, between shards."""


@dataclass(frozen=True)
class DiscoverConfig(Settings):
    """Settings of a run from data to report."""

    preset: Literal["default", "fast", "paper"] = "default"
    """default: explicit term and small Transformer, total conditioning, both polarities; fast: a tiny
    Transformer; paper: the paper's models, test and rule, not verified on the data"""
    max_time: str = "30m"
    """bound of the whole run: 90s, 30m, 2h"""
    test: Literal["", "total", "prefix", "both"] = ""
    """test of phase 1: total, prefix or both; empty: the preset's own"""
    criterion: str = ""
    """rule of phase 2; empty: the preset's own"""
    size: str = ""
    """size of the Transformer: tiny, small, base or paper; empty: the preset's own"""
    steps: int = setting(0, ge=0)
    """bound training by steps as well, so that it can be repeated to the bit; 0: by time alone"""
    max_length: int = setting(512, gt=MARKS)
    """positions of the longest sequence; longer ones are cut at their start"""
    seed: int = setting(0, ge=0)
    """number that all random draws follow from"""
    device: str = "cpu"
    """where to compute: cpu, cuda, cuda:1, ..."""
    workers: int = setting(0, ge=0)
    """processes of phase 1; 0: one for each core where it pays. The result does not depend on it"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size and self.size not in SIZES:
            raise ConfigError(f"size={self.size!r}: use {', '.join(SIZES)}")
        seconds(self.max_time)
        for stage in (self.transformer, self.train, self.extract, self.fuse):
            assert stage  # each checks its own settings when it is made

    @property
    def seconds(self) -> float:
        """Seconds the whole run may take."""
        return seconds(self.max_time)

    @property
    def transformer(self) -> TransformerConfig:
        """Size and shape of the Transformer; the paper's preset has no explicit term, whatever its size."""
        changes = {"linear": False} if self.preset == "paper" else {}
        return transformer_size(self.size or SIZE_OF[self.preset], max_length=self.max_length, **changes)

    @property
    def train(self) -> TrainConfig:
        share = f"{max(self.seconds * TRAINING[self.preset], 1):.0f}s"
        return TrainConfig(max_time=share, steps=self.steps, seed=self.seed, device=self.device)

    @property
    def extract(self) -> ExtractConfig:
        asks = self.test and not (self.preset == "paper" and self.test == "prefix")
        if self.preset == "paper" and not asks:
            return ExtractConfig(
                test="prefix", paper=True, shard=PAPER_SHARD, workers=self.workers, seed=self.seed
            )
        return ExtractConfig(test=self.test or "total", workers=self.workers, seed=self.seed)

    @property
    def fuse(self) -> FuseConfig:
        criterion = self.criterion or CRITERION_OF[self.preset] or FuseConfig().criterion
        return FuseConfig(criterion=criterion)  # type: ignore[arg-type]  # it checks

    @property
    def verifies(self) -> bool:
        """Whether the fused edges are tested on the data; the paper's method does not."""
        return self.preset != "paper"
