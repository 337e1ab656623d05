"""A work that squares numbers, with units that kill their worker or fail, as a test asks."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from eventcargo.engines.work import Work
from eventcargo.errors import DataError
from eventcargo.files import atomic_file


@dataclass(frozen=True)
class Squares(Work[list[int]]):
    """Unit `n` writes the square of the n-th number of the inputs."""

    poison: tuple[int, ...] = ()
    """units that always kill their worker"""
    deadly_once: tuple[int, ...] = ()
    """units that kill the first worker that tries them"""
    wrong: tuple[int, ...] = ()
    """units that raise an error"""
    seconds: float = 0.0
    """how long a unit sleeps"""
    busy: float = 0.0
    """processor seconds that a unit uses"""

    def save(self, state: list[int], folder: Path) -> None:
        (folder / "numbers.txt").write_text(" ".join(map(str, state)))

    def open(self, folder: Path) -> list[int]:
        with (self.folder / "opened.txt").open("a") as log:
            log.write(f"{os.getpid()}\n")
        return [int(text) for text in (folder / "numbers.txt").read_text().split()]

    def do(self, state: list[int], unit: int) -> None:
        time.sleep(self.seconds)
        began = time.process_time()
        while time.process_time() - began < self.busy:
            pass
        with (self.folder / "tried.txt").open("a") as log:
            log.write(f"{unit} {os.getpid()}\n")
        tried = [line.split()[0] for line in (self.folder / "tried.txt").read_text().splitlines()]
        if unit in self.poison or (unit in self.deadly_once and tried.count(str(unit)) == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if unit in self.wrong:
            raise DataError(f"unit {unit} cannot be squared")
        with atomic_file(self.path(unit)) as target:
            target.write_text(str(state[unit] ** 2))

    def path(self, unit: int) -> Path:
        return self.folder / f"unit-{unit:05}.txt"

    def results(self, n: int) -> list[int | None]:
        """The squares that were written; None: not yet."""
        paths = map(self.path, range(n))
        return [int(path.read_text()) if path.exists() else None for path in paths]

    def tried(self) -> list[tuple[int, int]]:
        """Units and the processes that tried them."""
        lines = (self.folder / "tried.txt").read_text().splitlines()
        return [(int(line.split()[0]), int(line.split()[1])) for line in lines]
