"""Engine: where the units of a work are done; what they give does not depend on it."""

import json
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eventcargo.engines.seals import discard_damaged
from eventcargo.engines.work import PLAN_FILE, Timed, Work
from eventcargo.errors import DataError, EventCargoError, counted
from eventcargo.files import read_document, write_document
from eventcargo.release import RELEASE

PLAN = "eventcargo-work", 1
"""Format and version of the file that says what the units of a folder follow from."""

MOST_DEATHS = 3
"""A unit that has taken this many workers with it is given up."""

MOST_IDLE_DEATHS = 10
"""A unit is given up, too, if this many workers were gone before they began with it."""

MOST_POISONOUS = 3
"""With this many units given up, the others are not tried any more."""


SOME = 0.2
"""Processor seconds of units from which on they tell the pace of workers."""


class UnitError(EventCargoError):
    """Units that killed their workers; everything else that was done is kept."""


class UnitsLeftError(EventCargoError):
    """Units are left to other invocations of a job array; what this one had to do is done."""


class Engine(ABC):
    """Does the units of a work, each at least once, in any order.

    `folder` is where works keep their files, on storage that all workers see; an engine that stays on one
    machine needs none.
    """

    folder: Path | None = None
    elsewhere = Timed()
    """What units that other processes did have taken so far."""
    time_limit = ""
    """The time limit of the run, which may cut units short."""

    @property
    def pace(self) -> float | None:
        """Seconds that a second of processor time takes where units are done; None: they are done here."""
        return self.elsewhere.seconds / self.elsewhere.processor if self.elsewhere.processor > SOME else None

    @property
    @abstractmethod
    def places(self) -> int:
        """How many units are done side by side, about."""

    @abstractmethod
    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        """Do units that are not done and yield their numbers as they finish."""

    @contextmanager
    def workspace(self, stage: str, plan: Mapping[str, Any]) -> Iterator[Path]:
        """The folder of a stage's work, deleted at its end; after a kill or an error, finished units stay.

        They are used again if they follow from the same `plan` under the same time limit and are as their
        seals say; what is damaged is done again, with a warning.
        """
        if self.folder is None:
            with tempfile.TemporaryDirectory(prefix="eventcargo-") as home:
                yield Path(home) / stage
            return
        folder = self.folder / stage
        _begin(folder, {**plan, "time_limit": self.time_limit})
        yield folder
        shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def limited(self, time_limit: str) -> Iterator[None]:
        """Within the block, units that another time limit may have cut are done again."""
        before, self.time_limit = self.time_limit, time_limit
        try:
            yield
        finally:
            self.time_limit = before

    def discard(self) -> None:
        """Delete the files of works, once their results are elsewhere."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:  # noqa: B027 (most engines have something to end, a test's may not)
        """End what the engine started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def poisonous(units: Sequence[int], work: Work[Any]) -> UnitError:
    """The error that names the units that killed their workers."""
    names = ", ".join(str(work.path(unit)) for unit in sorted(units))
    return UnitError(
        f"{counted(len(units), 'unit')} of work killed {MOST_DEATHS} workers each: {names}; all other work "
        "is kept; give workers more memory, or look at the data of these units, then resume"
    )


def _begin(folder: Path, plan: Mapping[str, Any]) -> None:
    """Make the folder of a stage, without what was left there by work of another plan."""
    path, wanted = folder / PLAN_FILE, json.loads(json.dumps({**plan, "release": RELEASE}))
    with suppress(DataError):
        if read_document(path, *PLAN) == wanted:
            discard_damaged(folder)
            return
    shutil.rmtree(folder, ignore_errors=True)
    write_document(path, *PLAN, wanted)
