"""Shards: one part of the units, for job arrays that start the program once for every part.

Finished files are the only coordination. An invocation does its part of the stage at hand. If others have
done theirs, it goes on with the next stage; if not, it stops.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from eventcargo.engines.engine import Engine, UnitsLeftError
from eventcargo.engines.work import Work
from eventcargo.errors import counted


class Shards(Engine):
    """Part `part` of `n_parts`, by the numbers of the units, done by another engine."""

    def __init__(self, engine: Engine, part: int, n_parts: int) -> None:
        self._engine, self._part, self._n_parts = engine, part, n_parts
        self.folder = engine.folder

    @property
    def places(self) -> int:
        return self._n_parts * self._engine.places

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        own = [unit for unit in units if unit % self._n_parts == self._part - 1]
        work.share()  # while all of it is in memory: other parts may come when it is not
        yield from self._engine.run(work, own)
        left = work.missing(units)
        if left:
            raise UnitsLeftError(
                f"part {self._part}/{self._n_parts} of {work.folder.name} is done; "
                f"{counted(len(left), 'unit')} of {len(units):,} left to other parts: run these, then go on "
                "without shards"
            )
        yield from (unit for unit in units if unit not in set(own))

    def close(self) -> None:
        self._engine.close()
