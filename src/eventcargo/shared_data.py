"""The data set of a work, saved once beside all works that read it; their workers map it into memory."""

import zlib
from pathlib import Path

from eventcargo.errors import DataError
from eventcargo.events import EventDataset


def share_data(data: EventDataset, home: Path) -> None:
    """Save a data set to the folder of all works, unless it is there."""
    path = _path(data.fingerprint, home)
    try:
        if not path.exists():
            data.save(path)
    except (OSError, DataError):
        if not path.exists():  # or else another driver was quicker
            raise


def shared_data(fingerprint: str, home: Path) -> EventDataset:
    """The data set with this fingerprint that was saved there."""
    try:
        return EventDataset.load(_path(fingerprint, home))
    except DataError as error:
        raise DataError(f"{error}; or delete {home}, and what it holds is done again on resume") from None


def _path(fingerprint: str, home: Path) -> Path:
    return home / f"data-{zlib.crc32(fingerprint.encode()):08x}"
