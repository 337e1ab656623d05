"""Documents: JSON files of ours with a format and a version; one that is foreign or damaged is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eventcargo.atomic import atomic_file
from eventcargo.errors import DataError


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
