"""How far a training run has come: what its checkpoints keep, and what its callback is told."""

import math
from dataclasses import dataclass, field


@dataclass
class State:
    """How far a run has come; stored in its checkpoints as JSON."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    elapsed: float = 0.0
    loss: float = math.nan
    best: float = math.inf
    worse: int = 0
    checked: int = 0
    labels_begun: bool = False
    finished: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each step of a stage; the linear term's steps are labels."""

    step: int
    used: float  # share of the stage
    loss: float  # smoothed training loss
    label_f1: float | None  # of the last check, weighted by support
    tokens_per_second: float
    seconds_left: float
    stage: str = "training"
