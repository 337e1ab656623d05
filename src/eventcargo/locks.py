"""Locks on files and folders that the system releases when their process ends, however it ends.

Where the operating system or the storage has no such locks, everybody gets every lock.
"""

import os
import platform
import sys
from pathlib import Path
from typing import IO, Self

from eventcargo.errors import ConfigError

if sys.platform != "win32":  # Windows has no such locks
    import fcntl

IN_USE = ".lock"
"""File, in the folder of a run, that is there and locked while a command writes to the folder."""

LONGEST = 200
"""Bytes that say who holds a lock."""


class FileLock:
    """A lock on a file, held by one process alone, or by several that share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def take(self, *, wait: bool, shared: bool = False) -> bool:
        """Take the lock, if others hold it only after waiting for them; whether it was taken."""
        if sys.platform == "win32":
            return True
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        while True:
            if self._path.is_symlink():
                raise ConfigError(f"{self._path} is a symbolic link, which no lock is; remove it")
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                file = open(self._path, "a+", opener=_not_through_links)  # noqa: SIM115
            except OSError:  # cannot be written: the first real write says so, and what to do
                return True
            try:
                fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return False
            except OSError:  # storage without locks
                file.close()
                return True
            if self._is_at_path(file):
                self._file = file
                return True
            file.close()  # whoever held it has removed it meanwhile

    def _is_at_path(self, file: IO[str]) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def sign(self) -> None:
        """Write into the file who holds the lock."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} on {platform.node()}")
            self._file.flush()

    @property
    def holder(self) -> str:
        """Who signed last."""
        try:
            with self._path.open("rb") as file:
                text = file.read(LONGEST).decode("utf-8", "replace")
        except OSError:  # released at this moment
            return ""
        return text if text.isprintable() else ""

    def release(self) -> None:
        """Release the lock; whoever is the last removes the file."""
        if self._file is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_at_path(self._file):
                self._path.unlink(missing_ok=True)
        except OSError:
            pass  # others share it, or the folder cannot be written any more: the lock goes all the same
        self._file.close()
        self._file = None


def _not_through_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def hold_folder(folder: str | Path, *, shared: bool = False) -> FileLock:
    """Hold the folder of a run until the lock is released; refused if somebody else writes to it.

    Parts of a job array are `shared`: they write to one folder together, but not beside a whole run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as run, hold_folder(run):
    ...     hold_folder(run)
    Traceback (most recent call last):
    eventcargo.errors.ConfigError: ... is in use by process ...: two commands cannot write to one folder at
    once; wait until it ends, or choose another folder
    """
    lock = FileLock(Path(folder) / IN_USE)
    if not lock.take(wait=False, shared=shared):
        raise ConfigError(
            f"{folder} is in use by {lock.holder or 'another process'}: two commands cannot write to one "
            "folder at once; wait until it ends, or choose another folder"
        )
    lock.sign()
    return lock
