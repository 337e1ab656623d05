"""`--from FOLDER`: a causal language model from elsewhere as the model of the next event."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo.models.huggingface
from eventcargo.errors import ConfigError, argument
from eventcargo.models.huggingface.config import BackboneConfig

if TYPE_CHECKING:
    from eventcargo.events import EventDataset
    from eventcargo.models.huggingface import Backbone

FROM = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="Folder of a causal language model of `transformers`, or of a LoRA adapter of one, as the model "
        "of the next event. It stays as it is; only labels are trained.",
        rich_help_panel=BackboneConfig.panel,
    ),
]


def check_elsewhere(folder: Path | None, config: BackboneConfig, size: str = "") -> None:
    """Refuse options of a model from elsewhere without one, and a size of our own with one."""
    if folder is not None and size not in ("", "small"):
        raise ConfigError(
            f"{argument('size', size)}: the model in {folder} has a size of its own; leave it out"
        )
    if folder is None and config != BackboneConfig():
        given = next(one.name for one in fields(config) if getattr(config, one.name) != one.default)
        raise ConfigError(
            f"{argument(given, getattr(config, given))} is about a model from elsewhere; give its folder by "
            "--from"
        )


def read_elsewhere(folder: Path | None, data: "EventDataset", config: BackboneConfig) -> "Backbone | None":
    """The model in a folder; None without a folder."""
    if folder is None:
        return None
    return eventcargo.models.huggingface.read_backbone(folder, data.event_names, config)
