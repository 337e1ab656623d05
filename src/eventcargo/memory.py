"""Memory: amounts as text, such as 4G, and a limit on what a process and those it started take."""

import math
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from eventcargo.errors import ConfigError, EventCargoError, argument

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}

EVERY = 0.1
"""Seconds between two looks at the memory in use."""

PATIENCE = 10.0
"""Seconds in which work that was told to end may clean up before it is told again."""

PROC = Path("/proc")


class MemoryLimitError(EventCargoError):
    """The work takes more memory than it was given."""


def parse_memory(text: str, name: str = "max_memory") -> float:
    """Bytes of an amount such as `1.5G`; an empty text means no limit. `name` is the argument that gives it.

    >>> parse_memory("1.5G"), parse_memory("")
    (1610612736.0, inf)
    """
    if not text:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)B?", text.strip().upper())
    if not match or float(match[1]) == 0:
        raise ConfigError(f"{argument(name, text)}: use a number with M or G, such as 800M or 4G")
    return float(match[1]) * UNITS[match[2]]


def show_memory(size: float) -> str:
    """An amount to allow for so many bytes, rounded up, as `parse_memory` reads it.

    >>> show_memory(700e6), show_memory(2.3e9)
    ('668M', '2.2G')
    """
    if size < UNITS["G"]:
        return f"{math.ceil(size / UNITS['M'])}M"
    return f"{math.ceil(10 * size / UNITS['G']) / 10:g}G"


@contextmanager
def limit_memory(text: str) -> Iterator[None]:
    """End the work of the block with `MemoryLimitError` once it takes more than an amount such as 4G.

    Memory is that of this process and of all it started, without files that are mapped: the system takes that
    back when others need it. This needs the processes of Linux and the main thread; elsewhere the block runs
    to its end.
    """
    limit = parse_memory(text)
    is_main = threading.current_thread() is threading.main_thread()
    if math.isinf(limit) or not is_main or not (PROC / "self" / "status").exists():
        yield
        return
    peak, is_over = 0.0, threading.Event()

    def stop(*_: object) -> None:
        if not is_over.is_set():
            raise MemoryLimitError(
                f"{argument('max_memory', text)}: the work takes more, {show_memory(peak)} so far, and was "
                f"ended; allow {show_memory(2 * peak)}, or take part of the data; finished work is kept"
            )

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(EVERY):
            peak = private_bytes()
            if peak > limit and not is_over.is_set():
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                is_over.wait(PATIENCE)

    before, watcher = signal.signal(signal.SIGUSR1, stop), threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
        signal.signal(signal.SIGUSR1, before)


def private_bytes(process: str = "self") -> float:
    """Memory of a process and of all it started, without mapped files."""
    total = 0.0
    with suppress(OSError):  # one that has ended takes none
        status = (PROC / process / "status").read_text()
        kilobytes = re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.MULTILINE)
        total = UNITS["K"] * sum(map(int, kilobytes)) + sum(map(private_bytes, children(process)))
    return total


def children(process: str = "self") -> list[str]:
    """The processes that a process has started, once they run a program of their own: until then they share
    its memory."""
    found, command = list[str](), (PROC / process / "cmdline").read_bytes()
    for task in (PROC / process / "task").iterdir():
        with suppress(OSError):  # a thread that has ended
            found += (task / "children").read_text().split()
    return [child for child in found if _command(child) != command]


def _command(process: str) -> bytes:
    try:
        return (PROC / process / "cmdline").read_bytes()
    except OSError:
        return b""
