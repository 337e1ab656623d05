"""Size and shape of a Transformer: its config and the named sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, DataError, argument
from eventcargo.vocabulary import MARKS

FEW_WEIGHTS = 1_000_000
"""A network with fewer weights in its blocks runs on one thread: its steps are so short that threads mostly
wait for each other, all the more where other programs use the cores."""


@dataclass(frozen=True)
class TransformerConfig(Settings):
    """Size and shape of a Transformer."""

    width: int = setting(64, ge=1)
    """width of the states; a multiple of twice the number of heads"""
    layers: int = setting(2, ge=1)
    """number of blocks of Tf_x"""
    heads: int = setting(8, ge=1)
    """attention heads per block"""
    feedforward: int = setting(128, ge=1)
    """inner width of the feed-forward part of a block"""
    label_layers: int = setting(0, ge=0)
    """number of blocks of Tf_y, which cross-attend to Tf_x; 0: the label head reads the states of Tf_x"""
    label_queries: bool = False
    """each label attends to all events so far by a query of its own; otherwise it reads the last state"""
    activation: Literal["gelu", "swiglu"] = "swiglu"
    """activation of the feed-forward part: gelu or swiglu"""
    times: Literal["rotary", "additive"] = "rotary"
    """rotary: half of each head rotates with time and so sees time differences; additive: log times only"""
    tied: bool = True
    """use the event embeddings as weights of the next-event head"""
    linear: bool = True
    """fit a linear term first; the Transformer learns what it leaves over"""
    focused: bool = True
    """give labels of which the linear term leaves something over a small network on a few event types"""
    dropout: float = setting(0.0, ge=0, lt=1)
    """dropout rate of the outputs of a block, in training"""
    max_length: int = setting(512, gt=MARKS)
    """most positions of a sequence, BOS and EOS included; longer ones lose their first events"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % (2 * self.heads):
            raise ConfigError(
                f"{argument('width', self.width)}: with {self.heads} heads it must be a multiple of "
                f"{2 * self.heads}"
            )

    @property
    def weights_of_blocks(self) -> int:
        """About how many weights the blocks of Tf_x and Tf_y have."""
        matrices = 3 if self.activation == "swiglu" else 2
        block = 4 * self.width * self.width + matrices * self.width * self.feedforward
        return (self.layers + 2 * self.label_layers) * block

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TransformerConfig":
        """The config with these values; raises `DataError` for an unknown name."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise DataError(f"a Transformer has no setting {unknown[0]!r}; the file is from another release")
        return cls(**values)


SIZES: Mapping[str, TransformerConfig] = {
    "tiny": TransformerConfig(width=32, layers=2, heads=4, feedforward=64),
    "small": TransformerConfig(),
    "base": TransformerConfig(width=256, layers=6, heads=16, feedforward=704, dropout=0.1),
    "paper": TransformerConfig(
        width=600,
        layers=12,
        heads=12,
        feedforward=2400,
        label_layers=3,
        activation="gelu",
        times="additive",
        tied=False,
        linear=False,
        label_queries=True,
        dropout=0.1,
    ),
}
"""Named sizes; `paper` has about 90 M + 15 M parameters for 29,100 event types and 474 labels."""


def transformer_size(name: str, **changes: Any) -> TransformerConfig:
    """The config of a named size, with changes; without a linear term, labels have queries of their own.

    >>> transformer_size("tiny", max_length=64).width
    32
    """
    if name not in SIZES:
        raise ConfigError(f"{argument('size', name)}: use {', '.join(SIZES)}")
    shape = replace(SIZES[name], **changes)
    return replace(shape, label_queries=changes.get("label_queries", not shape.linear))
