"""Loading a model of any kind from its folder."""

from pathlib import Path

import torch

from eventcargo.errors import DataError
from eventcargo.models.counts import Counts
from eventcargo.models.density import DensityModel
from eventcargo.models.huggingface import HuggingFace
from eventcargo.models.pretrained import model_kind
from eventcargo.models.transformer.model import Transformer

KINDS = ("counts", "huggingface", "transformer")


def load_model(folder: str | Path, device: str | torch.device = "cpu") -> DensityModel:
    """Load the model that `save_pretrained` wrote to a folder, ready for use."""
    kind = model_kind(Path(folder))
    if kind == "transformer":
        return Transformer.from_pretrained(folder, device)
    if kind == "counts":
        return Counts.from_pretrained(folder)
    if kind == "huggingface":
        return HuggingFace.from_pretrained(folder, device)
    raise DataError(f"{folder} holds a model of kind {kind!r}; this release reads {', '.join(KINDS)}")
