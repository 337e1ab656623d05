"""The largest memory of a process over a stretch of work, without files that are mapped into it."""

import threading

from eventcargo.memory import PROC

EVERY = 0.02
"""Seconds between two looks."""


class Peak:
    """Watches this process, without those that it started, within a block.

    >>> with Peak() as peak:
    ...     numbers = [0] * 1_000_000
    >>> peak.take() > 1_000_000
    True
    """

    def __init__(self) -> None:
        self._most, self._is_over = 0.0, threading.Event()
        self._watcher = threading.Thread(target=self._watch)

    def __enter__(self) -> "Peak":
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._watcher.join()

    def take(self) -> float:
        """The most bytes since the last look."""
        most, self._most = max(self._most, own_bytes()), 0.0
        return most

    def _watch(self) -> None:
        while not self._is_over.wait(EVERY):
            self._most = max(self._most, own_bytes())


def own_bytes() -> float:
    """Bytes of this process that are no mapped file."""
    status = (PROC / "self" / "status").read_text()
    return 1024.0 * int(status.split("RssAnon:")[1].split()[0])
