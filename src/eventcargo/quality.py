"""Quality: how good a trained model is on held-out sequences, per label; stored in RUN/model/quality.json.

A label is untrusted if its model is not clearly better than the label's base rate: what such a model says
about causes means nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eventcargo.errors import DataError
from eventcargo.files import read_document, write_document
from eventcargo.typed import parse_as

FORMAT, FORMAT_VERSION = "eventcargo-quality", 1
ADVICE = "train the model again"


@dataclass(frozen=True)
class LabelQuality:
    """Figures of one label, given whole held-out sequences; None where undefined."""

    label: str
    support: int  # training sequences with the label
    held_out: int  # held-out sequences with the label
    f1: float | None
    auroc: float | None
    average_precision: float | None
    log_loss: float
    base_log_loss: float
    raw_log_loss: float  # before calibration
    calibration_error: float
    raw_calibration_error: float
    trusted: bool
    reason: str  # why it is untrusted; empty if it is trusted


@dataclass(frozen=True)
class Quality:
    """Figures of all labels, their means, and the perplexity of the next event beside simpler models."""

    labels: tuple[LabelQuality, ...]
    overall: Mapping[str, float | None]
    events: Mapping[str, float]
    training: Mapping[str, Any] = field(default_factory=dict)
    """what the linear term and the network cost, what the network brought, and what was left out"""

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Names of the untrusted labels."""
        return tuple(row.label for row in self.labels if not row.trusted)

    def write(self, path: Path) -> None:
        """Write the figures as JSON, for `read`."""
        write_document(path, FORMAT, FORMAT_VERSION, asdict(self))

    @classmethod
    def read(cls, path: Path) -> "Quality":
        """Read figures from `write`; raises `DataError` for a damaged or foreign file."""
        content = read_document(path, FORMAT, FORMAT_VERSION, ADVICE)
        try:
            quality: Quality = parse_as(cls, content, "its content")
        except DataError as error:
            raise DataError(f"{path} holds no quality figures: {error}; {ADVICE}") from None
        return quality
