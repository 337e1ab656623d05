"""Files and folders that appear whole or not at all.

Everything is written beside its target under a temporary name, then renamed: a reader never sees half a
file, and an interrupted write leaves the old content in place.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eventcargo.errors import DataError


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
    """Write content, whole or not at all.

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
    """The content of a document of this format and version; `advice` ends what a refusal says."""
    end = f"; {advice}" if advice else ""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}{end}") from None
    if not isinstance(content, dict) or content.pop("format", None) != form:
        raise DataError(f"{path} was not written by eventcargo as {form}{end}")
    found = content.pop("version", None)
    if found != version:
        raise DataError(f"{path} has version {found} of another release, this one reads {version}{end}")
    return content
