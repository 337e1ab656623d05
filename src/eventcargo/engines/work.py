"""Work: what a stage does in units that may be done anywhere, in any order and more than once.

A work is a small frozen dataclass of paths and numbers. It is sent to whoever does a unit; model and data are
not: they are read from the folder of the work, once a process. Each unit writes its own file, whole or not at
all, and the file is the only sign that the unit is done.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline
from eventcargo.engines.seals import seal
from eventcargo.errors import DataError
from eventcargo.files import atomic_file, atomic_folder, read_document, write_document

State = TypeVar("State")

INPUTS, PLAN_FILE = "inputs", "plan.json"
"""In the folder of a work: what its units read (a folder), and what they follow from (a file)."""


@dataclass(frozen=True)
class Timed:
    """Seconds and processor seconds of units."""

    seconds: float = 0.0
    processor: float = 0.0

    def __add__(self, other: "Timed") -> "Timed":
        return Timed(self.seconds + other.seconds, self.processor + other.processor)


@dataclass(frozen=True)
class Work(ABC, Generic[State]):
    """The units of a stage; a subclass says what is read once a process and how a unit is done."""

    folder: Path
    """where inputs are read and finished units written, on storage that all workers see"""
    ends: float = field(default=math.inf, kw_only=True)
    """when the work has to end, in seconds since 1970, which all machines know"""
    most_workers: int = field(default=0, kw_only=True)
    """most processes on one machine; 1: the calling process alone; 0: any number"""
    is_long: bool = field(default=False, kw_only=True)
    """whether units take so long that workers pay from the first one on"""
    gpus: float = field(default=0.0, kw_only=True)
    """share of a GPU that a unit needs"""

    @abstractmethod
    def save(self, state: State, folder: Path) -> None:
        """Write what the units need to an empty folder, which `open` reads."""

    @abstractmethod
    def open(self, folder: Path) -> State:
        """Read what the units need."""

    @abstractmethod
    def do(self, state: State, unit: int) -> None:
        """Do a unit and write its file, whole or not at all."""

    @abstractmethod
    def path(self, unit: int) -> Path:
        """The file of a unit."""

    def is_done(self, unit: int) -> bool:
        """Whether a unit is done, by whomever."""
        return self.path(unit).exists()

    def missing(self, units: Iterable[int]) -> list[int]:
        """The units that are not done yet."""
        return [unit for unit in units if not self.is_done(unit)]

    @property
    def deadline(self) -> Deadline:
        """When the work has to end, by the clock of this process."""
        if self._key in _held:
            return _held[self._key][1]
        return Deadline() if math.isinf(self.ends) else Deadline.after(self.ends - time.time())

    def __call__(self, unit: int) -> int:
        """Do a unit unless it is done, and return its number.

        Two may do it at the same time, because one was thought dead: then both write the same.
        """
        if self.is_done(unit):
            return unit
        try:
            self.do(_state(self), unit)
        except (OSError, DataError):
            if not self.is_done(unit):
                raise
        self._seal(self.path(unit))
        return unit

    def _seal(self, path: Path) -> None:
        """Seal a file in the folder of this work, if the folder can be taken up again."""
        if path.parent == self.folder and path.exists() and (self.folder / PLAN_FILE).exists():
            seal(path)

    def timed(self, unit: int) -> "Timed":
        """Do a unit, and tell how long that took."""
        began, worked = time.monotonic(), time.process_time()
        self(unit)
        return Timed(time.monotonic() - began, time.process_time() - worked)

    def share(self) -> None:
        """Write the inputs, which the driver holds in memory, so that other processes can open them."""
        target = self.folder / INPUTS
        if target.exists():
            return
        try:
            with atomic_folder(target) as unfinished:
                self.save(_held[self._key][0], unfinished)
        except (OSError, DataError):
            if not target.exists():  # or else another driver was quicker
                raise
        self._seal(target)

    def prepared(self, make: Callable[[], State]) -> State:
        """The inputs: made, or opened if another process has made and written them."""
        inputs = self.folder / INPUTS
        return self.open(inputs) if inputs.exists() else make()

    @contextmanager
    def held(self, state: State, deadline: Deadline = NEVER) -> Iterator[None]:
        """Let units that run in this process use a state that is in memory already, and its deadline."""
        _held[self._key] = state, deadline
        try:
            yield
        finally:
            del _held[self._key]

    @property
    def _key(self) -> Path:
        return self.folder


UNIT = "eventcargo-unit", 1
"""Format and version of the file of a unit that is JSON."""


def write_unit(path: Path, content: Mapping[str, Any]) -> None:
    """Write what a unit found as JSON, which keeps every digit of a number."""
    write_document(path, *UNIT, content)


def read_unit(path: Path) -> dict[str, Any]:
    """What a unit found."""
    return read_document(path, *UNIT, "delete it, and it is done again on resume")


def write_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Write what a unit found as arrays."""
    with atomic_file(path) as target, target.open("wb") as sink:
        np.savez(sink, allow_pickle=False, **arrays)


def read_arrays(path: Path, *names: str) -> tuple[NDArray[Any], ...]:
    """The arrays of a unit; a file that is damaged is refused by name."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return tuple(arrays[name] for name in names)
    except Exception as error:  # numpy, zipfile and the parser of headers raise many kinds
        raise DataError(
            f"{path} is damaged ({type(error).__name__}); delete it, and it is done again on resume"
        ) from None


def moment(deadline: Deadline) -> float:
    """A deadline in seconds since 1970."""
    return math.inf if math.isinf(deadline.at) else time.time() + deadline.left


_held: dict[Path, tuple[Any, Deadline]] = {}
"""The states that this process, a driver, has in memory, and when their works have to end."""

_opened: dict[tuple[Path, int], Any] = {}
"""The state that this process, a worker, has opened last: one at a time."""


def _state(work: Work[State]) -> State:
    """What the units of a work need, from memory, or from its folder if it is new to this process."""
    if work._key in _held:
        return _held[work._key][0]
    inputs = work.folder / INPUTS
    key = work._key, inputs.stat().st_mtime_ns
    if key not in _opened:
        _opened.clear()
        _opened[key] = work.open(inputs)
    return _opened[key]
