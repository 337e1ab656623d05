"""Problems: all rows of some tables that cannot be used, told at once.

Rows are grouped by kind of problem; of each kind, the count and the first three rows are kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventcargo.errors import DataError, argument, counted, shown_value, warn

SHOWN_ROWS = 3
SHOWN_KINDS = 20
LONGEST_VALUE = 80
UNFIT = "the tables cannot be used as they are"


@dataclass(frozen=True)
class Kind:
    """A kind of problem: what the value is the value of, and what to do.

    A table with a row that is not `droppable` is refused, whatever is asked for.
    """

    subject: str
    advice: str
    droppable: bool = True


@dataclass(frozen=True)
class Bad:
    """The values of one array that have a problem: their offsets, in order, and how the first are shown."""

    kind: Kind
    offsets: NDArray[np.int64]
    shown: list[str]

    @property
    def message(self) -> str:
        return f"{self.kind.subject} {self.shown[0]}; {self.kind.advice}"


def bad_values(subject: str, advice: str, mask: Any, values: Any) -> list[Bad]:
    """The values that a mask marks, as a list of one, or none."""
    offsets = np.flatnonzero(np.asarray(mask))
    if not len(offsets):
        return []
    return [Bad(Kind(subject, advice), offsets, [show(values[int(i)]) for i in offsets[:SHOWN_ROWS]])]


def show(value: Any) -> str:
    """A value as the message shows it."""
    value = _as_python(value) if isinstance(value, pa.Scalar) else value
    if value is None:
        return "null"
    return "empty" if isinstance(value, str) and not value else shown_value(value, LONGEST_VALUE)


def _as_python(value: pa.Scalar) -> Any:
    """An Arrow value as Python has it; as bytes or numbers where Python cannot have it."""
    try:
        return value.as_py()
    except UnicodeDecodeError:
        return value.as_buffer().to_pybytes()
    except (ValueError, OverflowError, pa.ArrowException):  # a date far away, an unknown zone
        return _Ticks(value)


class _Ticks:
    """A date that Python cannot have."""

    def __init__(self, value: pa.Scalar) -> None:
        self._value = value

    def __repr__(self) -> str:
        try:
            return f"{self._value.cast(pa.int64()).as_py()} as {self._value.type}"
        except pa.ArrowException:
            return f"a value of type {self._value.type}"


@dataclass
class Problem:
    """The rows of one kind: how many there are, and the first."""

    kind: Kind
    count: int = 0
    first: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, place: str, rows: Sequence[int], shown: Iterable[str]) -> None:
        room = SHOWN_ROWS - len(self.first)
        self.first += [(place, row, value) for row, value in zip(rows, shown, strict=False)][:room]
        self.count += len(rows)

    def __str__(self) -> str:
        place, row, value = self.first[0]
        parts = [f"{place}, row {row:,}: {self.kind.subject} {value}".replace(":  ", ": ")]
        for other, row, value in self.first[1:]:
            parts.append(f"{'' if other == place else other + ', '}row {row:,}: {value}")
        more = ", ..." if self.count > len(self.first) else ""
        return f"{counted(self.count, 'row')}: {', '.join(parts)}{more}; {self.kind.advice}"


class Problems:
    """The unusable rows of all tables that are read together.

    They are refused or dropped, as `on_bad_row` says; empty: refused, and dropping them is not offered.
    """

    def __init__(self, on_bad_row: str = "") -> None:
        self.drops = on_bad_row == "drop"
        self._offers_drop = on_bad_row == "refuse"
        self.n_rows = 0
        self.lost_ids: set[str] = set()
        """Ids in rows that cannot be used; their sequences may have no row left."""
        self._kinds: dict[Kind, Problem] = {}
        self._broken: dict[str, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def add(self, kind: Kind, place: str, rows: Sequence[int], shown: Iterable[str]) -> None:
        """Note rows of a table with a problem of this kind; `shown` are the values of the first."""
        self._kinds.setdefault(kind, Problem(kind)).add(place, rows, shown)

    def add_broken(self, kind: Kind, place: str, row: int, shown: str) -> None:
        """Note, once, a row whose line is broken; readers leave it out."""
        rows = self._broken.setdefault(place, set())
        if row not in rows:
            rows.add(row)
            self.add(kind, place, [row], [shown])
            self.n_rows += 1

    def broken(self, place: str) -> NDArray[np.int64]:
        """The numbers of the broken rows of a table so far."""
        return np.array(sorted(self._broken.get(place, ())), np.int64)

    def refuse(self) -> None:
        """Raise a DataError that lists all problems."""
        raise DataError(_text(self._heading(), self._kinds.values()))

    def settle(self) -> None:
        """Refuse the tables if they have problems; warn if rows with problems are to be dropped."""
        if not self:
            return
        if not self.drops:
            self.refuse()
        if lasting := [problem for kind, problem in self._kinds.items() if not kind.droppable]:
            raise DataError(_text(UNFIT, lasting))
        warn(_text(f"dropped {counted(self.n_rows, 'row')} that cannot be used", self._kinds.values()))

    def _heading(self) -> str:
        if not self.n_rows:
            return UNFIT
        them = "it" if self.n_rows == 1 else "them"
        drop = f"; correct {them}, or drop {them} with {argument('on_bad_row', 'drop')}"
        return f"{counted(self.n_rows, 'row')} cannot be used{drop if self._offers_drop else ''}"


def _text(heading: str, problems: Iterable[Problem]) -> str:
    """A heading and the problems, the most frequent first."""
    ordered = sorted(problems, key=lambda problem: -problem.count)
    lines = [f"  {problem}" for problem in ordered[:SHOWN_KINDS]]
    if more := len(ordered) - len(lines):
        lines.append(f"  and {counted(more, 'other kind')} of problems")
    return "\n".join([f"{heading}:", *lines])


def file_rows(positions: NDArray[np.int64], removed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row numbers in a file (from 1) of rows by their position (from 0) among those not removed.

    >>> file_rows(np.array([0, 1, 2]), np.array([2, 3])).tolist()
    [1, 4, 5]
    """
    numbers = positions + 1
    return numbers + np.searchsorted(removed - np.arange(len(removed)), numbers, side="right")
