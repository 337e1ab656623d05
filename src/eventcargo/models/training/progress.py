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

    @property
    def words(self) -> str:
        """Step, loss, held-out label F1, speed and time left in one line; for the linear term labels done.

        >>> Progress(12, 0.5, 1.25, None, 20_000.0, 90.0).words
        'step 12, loss 1.250, label F1 -, 20,000 tokens/s, 1:30 left'
        """
        minutes, seconds = divmod(round(self.seconds_left), 60)
        if self.stage == "linear term":
            return f"{self.step:,} labels, {minutes}:{seconds:02} left"
        f1 = "-" if self.label_f1 is None else f"{self.label_f1:.3f}"
        speed = f"{self.tokens_per_second:,.0f} tokens/s"
        return (
            f"step {self.step:,}, loss {self.loss:.3f}, label F1 {f1}, {speed}, {minutes}:{seconds:02} left"
        )
