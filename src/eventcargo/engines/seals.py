"""Seals: the checksums of finished units and of inputs, by which a resume knows what is damaged.

A seal lies beside what it seals and is written after it, whole or not at all. What has no seal, because its
writer was killed at that moment, is used: its own file was whole by then.
"""

import shutil
from pathlib import Path

from eventcargo.checksums import file_checksum
from eventcargo.errors import DataError, counted, warn
from eventcargo.files import read_document, write_document
from eventcargo.typed import parse_as

SEAL, FORMAT = ".seal.json", ("eventcargo-seal", 1)
"""Ending of the name of a seal, its format and version."""


def seal(path: Path) -> None:
    """Write the checksums of a file, or of all files in a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     unit = Path(name) / "unit"
    ...     _ = unit.write_text("whole")
    ...     seal(unit)
    ...     before = is_damaged(unit)
    ...     _ = unit.write_text("half")
    ...     before, is_damaged(unit)
    (False, True)
    """
    write_document(_seal_of(path), *FORMAT, {"files": _checksums(path)})


def is_damaged(path: Path) -> bool:
    """Whether a file or folder that has a seal is another than the one that was sealed."""
    try:
        content = read_document(_seal_of(path), *FORMAT)
        sealed = parse_as(dict[str, str], content.get("files"), "files")
        return _checksums(path) != sealed
    except (OSError, DataError):
        return True


def discard_damaged(folder: Path) -> None:
    """Delete what is damaged in the folder of a work, with a warning, so that it is done again."""
    sealed = [path.with_name(path.name.removesuffix(SEAL)) for path in sorted(folder.glob(f"*{SEAL}"))]
    damaged = [path for path in sealed if path.exists() and is_damaged(path)]
    for path in damaged:
        _delete(path)
        _delete(_seal_of(path))
    if damaged:
        warn(
            f"{folder} has {counted(len(damaged), 'finished unit')} or inputs that are damaged, such as "
            f"{damaged[0].name}; they are done again"
        )


def _seal_of(path: Path) -> Path:
    return path.with_name(path.name + SEAL)


def _checksums(path: Path) -> dict[str, str]:
    """The checksums of a file, or of all files in a folder by their places in it."""
    if path.is_file():
        return {"": file_checksum(path)}
    files = sorted(one for one in path.rglob("*") if one.is_file())
    return {one.relative_to(path).as_posix(): file_checksum(one) for one in files}


def _delete(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
