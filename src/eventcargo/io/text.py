"""Open text files, plain or gzipped, and check that they are UTF-8."""

import gzip
import zlib
from pathlib import Path
from typing import IO, cast

from eventcargo.errors import DataError

BOM = b"\xef\xbb\xbf"
GZIP_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)


def is_gzipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading; unpack it if its name ends in .gz."""
    return cast(IO[bytes], gzip.open(path)) if is_gzipped(path) else path.open("rb")


def check_utf8(path: Path) -> None:
    """Refuse a file that is not UTF-8; the message names the first bad line."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}, line {number}: byte 0x{line[error.start]:02x} is not UTF-8; "
                    "convert the file to UTF-8"
                ) from None
