"""Log: the raw records of all subjects as flat columns of numbers, and where in it a code occurred before."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DAY = 86_400
"""Seconds of a day; all times are whole seconds since 1970 UTC."""

SUBJECT_SPAN = 1 << 33
"""More seconds than any history has: keys of two subjects lie further apart than any window."""


@dataclass(frozen=True)
class Moments:
    """Points in the histories: who and when."""

    subjects: NDArray[np.int64]
    times: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def keys(self) -> NDArray[np.int64]:
        """Numbers that sort by subject, then time; their difference within a subject is in seconds."""
        return self.subjects * SUBJECT_SPAN + self.times

    def take(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> "Moments":
        return Moments(self.subjects[which], self.times[which])

    def later(self, seconds: NDArray[np.int64]) -> "Moments":
        return Moments(self.subjects, self.times + seconds)

    def have_before(self, others: "Moments", days: float) -> NDArray[np.bool_]:
        """Which of these moments have one of `others` strictly before them, by at most so many days."""
        keys = np.sort(others.keys)
        if not len(keys):
            return np.zeros(len(self), bool)
        before = np.searchsorted(keys, self.keys) - 1
        return (before >= 0) & (self.keys - keys[before] <= days * DAY)

    @classmethod
    def join(cls, parts: Iterable["Moments"]) -> "Moments":
        """All moments, by subject and time."""
        found = list(parts)
        none = np.zeros(0, np.int64)
        subjects = np.concatenate([none, *(part.subjects for part in found)])
        times = np.concatenate([none, *(part.times for part in found)])
        order = np.lexsort((times, subjects))
        return cls(subjects[order], times[order])


@dataclass(frozen=True)
class Log:
    """Records: when and whose, the code and its number (NaN without one)."""

    moments: Moments
    codes: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, moments: Moments, code: int, values: NDArray[np.float64] | None = None) -> "Log":
        """Records of one code."""
        count = len(moments)
        return cls(moments, np.full(count, code), np.full(count, np.nan) if values is None else values)

    @classmethod
    def join(cls, parts: Iterable["Log"]) -> "Log":
        """All records, by subject, time and code."""
        found = list(parts)
        subjects = np.concatenate([part.moments.subjects for part in found])
        times = np.concatenate([part.moments.times for part in found])
        codes = np.concatenate([part.codes for part in found])
        values = np.concatenate([part.values for part in found])
        order = np.lexsort((values, codes, times, subjects))
        return cls(Moments(subjects[order], times[order]), codes[order], values[order])

    def take(self, which: NDArray[np.bool_]) -> "Log":
        return Log(self.moments.take(which), self.codes[which], self.values[which])

    def where(self, codes: Iterable[int]) -> "Log":
        """The records of these codes."""
        return self.take(np.isin(self.codes, list(codes)))
