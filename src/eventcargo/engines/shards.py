"""Shards: one part of the units, for job arrays that start the program once for every part.

Finished files are the only sign of what is done. An invocation does its part of the stage at hand. If others
have done theirs, it goes on with what is no unit, and with the next stage; if not, it stops. A lock, which a
kill does not leave behind, keeps two from going on at once.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Self

from eventcargo.engines.engine import Engine, UnitsLeftError
from eventcargo.engines.work import Work
from eventcargo.errors import counted
from eventcargo.locks import FileLock


class Shards(Engine):
    """Part `part` of `n_parts`, by the numbers of the units, done by another engine."""

    def __init__(self, engine: Engine, part: int, n_parts: int) -> None:
        self._engine, self._part, self._n_parts = engine, part, n_parts
        self.folder = engine.folder
        self._lock = None if engine.folder is None else FileLock(engine.folder / "lock")

    def __enter__(self) -> Self:
        if self._lock is not None:
            self._lock.take(wait=True)
        return self

    @property
    def places(self) -> int:
        return self._n_parts * self._engine.places

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        own = [unit for unit in units if unit % self._n_parts == self._part - 1]
        work.share()  # while all of it is in memory: other parts may come when it is not
        if work.missing(own):
            if self._lock is not None:
                self._lock.release()
            yield from self._engine.run(work, own)
            self.elsewhere = self._engine.elsewhere
            self._go_on(work)
        left = work.missing(units)
        if left:
            raise UnitsLeftError(
                f"part {self._part}/{self._n_parts} of {work.folder.name} is done; "
                f"{counted(len(left), 'unit')} of {len(units):,} left to other parts: run these, then go on "
                "without shards"
            )
        yield from sorted(set(units) - set(own))

    def _go_on(self, work: Work[Any]) -> None:
        if self._lock is not None and not self._lock.take(wait=False):
            raise UnitsLeftError(
                f"part {self._part}/{self._n_parts} of {work.folder.name} is done; another invocation goes on"
            )

    def close(self) -> None:
        self._engine.close()
        if self._lock is not None:
            self._lock.release()
