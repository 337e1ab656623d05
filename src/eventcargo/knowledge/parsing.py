"""Read knowledge from JSON or YAML; a key that appears twice is refused."""

import json
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml

from eventcargo.errors import ConfigError


def parse(path: Path) -> Any:
    """The content of a `.json`, `.yaml` or `.yml` file; errors do not name the file, the caller does."""
    readers = {".json": _from_json, ".yaml": _from_yaml, ".yml": _from_yaml}
    if path.suffix.lower() not in readers:
        raise ConfigError(f"the ending {path.suffix!r} is unknown; use {', '.join(readers)}")
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text: {error.reason} at byte {error.start}") from None
    return readers[path.suffix.lower()](text)


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_mapping)
    except json.JSONDecodeError as error:
        raise ConfigError(f"is not JSON: {error}") from None


def _from_yaml(text: str) -> Any:
    class Loader(yaml.SafeLoader):
        """A loader that refuses repeated keys."""

    def construct(loader: Any, node: Any) -> dict[Hashable, Any]:
        loader.flatten_mapping(node)
        return _mapping(loader.construct_pairs(node, deep=True))

    Loader.add_constructor("tag:yaml.org,2002:map", construct)
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {' '.join(str(error).split())}") from None


def _mapping(pairs: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    mapping: dict[Hashable, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ConfigError(f"the key {key!r} appears twice; merge the two")
        mapping[key] = value
    return mapping
