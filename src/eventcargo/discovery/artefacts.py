"""Artefacts: what every file of a folder was made from.

artefacts.json keeps for every recorded file its own hash, the hashes of the files it was made from, the
fingerprint of the data, the settings and the knowledge. A file is current until what it was made from
changes. A file written by other means has no origin; it is current unless something it depends on is newer.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eventcargo.errors import DataError
from eventcargo.files import read_document, write_document
from eventcargo.typed import parse_as

ARTEFACTS = "artefacts.json"
FORMAT, FORMAT_VERSION = "eventcargo-artefacts", 1


@dataclass(frozen=True)
class Origin:
    """What a file was made from; `by` is the command or stage that made it."""

    by: str
    content: str
    """hash of the file itself"""
    inputs: Mapping[str, str | None] = field(default_factory=dict)
    """hash of every file it was made from, None if there was none"""
    data: str | None = None
    """fingerprint of the data"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    knowledge: Mapping[str, Any] | None = None


class Artefacts:
    """The origins of the files of a folder; `inputs` names the files that each file is made from.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     artefacts = Artefacts(folder, {"page": ("graph",)})
    ...     for file in ("graph", "page"):
    ...         _ = (folder / file).write_text("first")
    ...     artefacts.record("page", "report")
    ...     before = artefacts.outdated("page")
    ...     _ = (folder / "graph").write_text("second")
    ...     before, artefacts.outdated("page")
    (None, 'another graph')
    """

    def __init__(self, folder: Path, inputs: Mapping[str, Sequence[str]]) -> None:
        self.folder, self._inputs = folder, inputs

    def record(
        self,
        name: str,
        by: str,
        data: str | None = None,
        settings: Mapping[str, Any] | None = None,
        knowledge: Mapping[str, Any] | None = None,
    ) -> None:
        """Record the origin of a file that was just written."""
        inputs = {one: self._hash(one) for one in self._inputs.get(name, ())}
        origin = Origin(by, self._hash(name) or "", inputs, data, settings or {}, knowledge)
        origins = {**self._read(), name: asdict(origin)}
        write_document(self.folder / ARTEFACTS, FORMAT, FORMAT_VERSION, {"artefacts": origins})

    def origin(self, name: str) -> Origin | None:
        """The origin of a file; None if it was not recorded, or another file has taken its place."""
        entry = self._read().get(name)
        if entry is None or entry.get("content") != self._hash(name):
            return None
        try:
            origin: Origin = parse_as(Origin, entry, "its entry")
            return origin
        except DataError as error:
            raise DataError(f"{self.folder / ARTEFACTS} is damaged at {name}: {error}; delete it") from None

    def outdated(self, name: str, data: str | None = None) -> str | None:
        """What has changed since a file was made, in words; None if it is current or not there.

        Without `data`, the data of a file are compared with those of the files it was made from.
        """
        if not (self.folder / name).exists():
            return None
        origin, inputs = self.origin(name), self._inputs.get(name, ())
        if origin is None:
            newer = [one for one in inputs if self._is_newer(one, name)]
        else:
            newer = [one for one in inputs if self._hash(one) not in (None, origin.inputs.get(one))]
        if newer:
            return f"another {newer[0]}"
        known = [data] if data is not None else [self._data(one) for one in inputs]
        own = None if origin is None else origin.data
        return "other data" if own is not None and any(one not in (None, own) for one in known) else None

    def _data(self, name: str) -> str | None:
        origin = self.origin(name)
        return None if origin is None else origin.data

    def _is_newer(self, one: str, than: str) -> bool:
        path = self.folder / one
        return path.exists() and path.stat().st_mtime > (self.folder / than).stat().st_mtime

    def _hash(self, name: str) -> str | None:
        path = self.folder / name
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else None

    def _read(self) -> dict[str, Any]:
        path = self.folder / ARTEFACTS
        if not path.exists():
            return {}
        origins = read_document(path, FORMAT, FORMAT_VERSION, "delete it").get("artefacts")
        if not isinstance(origins, dict) or not all(isinstance(one, dict) for one in origins.values()):
            raise DataError(f"{path} holds no artefacts; delete it")
        return origins
