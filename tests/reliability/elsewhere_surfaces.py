"""Surfaces of a model from elsewhere: weights, tokenizers, adapters, ids, and what is saved with it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eventcargo import EventDataset, EventSequence
from eventcargo.models.huggingface.backbone import Backbone, read_backbone
from eventcargo.models.huggingface.config import BackboneConfig
from eventcargo.models.loading import load_model
from eventcargo.prediction import predict

from tests.reliability.damage import BYTES, TEXT, damage_json
from tests.reliability.damage_tensors import change_tensor, damage_header
from tests.reliability.surface import FORGED, Surface, Ways, in_files

NAMES = ("E00", "E01", "brake", "Überdruck")
TOKENS = np.array([[3, 4, 6, 5, 2], [3, 7, 2, -1, -1]])

TENSORS: Ways = (*BYTES, damage_header, damage_header, change_tensor, change_tensor, change_tensor)
TREES: Ways = (*TEXT, *[damage_json] * 6)


def _said(backbone: Backbone) -> Any:
    """The ids of a model, and what it makes of some tokens."""
    ids = backbone.ids
    return dict(ids.events), ids.bos, ids.eos, ids.unk, backbone.states(TOKENS).sum((0, 1)).tolist()


def _whole(folder: Path, **settings: str) -> Any:
    torch.manual_seed(0)  # a config may ask for what is drawn
    return _said(read_backbone(folder, NAMES, BackboneConfig(**settings)))


def _saved(folder: Path) -> Any:
    return load_model(folder).fingerprint


def _used(folder: Path) -> Any:
    """What a model says of some sequences of its own event types."""
    model = load_model(folder)
    names = model.vocabulary.event_names
    rows = [
        EventSequence(str(at), names[at : at + 6], tuple(map(float, range(len(names[at : at + 6])))), ())
        for at in range(3)
    ]
    return predict(model, EventDataset.from_sequences(rows)).rows()


def elsewhere_surfaces() -> Iterable[Surface]:
    """All of them."""
    whole, parts, adapter = "elsewhere/whole", "elsewhere/parts", "elsewhere/adapter"
    yield in_files("elsewhere, config", whole, "*config.json", TREES, _whole)
    yield in_files("elsewhere, tokenizer", whole, "tokenizer.json", TREES, _whole)
    yield in_files("elsewhere, weights", whole, "*.safetensors", TENSORS, _whole)
    yield in_files("elsewhere, weights in parts", parts, "*.safetensors", TENSORS, _whole)
    yield in_files("elsewhere, index", parts, "*.index.json", TREES, _whole)
    yield in_files("elsewhere, adapter config", adapter, "adapter_config.json", TREES, _whole)
    yield in_files("elsewhere, adapter", adapter, "*.safetensors", TENSORS, _whole)
    for name in ("vocab.json", "vocab.txt"):
        yield in_files(
            f"elsewhere, {name}", f"elsewhere/{name}", name, TREES if "js" in name else TEXT, _whole
        )
    for option, name, ways in (("ids", "ids.json", TREES), ("codes", "codes.parquet", BYTES)):
        yield in_files(f"elsewhere, {name}", "elsewhere", name, ways, _given(option, name))
    yield in_files("model on another", "hf", "[cvm]*", BYTES, _saved, sealed=True)
    yield in_files("model on another, its files", "hf", "backbone/*/*.[js]*", BYTES, _saved, sealed=True)
    yield in_files("model on another, forged", "hf", "*.json", FORGED, _saved)
    for name in ("hf", "focused"):
        yield in_files(f"model {name}, forged weights", name, "model.safetensors", (change_tensor,), _used)


def _given(option: str, name: str) -> Any:
    return lambda folder: _whole(folder / "whole", **{option: str(folder / name)})
