"""A campaign: many damaged inputs, each read in a process apart, and how each reading ended.

A reading ends well if the input is refused in clear words, read as it was before the damage, or read as what
it says now. It ends badly in a traceback, in unclear words, in other values than the file says, in a reading
that does not end, or with the process.
"""

import multiprocessing as mp
import re
import resource
import shutil
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo.errors import EventCargoError, EventCargoWarning

from tests.reliability.surface import Surface
from tests.reliability.surfaces import surfaces

GOOD = ("refused", "same", "other content", "told")
BAD = ("traceback", "unclear", "silent", "hang", "crash")

INNARDS = re.compile(
    r"object (has no|is not|of type|does not)|NoneType|unhashable|index out of|Traceback|not subscriptable"
    r"|takes \d+ positional|unexpected keyword|<class |has no attribute|not supported between"
)
"""Words of the interpreter, which tell a user nothing."""

LONGEST = 3_000
"""Characters of a message."""

MEMORY = 6 * 2**30
"""Bytes of address space that a reading may take beside what is loaded."""


@dataclass(frozen=True)
class Ended:
    """How a reading ended: a word of GOOD or BAD, and what was said."""

    surface: str
    seed: int
    outcome: str
    damage: str = ""
    words: str = ""


def attempt(surface: Surface, seed: int, home: Path, scratch: Path, sound: Any) -> Ended:
    """Damage an input and read it."""
    shutil.rmtree(scratch, ignore_errors=True)
    reading = surface.attempt(home, scratch, np.random.default_rng(seed))

    def ended(outcome: str, words: str = "") -> Ended:
        return Ended(surface.name, seed, outcome, reading.damage, words[:2_000])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            content = reading.read()
        except EventCargoError as error:
            words = str(error)
            is_clear = 10 < len(words) <= LONGEST and not INNARDS.search(words)
            return ended("refused" if is_clear else "unclear", words)
        except BaseException:
            return ended("traceback", traceback.format_exc()[-2_000:])
    if _same(content, sound):
        return ended("same")
    if any(issubclass(one.category, EventCargoWarning) for one in told):
        return ended("told", str(told[0].message))
    if surface.sealed and not reading.is_whole:
        return ended("silent", f"read {str(content)[:500]}")
    if reading.plain is None:
        return ended("other content")
    return ended(*_compared(content, reading.plain))


def _compared(content: Any, plain: Any) -> tuple[str, str]:
    try:
        expected = plain()
    except Exception as error:  # the plain reader knows less than ours: it decides nothing
        return "other content", f"the plain reader: {error}"
    if _same(content, expected):
        return "other content", ""
    return "silent", f"read {str(content)[:800]}\nthe file says {str(expected)[:800]}"


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or repr(one) == repr(other)


def _serve(pipe: Connection, home: Path, scratch: Path) -> None:
    """Read what is asked for, one input after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    known, sound = {one.name: one for one in surfaces()}, dict[str, Any]()
    pipe.send(None)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    while True:
        name, seed = pipe.recv()
        if name not in sound:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sound[name] = known[name].sound(home)
        pipe.send(attempt(known[name], seed, home, scratch, sound[name]))


class Reader:
    """A process that reads inputs; it is replaced when it hangs or dies."""

    def __init__(self, home: Path, scratch: Path, seconds: float) -> None:
        self._home, self._scratch, self._seconds = home, scratch, seconds
        self._start()

    def _start(self) -> None:
        self._pipe, theirs = mp.Pipe()
        self._process = mp.get_context("spawn").Process(
            target=_serve, args=(theirs, self._home, self._scratch), daemon=True
        )
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def read(self, name: str, seed: int) -> Ended:
        """How the reading of one input ended."""
        try:
            self._pipe.send((name, seed))
            if self._pipe.poll(self._seconds):
                return self._pipe.recv()
            outcome, words = "hang", f"more than {self._seconds:g} s"
        except (EOFError, ConnectionError):
            self._process.join()
            outcome, words = "crash", f"exit code {self._process.exitcode}"
        self.close()
        self._start()
        return Ended(name, seed, outcome, words=words)

    def close(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def cases(n: int, seed: int, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Surfaces and seeds of the inputs: every surface as often, but the slow ones rarely."""
    slow = [name for name in names if name in SLOW]
    quick = [name for name in names if name not in SLOW]
    yield from ((name, seed + at) for name in slow for at in range(min(SLOW[name], max(n // 300, 1))))
    left = n - sum(min(SLOW[name], max(n // 300, 1)) for name in slow)
    yield from ((quick[at % len(quick)], seed + at) for at in range(left))


SLOW = {
    "gzip bombs": 10,
    "odd shapes": 60,
    **dict.fromkeys(("run stopped", "run stopped, forged", "update begun", "update begun, forged"), 100),
    "units of focused networks": 100,
}
"""Surfaces whose inputs take seconds, and how many of them are enough."""


def run_campaign(
    home: Path, scratch: Path, n: int, seed: int = 0, seconds: float = 30.0, only: str = ""
) -> Iterator[Ended]:
    """Read `n` damaged inputs; `home` is the folder that `prepare` filled."""
    names = [surface.name for surface in surfaces() if only in surface.name]
    reader = Reader(home, scratch, seconds)
    try:
        for name, case_seed in cases(n, seed, names):
            yield reader.read(name, case_seed)
    finally:
        reader.close()


def tally(endings: Sequence[Ended]) -> dict[str, dict[str, int]]:
    """The number of readings by surface and outcome."""
    counts: dict[str, Counter[str]] = {}
    for one in endings:
        counts.setdefault(one.surface, Counter())[one.outcome] += 1
    return {name: dict(counter) for name, counter in counts.items()}
