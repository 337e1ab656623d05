"""Training on a model from elsewhere, which stays as it is: what it must know, and what is told of it."""

from dataclasses import replace
from typing import Any

from eventcargo.errors import ConfigError, argument
from eventcargo.events import EventDataset
from eventcargo.models.base_rates import Rates
from eventcargo.models.huggingface.backbone import Backbone
from eventcargo.models.huggingface.coverage import Coverage, next_event_loss
from eventcargo.models.huggingface.model import HuggingFace
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.config import TransformerConfig


def on_backbone(
    config: TrainConfig, shape: TransformerConfig, data: EventDataset, backbone: Backbone
) -> tuple[TrainConfig, TransformerConfig]:
    """The settings of a training that leaves Tf_x as it is; a model that knows too few events is refused."""
    if config.pretrain:
        raise ConfigError(
            f"{argument('pretrain', config.pretrain)} trains the next event, but a model from elsewhere "
            "stays as it is; leave it out"
        )
    coverage = Coverage.of(data, backbone.ids)
    coverage.check(backbone.config.min_coverage, has_unk=backbone.ids.unk is not None)
    longest = min(shape.max_length, backbone.max_length)
    return replace(config, event_weight=0.0, sampled=0), replace(shape, max_length=longest)


def describe(model: HuggingFace, data: EventDataset, rates: Rates) -> dict[str, Any]:
    """What the model knows of the data; warns if its names and ids seem to be mixed up."""
    loss = next_event_loss(model, data, rates.events)
    loss.warn_if_worse()
    coverage = Coverage.of(data, model.backbone.ids).to_dict()
    losses = {"next_event_loss": loss.model, "frequencies_loss": loss.frequencies}
    return {"from": {**coverage, **losses, "max_length": model.max_length}}
