"""Sizes and shapes of a Transformer: its config, and the presets by name."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from eventcargo.batches import MARKS
from eventcargo.errors import ConfigError, DataError


@dataclass(frozen=True)
class TransformerConfig:
    """Size and shape of a Transformer."""

    width: int = 64
    """width of the states; a multiple of twice the heads"""
    layers: int = 2
    """blocks of Tf_x"""
    heads: int = 8
    """attention heads of every block"""
    feedforward: int = 128
    """width inside the feed-forward part of a block"""
    label_layers: int = 0
    """blocks of Tf_y, which read Tf_x by cross-attention; 0: the label head reads Tf_x's states directly"""
    activation: Literal["gelu", "swiglu"] = "swiglu"
    """what stands between the linear maps of the feed-forward part: gelu or swiglu"""
    times: Literal["rotary", "additive"] = "rotary"
    """rotary: half of each head turns with time and so sees time differences; additive: log times only"""
    tied: bool = True
    """the head for the next event uses the embeddings of the events"""
    linear: bool = True
    """training first fits an explicit linear term, and the Transformer learns what that leaves over"""
    dropout: float = 0.0
    """share of a block's results dropped in training"""
    max_length: int = 512
    """positions of the longest sequence, BOS and EOS included; longer ones are cut at their start"""

    def __post_init__(self) -> None:
        for name in ("width", "layers", "heads", "feedforward"):
            _check(self, name, getattr(self, name) >= 1, "use 1 or more")
        _check(self, "label_layers", self.label_layers >= 0, "use 0 or more")
        _check(self, "activation", self.activation in ("gelu", "swiglu"), "use gelu or swiglu")
        _check(self, "times", self.times in ("rotary", "additive"), "use rotary or additive")
        _check(self, "dropout", 0 <= self.dropout < 1, "use 0 to below 1")
        _check(self, "max_length", self.max_length > MARKS, f"use {MARKS + 1} or more")
        even = self.width % (2 * self.heads) == 0
        _check(self, "width", even, f"with {self.heads} heads it must be a multiple of {2 * self.heads}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TransformerConfig":
        """The config with these values; names it does not know are refused."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise DataError(f"a Transformer has no setting {unknown[0]!r}; the file is of another release")
        return cls(**values)


def _check(config: TransformerConfig, name: str, good: bool, allowed: str) -> None:
    if not good:
        raise ConfigError(f"{name}={getattr(config, name)!r}: {allowed}")


PRESETS: Mapping[str, TransformerConfig] = {
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
        dropout=0.1,
    ),
}
"""Named sizes; `paper` has about 90 M + 15 M parameters at 29,100 event types and 474 labels."""


def preset(name: str, **changes: Any) -> TransformerConfig:
    """The settings of a named size, with changes.

    >>> preset("tiny", max_length=64).width
    32
    """
    if name not in PRESETS:
        raise ConfigError(f"no preset {name!r}; choose from {', '.join(PRESETS)}")
    return replace(PRESETS[name], **changes)
