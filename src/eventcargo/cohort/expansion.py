"""Expansion: event types that come with others: families with their members, thresholds with numbers.

An event is followed, at the same time, by its families and by the thresholds its number passes, each at most
once at a moment. Everything is on numbers of event types, so that it takes as long as copying.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eventcargo.cohort.segments import by_owner, members
from eventcargo.cohort.spool import Rows
from eventcargo.events import Ragged

ALWAYS, AT_LEAST, BELOW = 0, 1, -1


@dataclass
class Expansion:
    """For an event type, the types that come with it, and the condition on its number."""

    companions: dict[int, list[tuple[int, int, float]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, code: int, companion: int, condition: int = ALWAYS, cut: float = np.nan) -> None:
        self.companions[code].append((companion, condition, cut))

    def compiled(self, n_types: int) -> "CompiledExpansion":
        owners = sorted(self.companions)
        flat = [(code, *each) for code in owners for each in self.companions[code]]
        columns = zip(*flat, strict=True) if flat else ((),) * 4
        owner, companion, condition, cut = columns
        return CompiledExpansion(
            by_owner(np.array(owner, np.int32), n_types).starts,
            by_owner(np.array(owner, np.int32), n_types).lengths,
            np.array(companion, np.int32),
            np.array(condition, np.int8),
            np.array(cut, np.float64),
        )


@dataclass(frozen=True)
class CompiledExpansion:
    """An expansion as columns: the companions of type c are `companion[start[c]:start[c] + n[c]]`."""

    start: NDArray[np.int64]
    n: NDArray[np.int64]
    companion: NDArray[np.int32]
    condition: NDArray[np.int8]
    cut: NDArray[np.float64]

    def apply(self, rows: Rows, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Event types with their companions, and the place of every row among them (and the end).

        `rows` are sorted by subject and time; `numbers` are their measured numbers.
        """
        codes = rows["code"]
        offsets = np.arange(len(rows) + 1)
        if not len(self.companion) or not len(rows):
            return codes.astype(np.int32), offsets
        start, n = self.start[codes], self.n[codes]
        at, owner = members(Ragged(start, start + n))
        number, condition, cut = numbers[owner], self.condition[at], self.cut[at]
        passes = (condition == ALWAYS) | ((condition == AT_LEAST) & (number >= cut))
        passes |= (condition == BELOW) & (number < cut)
        at, owner = at[passes], owner[passes]
        extra = self.companion[at]
        is_new = _once_per_moment(rows, owner, extra)
        owner, extra = owner[is_new], extra[is_new]
        lengths = 1 + np.bincount(owner, minlength=len(rows))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        result = np.empty(offsets[-1], np.int32)
        is_own = np.zeros(len(result), bool)
        is_own[offsets[:-1]] = True
        result[is_own], result[~is_own] = codes, extra
        return result, offsets


def _once_per_moment(rows: Rows, owner: NDArray[np.int64], extra: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which companions are the first of their type at their moment, recorded events included."""
    changes = (np.diff(rows["subject"]) != 0) | (np.diff(rows["time"]) != 0)
    moment = np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)
    width = int(max(extra.max(initial=0), rows["code"].max())) + 1
    recorded, wanted = moment * width + rows["code"], moment[owner] * width + extra
    is_new = ~np.isin(wanted, recorded[_shared(moment)])
    first = np.zeros(len(wanted), bool)
    first[np.unique(wanted, return_index=True)[1]] = True
    return is_new & first


def _shared(moment: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows whose moment has other rows too."""
    same = np.diff(moment) == 0
    return np.concatenate([[False], same]) | np.concatenate([same, [False]])
