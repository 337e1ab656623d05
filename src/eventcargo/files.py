"""Files and folders that appear whole or not at all, and JSON documents with a format and a version.

Everything is written beside its target under a temporary name, then renamed: a reader never sees half a
file, and an interrupted write leaves the old content in place. Documents of another format or version are
refused by name, and so is resuming work that was begun with other settings.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eventcargo.errors import ConfigError, DataError


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """A temporary path to write to; renamed to `path` when the block ends without an error."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder to fill; renamed to `path`, which must not exist or be empty, at the end."""
    path = Path(path)
    check_new_folder(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_new_folder(path: Path) -> None:
    """Refuse a folder that holds something, before the work that would fill it."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DataError(f"{path} exists already; choose a new folder, or delete it first")


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_document(path: str | Path, form: str, version: int, content: Mapping[str, Any]) -> None:
    """Write JSON with its format and version, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_document(f"{folder}/a.json", "eventcargo-example", 1, {"answer": 42})
    ...     read_document(f"{folder}/a.json", "eventcargo-example", 1)
    {'answer': 42}
    """
    text = json.dumps({"format": form, "version": version, **content}, ensure_ascii=False, indent=1)
    with atomic_file(path) as target:
        target.write_text(text + "\n", "utf-8")


def read_document(path: str | Path, form: str, version: int, advice: str = "") -> dict[str, Any]:
    """The content of a document of this format and version; a refusal ends with `advice`."""
    try:
        text = Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist{_ending(advice)}") from None
    return parse_document(text, path, form, version, advice)


def parse_document(
    text: str | bytes, place: str | Path, form: str, version: int, advice: str = ""
) -> dict[str, Any]:
    """The content of a document's text; `place` is where it was read from."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise DataError(f"{place} is not JSON: {error}{_ending(advice)}") from None
    if not isinstance(content, dict) or content.pop("format", None) != form:
        raise DataError(f"{place} was not written by eventcargo as {form}{_ending(advice)}")
    given = content.pop("version", None)
    if given != version:
        raise DataError(
            f"{place} has version {given} of another release, this one reads {version}{_ending(advice)}"
        )
    return content


def _ending(advice: str) -> str:
    return f"; {advice}" if advice else ""


def check_same_settings(place: str | Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to resume work that was begun with other settings or data; settings may be nested.

    >>> check_same_settings("RUN", {"train": {"seed": 0}}, {"train": {"seed": 1}})
    Traceback (most recent call last):
    eventcargo.errors.ConfigError: RUN was begun with train.seed=0, now it is 1; resume with the same settings
    and data, or choose a new folder
    """
    old, new = _flat(before), _flat(now)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            raise ConfigError(
                f"{place} was begun with {name}={old.get(name)!r}, now it is {new.get(name)!r}; resume with "
                "the same settings and data, or choose a new folder"
            )


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings with the names of their levels joined by dots, as JSON holds their values."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = list(value) if isinstance(value, tuple) else value
    return flat
