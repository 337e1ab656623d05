"""Vocabulary: maps event types to the numbers that models use, and back.

The numbers 0 to 3 are PAD, BOS, EOS and UNK; event types follow, the most frequent first. Special tokens are
numbers only: an event type named "PAD" is an event type like any other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError
from eventcargo.event_kinds import EventKinds, NumberedKinds
from eventcargo.files import read_document, write_document
from eventcargo.typed import is_text, show

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

PAD, BOS, EOS, UNK = range(4)
SPECIAL = ("[PAD]", "[BOS]", "[EOS]", "[UNK]")

MARKS = 2
"""Positions of a sequence without an event: BOS and EOS."""

FORMAT, FORMAT_VERSION = "eventcargo-vocabulary", 1


@dataclass(frozen=True)
class Vocabulary:
    """The event types that a model knows, the most frequent first.

    >>> vocabulary = Vocabulary(("P01", "U02"))
    >>> vocabulary.encode(["U02", "never seen"])
    [5, 3]
    >>> vocabulary.decode([5, 3])
    ['U02', '[UNK]']
    """

    event_names: tuple[str, ...]
    kinds: EventKinds = field(default=EventKinds(), hash=False)
    """what some of them are besides plain events"""

    def __post_init__(self) -> None:
        if len(set(self.event_names)) != len(self.event_names):
            twice = next(name for name in self.event_names if self.event_names.count(name) > 1)
            raise DataError(f"event type {twice!r} appears twice in the vocabulary")

    @classmethod
    def from_dataset(
        cls, data: "EventDataset", min_count: int = 1, max_size: int | None = None
    ) -> "Vocabulary":
        """The event types seen at least `min_count` times, at most `max_size` of them; ties go by name."""
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise ConfigError(f"min_count={min_count}, max_size={max_size}: both must be at least 1")
        counts = data.event_counts
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], data.event_names[i]))
        names = [data.event_names[i] for i in order if counts[i] >= min_count]
        return cls(tuple(names[:max_size]), data.kinds)

    def __len__(self) -> int:
        """Number of ids, special tokens included."""
        return len(SPECIAL) + len(self.event_names)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.event_names, start=len(SPECIAL))}

    @cached_property
    def numbered_kinds(self) -> NumberedKinds:
        """The kinds of the event types by id."""
        return self.kinds.numbered([*SPECIAL, *self.event_names])

    def encode(self, names: Iterable[str]) -> list[int]:
        """Ids of event types; unknown ones become UNK."""
        return [self._ids.get(name, UNK) for name in names]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Names of ids; special tokens in square brackets."""
        chosen = list(ids)
        outside = [i for i in chosen if not 0 <= i < len(self)]
        if outside:
            raise DataError(f"id {outside[0]} is not in the vocabulary; use 0 to {len(self) - 1}")
        return [SPECIAL[i] if i < len(SPECIAL) else self.event_names[i - len(SPECIAL)] for i in chosen]

    def lookup(self, event_names: Sequence[str]) -> NDArray[np.int64]:
        """Table from a data set's event numbers to ids: `lookup(data.event_names)[data.events]`."""
        return np.array(self.encode(event_names), np.int64)

    def to_json(self, path: str | Path) -> None:
        """Write the vocabulary as JSON."""
        content = {"special": SPECIAL, "event_names": self.event_names}
        kinds = {"kinds": self.kinds.to_dict()} if self.kinds else {}
        write_document(path, FORMAT, FORMAT_VERSION, {**content, **kinds})

    @classmethod
    def from_json(cls, path: str | Path) -> "Vocabulary":
        """The vocabulary that `to_json` wrote."""
        content = read_document(path, FORMAT, FORMAT_VERSION, "train the model again")
        names = content.get("event_names")
        if not isinstance(names, list) or not all(isinstance(name, str) and is_text(name) for name in names):
            raise DataError(f"{path} is not a vocabulary: it needs a list 'event_names' of strings")
        if content.get("special") != list(SPECIAL):
            given = show(content.get("special"))
            raise DataError(f"{path} has special tokens {given}, this release has {SPECIAL}")
        try:
            return cls(tuple(names), EventKinds.from_dict(content.get("kinds", {})))
        except DataError as error:
            raise DataError(f"{path} is damaged: {error}; train the model again") from None
