"""Text files, plain or gzipped, in any encoding.

`inspect` reads a file once to find its encoding. Readers then get characters (`TextFile.open`) or, for Arrow,
a stream of UTF-8 bytes (`TextFile.arrow_stream`).
"""

import codecs
import gzip
import io
import math
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO, cast

import pyarrow as pa

from eventcargo.errors import DataError, argument, counted, warn

GZIP_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)
CHUNK_BYTES = 1 << 20
MOST_TIMES, AT_LEAST = 250, 1 << 27
"""A gzipped table unpacks to at most so many times its size, or to so many bytes: tables shrink to a tenth or
a fiftieth, a bomb to a thousandth."""

UTF8 = "utf-8-sig"
"""UTF-8 with or without a byte order mark."""

FALLBACK = "cp1252"
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16: its mark starts with that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class TextFile:
    """A text file: its path, its encoding and the number of quotes in it."""

    path: Path
    encoding: str
    n_quotes: int

    def open(self, newline: str = "") -> TextIO:
        """The characters of the file; lines end as they do in the file."""
        return io.TextIOWrapper(cast(Any, open_bytes(self.path)), self.encoding, newline=newline)

    @contextmanager
    def arrow_stream(self) -> Iterator[pa.NativeFile]:
        """The file as UTF-8 bytes, in a stream of Arrow's own.

        Arrow reads ahead in threads of its own and may let go of the stream there, later. A Python file would
        need the interpreter for this; if the program ends at that moment, it is aborted.
        """
        if self.encoding == UTF8:
            file = pa.OSFile(str(self.path))
            yield pa.CompressedInputStream(file, "gzip") if is_gzipped(self.path) else file
            return
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as copy:
            with self.open() as characters:
                shutil.copyfileobj(characters, copy, CHUNK_BYTES)
            copy.flush()
            yield pa.OSFile(copy.name)


class WrongEncodingError(Exception):
    """Bytes that an encoding does not have, with their place."""

    def __init__(self, line: int, byte: int) -> None:
        super().__init__(f"line {line}: byte 0x{byte:02x}")


def is_gzipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading; unpack it if its name ends in .gz."""
    return cast(IO[bytes], gzip.open(path)) if is_gzipped(path) else path.open("rb")


def inspect(path: Path, encoding: str = "") -> TextFile:
    """Find the encoding of a file, unless it is given; refuse bytes that do not fit."""
    try:
        known = _normal(encoding) or _marked(path)
        try:
            return TextFile(path, known or UTF8, _count_quotes(path, known or UTF8))
        except WrongEncodingError as wrong:
            if known:
                raise DataError(
                    f"{path}, {wrong} is not {known.removesuffix('-sig')}; name the file's encoding with "
                    f"{argument('encoding', 'cp1252')}, or another"
                ) from None
            return _fall_back(path, wrong)
    except GZIP_ERRORS as error:
        raise DataError(f"{path} is damaged: {error}; write it again") from None


def _normal(encoding: str) -> str:
    return UTF8 if encoding and codecs.lookup(encoding).name == "utf-8" else encoding


def _marked(path: Path) -> str:
    """The encoding that a byte order mark tells, or ""."""
    with open_bytes(path) as file:
        start = file.read(4)
    return next((name for mark, name in MARKS.items() if start.startswith(mark)), "")


def _count_quotes(path: Path, encoding: str) -> int:
    """The number of quotes; raise WrongEncodingError at the first byte that does not fit."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_quotes, n_lines, n_bytes, content = 0, 0, 0, b"start"
    most = max(MOST_TIMES * path.stat().st_size, AT_LEAST) if is_gzipped(path) else math.inf
    with open_bytes(path) as file:
        while content:
            content = file.read(CHUNK_BYTES)
            try:
                characters = decoder.decode(content, final=not content)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(encoding, "ignore")
                raise WrongEncodingError(
                    n_lines + before.count("\n") + 1, error.object[error.start]
                ) from None
            n_bytes += len(content)
            if n_bytes > most:
                raise DataError(
                    f"{path} unpacks to more than {MOST_TIMES} times its size, as no table does; if it is "
                    "one, unpack it first"
                )
            n_quotes += characters.count('"')
            n_lines += characters.count("\n")
    return n_quotes


def _fall_back(path: Path, not_utf8: WrongEncodingError) -> TextFile:
    """The file as Windows-1252, which Excel writes, with a warning."""
    name = argument("encoding")
    try:
        n_quotes = _count_quotes(path, FALLBACK)
    except WrongEncodingError as wrong:
        raise DataError(
            f"{path}, {not_utf8} is not UTF-8, and {wrong} is not {FALLBACK}; name the encoding with {name}"
        ) from None
    with open_bytes(path) as file:
        n_lines = sum(not line.isascii() for line in file)
    warn(
        f"{path}, {not_utf8} is not UTF-8; read as {FALLBACK}, which matters for {counted(n_lines, 'line')} "
        f"with letters beyond ASCII; if they look wrong, name the encoding with {name}"
    )
    return TextFile(path, FALLBACK, n_quotes)
