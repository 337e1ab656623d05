"""EventSequence: one sequence by names, and the checks that a list of them passes to become a data set."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError, counted


@dataclass(frozen=True)
class EventSequence:
    """One sequence by names: its events in order, their times, its labels, and the values of each event.

    >>> len(EventSequence("car1", ("P01", "U02"), (0.0, 3.5), ("brake",)))
    2
    """

    id: str
    events: tuple[str, ...]
    times: tuple[float, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.events)


def check_sequences(ordered: Sequence[EventSequence]) -> None:
    """Refuse sequences, sorted by id, with missing times or a repeated id."""
    for sequence in ordered:
        if len(sequence.events) != len(sequence.times):
            raise DataError(
                f"sequence {sequence.id!r} has {counted(len(sequence.events), 'event')} but "
                f"{counted(len(sequence.times), 'time')}; give one time per event"
            )
    for sequence, following in pairwise(ordered):
        if sequence.id == following.id:
            raise DataError(f"sequence id {sequence.id!r} appears twice; every sequence needs its own")


def check_value_names(names: Sequence[str]) -> None:
    """Refuse value names that are a single text, or that repeat."""
    if isinstance(names, str):
        raise ConfigError(f"value columns are given as {names!r}, one text; give a list: [{names!r}]")
    name, count = next(iter(Counter(names).most_common(1)), ("", 0))
    if count > 1:
        raise ConfigError(f"the value column {name!r} is named {count} times; name it once")


def stack_values(ordered: Sequence[EventSequence], n_columns: int) -> NDArray[np.float64]:
    """The values of all events: (events, columns), NaN if not recorded."""
    for sequence in ordered:
        given = [len(row) for row in sequence.values]
        wanted = [n_columns] * len(sequence) if n_columns else []
        if given != wanted:
            raise DataError(
                f"sequence {sequence.id!r} has {counted(sum(given), 'value')} for "
                f"{counted(len(sequence), 'event')} and {counted(n_columns, 'value name')}; give every event "
                "one value per name, NaN if not recorded"
            )
    n_events = sum(map(len, ordered))
    rows = [row for sequence in ordered for row in sequence.values]
    values = np.array(rows, np.float64).reshape(n_events, n_columns)
    if np.isinf(values).any():
        raise DataError(f"a value is {values[np.isinf(values)][0]}; use finite numbers, NaN if not recorded")
    return values
