"""Settings of a training run: its budget, its loss and its mechanics."""

from dataclasses import dataclass

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, argument
from eventcargo.models.training.budget import BudgetConfig

PRECISIONS = ("float32", "bfloat16", "float16")
"""Number types of matrix products; float32 is that of the weights."""


@dataclass(frozen=True)
class LossConfig(Settings):
    """Weights and shares of the parts of the loss."""

    event_weight: float = setting(1.0, ge=0)
    """weight of the next-event loss relative to the label loss; 0: do not train the next event"""
    event_share: float = setting(0.5, ge=0, le=1)
    """share of positions at which a step predicts the next event"""
    sampled: int = setting(1024, ge=0)
    """event types sampled for the softmax of a step if the vocabulary has over twice as many; 0: use all"""
    prefix_share: float = setting(1.0, ge=0, le=1)
    """share of positions before the end at which a step predicts the labels"""
    end_weight: float = setting(0.5, ge=0, le=1)
    """share of the label loss at the end, where the whole sequence is known"""
    hidden_share: float = setting(0.05, ge=0, le=1)
    """share of a sequence's event types that a step hides (makes unknown), in every other sequence, so that
    the model learns to read sequences with hidden events"""
    pos_weight: float = setting(1.0, gt=0)
    """weight of a present label; it multiplies the odds of all labels, so values other than 1 trade
    calibration for recall"""
    unlabelled: bool = False
    """the labels of sequences without any label are unknown, and these train the next event only; otherwise
    they are negative examples of every label"""

    def is_sampled(self, n_ids: int) -> bool:
        """Whether the softmax over `n_ids` ids is sampled.

        >>> LossConfig(sampled=10).is_sampled(20), LossConfig(sampled=10).is_sampled(21)
        (False, True)
        """
        return 0 < 2 * self.sampled < n_ids


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
            raise ConfigError(
                f"{argument('freeze', True)} leaves the next event untrained; set "
                f"{argument('pretrain')} above 0"
            )
        if self.precision not in PRECISIONS:
            raise ConfigError(f"{argument('precision', self.precision)}: use {', '.join(PRECISIONS)}")
        if self.precision != "float32" and not self.device.startswith("cuda"):
            raise ConfigError(
                f"{argument('precision', self.precision)} on {argument('device', self.device)}: it needs CUDA"
            )
