"""Surface: something that the package reads from outside, and how its damage is drawn and read."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.reliability.damage import BYTES, Rng, damage_file, damage_json, forge_json

Ways = tuple[Callable[[bytes, Rng], bytes], ...]

JSON: Ways = (damage_json, *BYTES)
FORGED: Ways = (forge_json,)


@dataclass(frozen=True)
class Reading:
    """How a damaged input is read, and what a plain reader says of it; None: nothing can be said."""

    damage: str
    read: Callable[[], Any]
    plain: Callable[[], Any] | None = None
    is_whole: bool = False
    """what is left is content of its own: a file that need not be there is gone"""


@dataclass(frozen=True)
class Surface:
    """One surface: `attempt` damages it in a folder of its own; `sound` is what it reads undamaged.

    What is `sealed` must be read as it was written or refused. Otherwise other content may be right: what
    the plain reader says, or anything at all if there is none.
    """

    name: str
    attempt: Callable[[Path, Path, Rng], Reading]
    sound: Callable[[Path], Any]
    sealed: bool = False


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def in_files(
    name: str,
    template: str,
    pattern: str,
    ways: Ways,
    read: Callable[[Path], Any],
    plain: Callable[[Path], Any] | None = None,
    sealed: bool = False,
    optional: bool = False,
) -> Surface:
    """A surface of files: one of those that match a pattern is damaged in a copy of a prepared folder."""

    def attempt(home: Path, scratch: Path, rng: Rng) -> Reading:
        shutil.copytree(home / template, scratch)
        files = _files(scratch, pattern)
        path = files[int(rng.integers(len(files)))]
        how = damage_file(path, rng, ways)
        told = None if plain is None else (lambda: plain(scratch))
        return Reading(
            f"{path.relative_to(scratch)}: {how}", lambda: read(scratch), told, optional and how == "gone"
        )

    def sound(home: Path) -> Any:
        """What is read undamaged, from a copy: some readings go on with what they find."""
        with tempfile.TemporaryDirectory() as name:
            shutil.copytree(home / template, Path(name) / "sound")
            return read(Path(name) / "sound")

    return Surface(name, attempt, sound, sealed)
