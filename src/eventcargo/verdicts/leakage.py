"""Leakage: event types that look like a record of the label rather than a cause of it.

Labels have no time, so the data cannot show that an event was recorded with a label or because of it. They
can show two signs: the event type and the label occur only together, practically without exception; or the
event type brings the label and is the last event whenever it does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from eventcargo.events import EventDataset

Flags = NDArray[np.bool_]

ALWAYS, MOSTLY = 0.99, 0.9
"""Shares that the lower 95 % bound of a share must exceed."""


@dataclass(frozen=True)
class Leak:
    """How an event type and a label occur together."""

    both: int
    event: int  # sequences with the event type
    label: int  # sequences with the label
    last: int  # sequences with both in which the event type occurs at the last instant

    @property
    def is_double(self) -> bool:
        """Whether one practically never occurs without the other.

        >>> Leak(500, 500, 500, 0).is_double, Leak(50, 50, 50, 0).is_double
        (True, False)
        """
        return surely(self.both, self.event) > ALWAYS and surely(self.both, self.label) > ALWAYS

    @property
    def is_closing(self) -> bool:
        """Whether the event type mostly comes with the label and then at the last instant."""
        return surely(self.both, self.event) > MOSTLY and surely(self.last, self.both) > MOSTLY


def surely(count: int, total: int) -> float:
    """Lower 95 % bound of the share count / total (Clopper & Pearson 1934).

    The 0.05 quantile of Beta(count, total - count + 1); 0 if count is 0.

    >>> round(surely(100, 100), 3), surely(0, 10)
    (0.97, 0.0)
    """
    return float(betaincinv(count, total - count + 1, 0.05)) if count else 0.0


class Closings:
    """Which event types occur at the last instant of which sequence, in sequences of several instants."""

    def __init__(self, data: EventDataset) -> None:
        offsets, events, times = data.flat()
        rows = np.repeat(np.arange(len(data)), data.lengths)
        first, final = times[offsets[rows]], times[offsets[rows + 1] - 1]
        closing = (times == final) & (first < final)
        self._rows, self._events, self._presence = rows[closing], events[closing], data.presence().tocsc()

    def leak(self, carries: Flags, event: int) -> Leak:
        """How an event type and a label, given by the sequences that carry it, occur together."""
        holders = self._presence[:, [event]].nonzero()[0]
        ends = np.unique(self._rows[self._events == event])
        return Leak(int(carries[holders].sum()), len(holders), int(carries.sum()), int(carries[ends].sum()))
