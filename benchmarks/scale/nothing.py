"""A work whose units only write an empty file; workers can import it from here."""

from dataclasses import dataclass
from pathlib import Path

from eventcargo.engines import Work


@dataclass(frozen=True)
class Nothing(Work[None]):
    """Units that only write an empty file."""

    def save(self, state: None, folder: Path) -> None:
        pass

    def open(self, folder: Path) -> None:
        pass

    def do(self, state: None, unit: int) -> None:  # noqa: ARG002
        self.path(unit).touch()

    def path(self, unit: int) -> Path:
        return self.folder / f"{unit:07}"
