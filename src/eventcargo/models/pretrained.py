"""Models and training states on disk: safetensors for tensors, JSON for the rest, nothing pickled.

A model is a folder with config.json, vocabulary.json and model.safetensors. The weights carry their own
checksum and a fingerprint of the other two files, so that damage is noticed and files of different models are
never mixed. A training state is one file, written whole or not at all.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eventcargo.checksums import CHECKSUM, checksum, content_checksum, shown
from eventcargo.errors import DataError, shown_value
from eventcargo.files import atomic_file, parse_json, read_document, write_document
from eventcargo.vocabulary import Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "eventcargo-model"
FORMAT_VERSION = 3


def write_tensors(path: Path, tensors: Mapping[str, "Tensor"], header: Mapping[str, Any]) -> None:
    """Write tensors and a JSON header as one file, atomically."""
    from safetensors.torch import save_file

    own = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    whole = {"header": header, CHECKSUM: _checksum(header, own)}  # one entry: several come in any order
    with atomic_file(path) as target:
        save_file(own, target, metadata={"eventcargo": json.dumps(whole)})


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, "Tensor"]]:
    """Header and tensors of such a file; raises `DataError` if it is missing, truncated or foreign."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as source:
            text = (source.metadata() or {}).get("eventcargo")
            tensors = {name: source.get_tensor(name) for name in source.keys()}  # noqa: SIM118 (no mapping)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; the folder holds no model or is incomplete") from None
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path} is truncated or not a safetensors file: {error}") from None
    if text is None:
        raise DataError(f"{path} was not written by eventcargo; its header is missing")
    whole = parse_json(text, path)
    header = whole.get("header") if isinstance(whole, dict) else None
    if not isinstance(header, dict):
        raise DataError(f"{path} is of another release or program; train again")
    if whole.get(CHECKSUM) != _checksum(header, tensors):
        raise DataError(f"{path} is damaged: its checksum does not fit; train again, or copy it again")
    return header, tensors


def _checksum(header: Mapping[str, Any], tensors: Mapping[str, "Tensor"]) -> str:
    """The checksum of a header and of the names, types, shapes and bytes of tensors."""
    import torch

    code = checksum(content_checksum(header).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        code = checksum(f"{name} {tensor.dtype} {list(tensor.shape)}".encode(), code)
        flat = tensor.reshape(-1)
        if flat.stride() != (1,):  # a number that was expanded
            flat = flat.clone(memory_format=torch.contiguous_format)
        code = checksum(flat.view(torch.uint8).numpy().data, code)
    return shown(code)


def write_model(
    folder: Path, config: Mapping[str, Any], vocabulary: Vocabulary, tensors: Mapping[str, "Tensor"]
) -> None:
    """Write a model's three files; the weights come last and complete the folder."""
    content = {"eventcargo": version("eventcargo"), **config}
    write_document(folder / "config.json", FORMAT, FORMAT_VERSION, content)
    vocabulary.to_json(folder / "vocabulary.json")
    write_tensors(folder / "model.safetensors", tensors, {"fingerprint": _fingerprint(folder)})


def read_model(folder: Path, kind: str) -> tuple[dict[str, Any], Vocabulary, dict[str, "Tensor"]]:
    """Config (without the format's own entries), vocabulary and tensors of a model of this kind."""
    config = _read_config(folder / "config.json", kind)
    vocabulary = Vocabulary.from_json(folder / "vocabulary.json")
    header, tensors = read_tensors(folder / "model.safetensors")
    if header.get("fingerprint") != _fingerprint(folder):
        raise DataError(
            f"{folder}/model.safetensors belongs to another config.json or vocabulary.json; "
            "copy the model's whole folder again"
        )
    return config, vocabulary, tensors


def model_kind(folder: Path) -> str:
    """The kind of model that a folder holds."""
    return str(_read_content(folder / "config.json").get("kind"))


def _read_config(path: Path, kind: str) -> dict[str, Any]:
    content = _read_content(path)
    if content.get("kind") != kind:
        raise DataError(f"{path} describes a model of kind {shown_value(content.get('kind'))}, not {kind!r}")
    own = ("eventcargo", "kind")
    return {name: value for name, value in content.items() if name not in own}


def _read_content(path: Path) -> dict[str, Any]:
    return read_document(path, FORMAT, FORMAT_VERSION, "give the folder of a model trained by this release")


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in ("config.json", "vocabulary.json"):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def taken(tensors: Mapping[str, "Tensor"], prefix: str) -> dict[str, "Tensor"]:
    """The tensors whose names start with a prefix, named without it."""
    return {k.removeprefix(prefix): value for k, value in tensors.items() if k.startswith(prefix)}


def tensors_fingerprint(tensors: Mapping[str, "Tensor"]) -> str:
    """A short text that differs where names or numbers of tensors differ."""
    code = 0
    for name in sorted(tensors):
        numbers = np.ascontiguousarray(tensors[name].detach().cpu().numpy())
        code = zlib.crc32(numbers.tobytes(), zlib.crc32(name.encode(), code))
    return f"{len(tensors)} tensors, {code:08x}"
