"""EventTypes: names of all event types, recorded and made, and what clean-up does to the recorded ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, argument


def normalised(name: str) -> str:
    """A name without outer blanks, with single inner blanks and folded case.

    >>> normalised("  Oil   LOW ")
    'oil low'
    """
    return " ".join(name.split()).casefold()


@dataclass
class EventTypes:
    """Names of event types by number; `add` gives the number of a name, a new one if it is unknown."""

    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, name: str) -> int:
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class CleanUp:
    """The event type of every recorded name, -1 if it is left out, and how many spellings were merged."""

    types: EventTypes
    number_of: NDArray[np.int32]
    merged_spellings: int
    unmatched: tuple[str, ...]
    """patterns to exclude that no name matches"""


def clean_up(recorded: Sequence[str], normalise: bool, exclude: Sequence[str]) -> CleanUp:
    """Names of event types after clean-up; patterns are those of a shell, such as `WS:*`.

    >>> clean_up(["a ", "A", "WS:1"], True, ["ws:*"]).number_of.tolist()
    [0, 0, -1]
    """
    names = [normalised(name) if normalise else name for name in recorded]
    patterns = [normalised(pattern) if normalise else pattern for pattern in exclude]
    matched = matches(names, patterns)
    left_out: set[str] = {""}.union(*matched.values())
    types = EventTypes()
    numbers = np.array([-1 if name in left_out else types.add(name) for name in names], np.int32)
    check_left(types.names, exclude)
    unmatched = tuple(pattern for pattern, found in matched.items() if not found)
    return CleanUp(types, numbers, len(names) - len(set(names)), unmatched)


def matches(names: Sequence[str], patterns: Sequence[str]) -> dict[str, set[str]]:
    """The names that match each pattern."""
    return {pattern: {name for name in set(names) if fnmatchcase(name, pattern)} for pattern in patterns}


def check_left(names: Sequence[str], exclude: Sequence[str]) -> None:
    """Refuse patterns that leave no event type."""
    if not names:
        raise ConfigError(
            f"{argument('exclude', list(exclude))}: no event type is left; use narrower patterns"
        )


def matching(types: EventTypes, patterns: Sequence[str], normalise: bool) -> dict[int, str]:
    """The event types that match one of the patterns, with their names; refuse a pattern without a match."""
    found: dict[int, str] = {}
    for pattern in patterns:
        wanted = normalised(pattern) if normalise else pattern
        members = {i: name for i, name in enumerate(types.names) if fnmatchcase(name, wanted)}
        if not members:
            raise ConfigError(
                f"{argument('outcomes', pattern)}: no event type matches; see the names with validate"
            )
        found |= members
    return found
