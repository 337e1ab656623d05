"""The settings of a whole run, and what they mean for each of its stages."""

from dataclasses import dataclass
from typing import Literal

from eventcargo.config import Settings, setting
from eventcargo.durations import parse_duration
from eventcargo.errors import ConfigError, argument
from eventcargo.fusion.config import FuseConfig
from eventcargo.memory import parse_memory
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.config import SIZES, TransformerConfig, transformer_size
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.vocabulary import MARKS

TRAINING = {"default": 0.7, "fast": 0.6, "paper": 0.5}
"""Share of the time limit for training, by preset; the paper's phase 1 takes longer."""

TRIAL = 100
"""Steps of training after which the network has to show that it helps."""

ENDS = {"baseline": 0.75, "extract": 0.85, "verify": 0.93, "rules": 0.96, "judge": 0.98}
"""Share of the time limit after which a stage ends, whatever is left of its work."""

SIZE_OF = {"default": "small", "fast": "tiny", "paper": "paper"}
CRITERION_OF = {"default": "", "fast": "", "paper": "adaptive"}
PAPER_SHARD = 256
"""Sequences per shard if each takes long: the time limit of phase 1 is checked between shards."""


@dataclass(frozen=True)
class DiscoverConfig(Settings):
    """Settings of a run from data to report."""

    preset: Literal["default", "fast", "paper"] = "default"
    """default: linear term and small Transformer, total conditioning, both polarities; fast: a tiny
    Transformer; paper: the paper's models, test and criterion, not verified on the data"""
    max_time: str = "30m"
    """time limit of the whole run, such as 90s, 30m or 1h30m"""
    test: Literal["", "total", "prefix", "both"] = ""
    """test of phase 1: total, prefix or both; empty: that of the preset"""
    criterion: str = ""
    """criterion of phase 2: pooled, confident, adaptive, static, union, fpr, bes, caig; empty: by preset"""
    size: str = ""
    """size of the Transformer: tiny, small, base or paper; empty: that of the preset"""
    focused: bool = True
    """give labels of which the linear term leaves something over a small network on a few event types"""
    steps: int = setting(0, ge=0)
    """step limit of training, besides the time limit; a run that reaches it repeats to the bit; 0: none"""
    max_length: int = setting(512, gt=MARKS)
    """longest sequence, in positions; a longer one loses its first events"""
    seed: int = setting(0, ge=0)
    """seed of all random draws"""
    device: str = "cpu"
    """device to compute on: cpu, cuda, cuda:1, ..."""
    workers: int = setting(0, ge=0)
    """worker processes; 0: one per core where that pays; does not change the result"""
    max_memory: str = ""
    """most memory that the run may take, its workers included, such as 4G; empty: no limit; does not change
    the result"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size and self.size not in SIZES:
            raise ConfigError(f"{argument('size', self.size)}: use {', '.join(SIZES)}")
        parse_duration(self.max_time, "max_time")
        parse_memory(self.max_memory)
        for stage in (self.transformer, self.train, self.extract, self.fuse):
            assert stage  # creating its config checks the settings of a stage

    @property
    def seconds(self) -> float:
        """Seconds the whole run may take."""
        return parse_duration(self.max_time, "max_time")

    @property
    def transformer(self) -> TransformerConfig:
        """Size and shape of the Transformer; the preset `paper` has no linear term, whatever its size."""
        changes = {"linear": False} if self.preset == "paper" else {"focused": self.focused}
        return transformer_size(self.size or SIZE_OF[self.preset], max_length=self.max_length, **changes)

    @property
    def train(self) -> TrainConfig:
        share = f"{max(self.seconds * TRAINING[self.preset], 1):.0f}s"
        trial = TRIAL if self.extract.tests == ("total",) else 0  # the prefix test needs the next event
        return TrainConfig(max_time=share, steps=self.steps, trial=trial, seed=self.seed, device=self.device)

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
        return FuseConfig(criterion=criterion)  # type: ignore[arg-type]  # FuseConfig checks it

    @property
    def verifies(self) -> bool:
        """Whether the fused edges are tested on the data; the paper's method does not."""
        return self.preset != "paper"
