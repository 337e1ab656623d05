"""Read knowledge, or options, from JSON, YAML or TOML; a key that appears twice is refused.

YAML is read as names alone: its numbers, dates and tags are refused, and its aliases are bounded, so that a
small file cannot grow without end. Of options, numbers, dates and flags are read as the text that stands in
the file.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from eventcargo.errors import ConfigError, shown_value

MOST_NODES = 200_000
"""Names, lists and mappings of a file once its aliases are written out."""

YAML = "tag:yaml.org,2002:"
NULL, MERGE = f"{YAML}null", f"{YAML}merge"
Plain = Mapping[type[yaml.Node], tuple[str, ...]]
PLAIN: Plain = {
    yaml.ScalarNode: (f"{YAML}str", NULL),
    yaml.SequenceNode: (f"{YAML}seq",),
    yaml.MappingNode: (f"{YAML}map",),
}
"""The tags of nodes that are names, lists and mappings."""

VALUES = tuple(f"{YAML}{kind}" for kind in ("str", "null", "int", "float", "bool", "timestamp"))
WITH_VALUES: Plain = {**PLAIN, yaml.ScalarNode: VALUES}
"""The same with numbers, flags and dates."""

DEEP = "is nested too deeply; use names and lists of names"


def parse(path: Path, values: bool = False) -> Any:
    """The content of a `.json`, `.yaml` or `.yml` file; errors do not name the file, the caller does.

    With `values`, numbers, dates and flags are allowed and read as text, and the file may be `.toml`.
    """
    readers: dict[str, Callable[[str], Any]]
    readers = {".json": _from_json, ".yaml": _from_yaml, ".yml": _from_yaml}
    if values:
        yaml_values = partial(_from_yaml, plain=WITH_VALUES)
        readers = {
            ".json": _texts_of_json,
            ".yaml": yaml_values,
            ".yml": yaml_values,
            ".toml": _texts_of_toml,
        }
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
    except RecursionError:
        raise ConfigError(DEEP) from None
    except ConfigError:
        raise
    except ValueError:
        raise ConfigError("has a number with thousands of digits; use names") from None


def _texts_of_json(text: str) -> Any:
    return _as_texts(_from_json(text))


def _texts_of_toml(text: str) -> Any:
    try:
        return _as_texts(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(DEEP) from None
    except ValueError:
        raise ConfigError("has a number with thousands of digits; use names") from None


def _as_texts(content: Any) -> Any:
    """The content of a file with its numbers, dates and flags as text."""
    if isinstance(content, dict):
        return {name: _as_texts(value) for name, value in content.items()}
    if isinstance(content, list):
        return [_as_texts(value) for value in content]
    if isinstance(content, bool):
        return "true" if content else "false"
    return content if content is None or isinstance(content, str) else str(content)


def _from_yaml(text: str, plain: "Plain | None" = None) -> Any:
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        return None if node is None else _Nodes(plain or PLAIN).content(node)
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(DEEP) from None


class _Nodes:
    """The nodes of a YAML file as names, lists and mappings; what an alias stands for is made once."""

    def __init__(self, plain: "Plain") -> None:
        self._plain = plain
        self._made: dict[yaml.Node, tuple[Any, int]] = {}
        self._open: set[yaml.Node] = set()

    def content(self, node: yaml.Node) -> Any:
        return self._sized(node)[0]

    def _sized(self, node: yaml.Node) -> tuple[Any, int]:
        """The content of a node, and its number of nodes with all aliases written out."""
        if node not in self._made:
            if node in self._open:
                raise ConfigError(f"{_place(node)} contains itself; write the names out")
            self._open.add(node)
            self._made[node] = self._make(node)
            self._open.remove(node)
            if self._made[node][1] > MOST_NODES:
                raise ConfigError(
                    f"{_place(node)} has more than {MOST_NODES:,} names once its aliases are written out; "
                    "use patterns"
                )
        return self._made[node]

    def _make(self, node: yaml.Node) -> tuple[Any, int]:
        if node.tag not in self._plain[type(node)]:
            kind = node.tag.removeprefix(YAML)
            raise ConfigError(
                f"{_place(node)} has {shown_value(node.value, 60)}, which YAML reads as {kind}, which is not "
                "a name; put names and patterns in quotes"
            )
        if isinstance(node, yaml.SequenceNode):
            sized = [self._sized(one) for one in node.value]
            return [content for content, _ in sized], 1 + sum(size for _, size in sized)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        return (None if node.tag == NULL else node.value), 1

    def _mapping(self, node: yaml.MappingNode) -> tuple[dict[Any, Any], int]:
        pairs, merged, size = [], dict[Any, Any](), 1
        for key, value in node.value:
            content, n_value = self._sized(value)
            size += n_value
            if key.tag == MERGE:
                for one in content if isinstance(content, list) else [content]:
                    merged = {**_merged(one, key), **merged}
                continue
            name, n_key = self._sized(key)
            size += n_key
            pairs.append((name, content))
        return merged | _mapping(pairs), size


def _merged(content: Any, key: yaml.Node) -> dict[Any, Any]:
    if not isinstance(content, dict):
        raise ConfigError(f"{_place(key)} merges {shown_value(content, 60)}, which is not a mapping")
    return content


def _place(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _mapping(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise ConfigError(f"the key {shown_value(key, 60)} is not a name; put names in quotes")
        if key in mapping:
            raise ConfigError(f"the key {shown_value(key)} appears twice; merge the two")
        mapping[key] = value
    return mapping
