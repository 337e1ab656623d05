"""Training of the density models: the linear term first, then the Transformer."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.models.training.checkpoint import was_cut
    from eventcargo.models.training.trainer import Training, train
else:
    __getattr__, __dir__ = lazy_names(__name__, {"checkpoint": "was_cut", "trainer": "Training train"})

__all__ = ["Training", "train", "was_cut"]
