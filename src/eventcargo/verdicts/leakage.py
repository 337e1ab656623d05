"""Echoes: event types that look like a record of the label rather than a cause of it.

Labels have no time, so the data cannot show that an event was recorded with a label or because of it. Two
things they can show: the event type occurs with the label and only with it, practically without exception; or
it brings the label and is the very last event wherever it does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from eventcargo.events import EventDataset

Flags = NDArray[np.bool_]

ALWAYS, MOSTLY = 0.99, 0.9
"""Shares that must be exceeded beyond a doubt of one in twenty."""


@dataclass(frozen=True)
class Echo:
    """How an event type and a label occur together."""

    both: int
    event: int  # sequences with the event type
    label: int  # sequences with the label
    last: int  # sequences with both in which the event type is there at the last instant

    @property
    def is_double(self) -> bool:
        """Whether one practically never comes without the other.

        >>> Echo(500, 500, 500, 0).is_double, Echo(50, 50, 50, 0).is_double
        (True, False)
        """
        return surely(self.both, self.event) > ALWAYS and surely(self.both, self.label) > ALWAYS

    @property
    def is_closing(self) -> bool:
        """Whether the event type brings the label and ends the sequences with both."""
        return surely(self.both, self.event) > MOSTLY and surely(self.last, self.both) > MOSTLY


def surely(count: int, total: int) -> float:
    """The share that is exceeded with a doubt of one in twenty (Clopper and Pearson).

    >>> round(surely(100, 100), 3), surely(0, 10)
    (0.97, 0.0)
    """
    return float(betaincinv(count, total - count + 1, 0.05)) if count else 0.0


class Closings:
    """Which event types occur at the last instant of which sequence, if it has more than one instant."""

    def __init__(self, data: EventDataset) -> None:
        offsets, events, times = data.flat()
        rows = np.repeat(np.arange(len(data)), data.lengths)
        first, final = times[offsets[rows]], times[offsets[rows + 1] - 1]
        closing = (times == final) & (first < final)
        self._rows, self._events, self._presence = rows[closing], events[closing], data.presence().tocsc()

    def echo(self, carries: Flags, event: int) -> Echo:
        """How an event type goes with the sequences that carry a label."""
        holders = self._presence[:, [event]].nonzero()[0]
        ends = np.unique(self._rows[self._events == event])
        return Echo(int(carries[holders].sum()), len(holders), int(carries.sum()), int(carries[ends].sum()))
