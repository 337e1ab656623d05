"""Checksums: what was written is what is read, down to the last bit.

CRC-32 notices every damage of up to 32 neighbouring bits and all but one in four billion of the others. It
guards against disks, networks and editors, not against somebody who forges a file.
"""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eventcargo.errors import DataError

CHUNK_BYTES = 1 << 22

CHECKSUM = "checksum"
"""Entry of a JSON document that holds the checksum of all others."""


def checksum(content: bytes | memoryview, before: int = 0) -> int:
    """The checksum of some bytes, or of these after others.

    >>> checksum(b"ab") == checksum(b"b", checksum(b"a"))
    True
    """
    return zlib.crc32(content, before)


def shown(code: int) -> str:
    """A checksum as files hold it."""
    return f"{code:08x}"


def content_checksum(content: Mapping[str, Any]) -> str:
    """The checksum of JSON content, whatever its layout.

    >>> content_checksum({"a": (1, 2)}) == content_checksum({"a": [1, 2]})
    True
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return shown(checksum(text.encode("utf-8", "surrogatepass")))


def file_checksum(path: Path) -> str:
    """The checksum of a file, read in pieces."""
    code = 0
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            code = checksum(piece, code)
    return shown(code)


def folder_checksums(folder: Path) -> dict[str, str]:
    """The checksums of the files in a folder by their names."""
    return {path.name: file_checksum(path) for path in sorted(folder.iterdir()) if path.is_file()}


def check_file(path: Path, expected: str | None, advice: str) -> None:
    """Refuse a file whose bytes are not those that were written."""
    try:
        code = file_checksum(path)
    except OSError as error:
        raise _unreadable(path, error, advice) from None
    _compare(path, code, expected, advice)


def read_checked(path: Path, expected: str | None, advice: str) -> bytes:
    """The bytes of a file, if they are those that were written."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error, advice) from None
    _compare(path, shown(checksum(content)), expected, advice)
    return content


def _unreadable(path: Path, error: OSError, advice: str) -> DataError:
    return DataError(
        f"{path.parent} is damaged: {path.name} cannot be read: {error.strerror or error}; {advice}"
    )


def _compare(path: Path, code: str, expected: str | None, advice: str) -> None:
    if code != expected:
        raise DataError(
            f"{path.parent} is damaged: {path.name} has the checksum {code}, not {expected!s:.20} as when it "
            f"was written; {advice}"
        )
