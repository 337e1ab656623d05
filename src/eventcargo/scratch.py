"""Scratch: arrays that may be larger than memory.

A large one is a file without a name, mapped into memory: the system keeps of it what it has room for, and its
space is free again once nobody uses the array, however the process ends. It lies in the folder for temporary
files, which the environment variable `TMPDIR` names.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from eventcargo.errors import WriteError

MOST_IN_MEMORY = 1 << 25
"""Bytes up to which an array is an ordinary one."""


def scratch(n: int, kind: DTypeLike) -> NDArray[Any]:
    """An array of n numbers, which are not set yet."""
    size = n * np.dtype(kind).itemsize
    if size <= MOST_IN_MEMORY:
        return np.empty(n, kind)
    with _told(), tempfile.TemporaryFile() as file:
        reserve(file.fileno(), size)
        return np.memmap(file, kind, "r+", shape=(n,))


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether an array is a file, or a part of one, that is mapped into memory.

    >>> is_mapped(np.zeros(3))
    False
    """
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    return base is not None


class Spool:
    """An array that comes in parts.

    >>> spool = Spool(np.int32)
    >>> spool.add(np.array([1, 2])), spool.add(np.array([3]))
    (None, None)
    >>> spool.array().tolist()
    [1, 2, 3]
    """

    def __init__(self, kind: DTypeLike) -> None:
        self._kind, self._size = np.dtype(kind), 0
        self._file = tempfile.SpooledTemporaryFile(MOST_IN_MEMORY)  # noqa: SIM115 (closed by `array`)

    def add(self, part: NDArray[Any]) -> None:
        """Append numbers."""
        with _told():
            self._file.write(np.ascontiguousarray(part, self._kind).data)
        self._size += len(part)

    def array(self) -> NDArray[Any]:
        """All numbers; nothing can be added after that."""
        with self._file as file, _told():
            file.flush()
            if self._size * self._kind.itemsize > MOST_IN_MEMORY:
                return np.memmap(file, self._kind, "r", shape=(self._size,))
            file.seek(0)
            return np.frombuffer(file.read(), self._kind)


def reserve(file: int, size: int) -> None:
    """Give a file its size; a full disk is noticed now, not when a page is written."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place, reason = tempfile.gettempdir(), error.strerror or error
        raise WriteError(
            f"{place} has no room for temporary files: {reason}; free some space there, or let TMPDIR name "
            "another folder"
        ) from None
