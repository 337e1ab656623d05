"""A causal language model from elsewhere as Tf_x: its files, its ids, and our label heads on its states."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.models.huggingface.backbone import Backbone, read_backbone
    from eventcargo.models.huggingface.config import BackboneConfig
    from eventcargo.models.huggingface.model import HuggingFace
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {"backbone": "Backbone read_backbone", "config": "BackboneConfig", "model": "HuggingFace"},
    )

__all__ = ["Backbone", "BackboneConfig", "HuggingFace", "read_backbone"]
