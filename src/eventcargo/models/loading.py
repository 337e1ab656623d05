"""Loading a model of any kind from its folder; the module of a kind is imported only to load it."""

from pathlib import Path
from typing import TYPE_CHECKING

from eventcargo.errors import DataError, shown_value
from eventcargo.models.pretrained import model_kind

if TYPE_CHECKING:
    import torch

    from eventcargo.models.density import DensityModel

KINDS = ("counts", "huggingface", "transformer")


def load_model(folder: str | Path, device: "str | torch.device" = "cpu") -> "DensityModel":
    """Load the model that `save_pretrained` wrote to a folder, ready for use."""
    kind = model_kind(Path(folder))
    if kind == "transformer":
        from eventcargo.models.transformer.model import Transformer

        return Transformer.from_pretrained(folder, device)
    if kind == "counts":
        from eventcargo.models.counts import Counts

        return Counts.from_pretrained(folder)
    if kind == "huggingface":
        from eventcargo.models.huggingface.model import HuggingFace

        return HuggingFace.from_pretrained(folder, device)
    raise DataError(
        f"{folder} holds a model of kind {shown_value(kind)}; this release reads {', '.join(KINDS)}"
    )
