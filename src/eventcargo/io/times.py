"""TimeColumn: times as float64, numbers unchanged and dates as seconds since 1970 UTC.

The first value that is a time decides whether a column holds numbers or dates; later values of the other kind
cannot be used. Dates with a time zone are converted to UTC; dates without are read in `time_zone`. Fractions
of a microsecond are dropped and counted.
"""

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import argument, counted, warn
from eventcargo.io.columns import inexact, is_text, plain
from eventcargo.io.config import ReadConfig
from eventcargo.io.dates import Moments, not_dates, parse_dates, parse_format, typed_dates
from eventcargo.io.problems import Bad, bad_values
from eventcargo.io.sources import READING

Kind = Literal["number", "datetime"]

NAMES = {"number": "a number", "datetime": "a date"}
BEYOND_MICROSECONDS = r"\.\d{6}0*[1-9]"


@dataclass
class Times:
    """The times of a batch; how many lost a fraction of a microsecond, and how many occur twice."""

    seconds: NDArray[np.float64]
    n_cut: int = 0
    n_twice: int = 0


class TimeColumn:
    """The times of all rows as float64; `kind` is None before the first value."""

    def __init__(self, column: str, allow_null: bool = False, reading: ReadConfig = READING) -> None:
        self.column = column
        self.kind: Kind | None = None
        self._subject = f"{column} is"
        self._reading = reading
        self._allow_null = allow_null
        self._times: list[Times] = []

    def parse(self, values: pa.Array) -> tuple[Times, list[Bad]]:
        values = plain(values)
        if self._reading.time_format and pa.types.is_integer(values.type):
            values = values.cast(pa.large_string())
        bad = []
        if values.null_count and not self._allow_null:
            bad = bad_values(self._subject, "every row needs a time", pc.is_null(values), values)
        if len(values) == values.null_count:
            return Times(np.full(len(values), np.nan)), bad
        times, bad_times = (self._text if is_text(values.type) else self._typed)(values)
        return times, bad + bad_times

    def keep(self, parsed: Times) -> None:
        self._times.append(parsed)

    def finish(self) -> NDArray[np.float64]:
        """The times of all rows; warn of dropped fractions and of times that occur twice."""
        if n_cut := sum(times.n_cut for times in self._times):
            warn(f"dropped fractions of a microsecond from {counted(n_cut, 'time')}")
        if n_twice := sum(times.n_twice for times in self._times):
            warn(
                f"{counted(n_twice, 'value')} of {self.column} can be two times in "
                f"{self._reading.time_zone}, where clocks are set back; read as the earlier"
            )
        seconds = np.concatenate([np.zeros(0), *(times.seconds for times in self._times)])
        self._times = []
        return seconds

    def _typed(self, values: pa.Array) -> tuple[Times, list[Bad]]:
        kind = values.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return self._expect("datetime", values) or self._dates(
                typed_dates(values, self._reading.time_zone), values
            )
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return self._expect("number", values) or self._numbers(values)
        every = np.ones(len(values), bool)
        advice = f"use numbers or dates, not the type {kind}"
        return Times(np.zeros(0)), bad_values(self._subject, advice, every, values)

    def _expect(self, kind: Kind, values: pa.Array) -> tuple[Times, list[Bad]] | None:
        """All values as bad ones if they are of another kind than those before."""
        self.kind = self.kind or kind
        if self.kind == kind:
            return None
        return Times(np.zeros(0)), self._other_kind(kind, pc.is_valid(values), values)

    def _other_kind(self, kind: Kind, mask: object, values: pa.Array) -> list[Bad]:
        before = NAMES["number" if kind == "datetime" else "datetime"]
        return bad_values(self._subject, f"{NAMES[kind]}, but {before} before; use one kind", mask, values)

    def _numbers(self, values: pa.Array) -> tuple[Times, list[Bad]]:
        numbers = cast(
            NDArray[np.float64], values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        )
        bad = inexact(self._subject, values, "subtract an offset, or give dates")
        return Times(numbers), bad + self._not_finite(numbers, values)

    def _not_finite(self, numbers: NDArray[np.float64], values: pa.Array) -> list[Bad]:
        is_bad = ~np.isfinite(numbers) & pc.is_valid(values).to_numpy(zero_copy_only=False)
        return bad_values(self._subject, "every time must be a finite number", is_bad, values)

    def _dates(self, moments: Moments, values: pa.Array) -> tuple[Times, list[Bad]]:
        zone = self._reading.time_zone
        advice = f"there is no such time in {zone}, where clocks are set forward; correct it"
        bad = bad_values(self._subject, advice, moments.is_skipped, values)
        if not is_text(values.type):
            bad += bad_values(self._subject, "use dates of the years 1 to 9999", moments.is_unread, values)
        return Times(moments.seconds, moments.n_cut, moments.n_twice), bad

    def _text(self, values: pa.Array) -> tuple[Times, list[Bad]]:
        values = values.cast(pa.large_string())
        if self._reading.time_format:
            self.kind = "datetime"
            return self._formatted(values)
        self.kind = self.kind or _kind_of(values)
        return self._number_text(values) if self.kind == "number" else self._date_text(values)

    def _number_text(self, values: pa.Array) -> tuple[Times, list[Bad]]:
        numbers, is_number = parse_numbers(values)
        is_other = ~is_number & pc.is_valid(values).to_numpy(zero_copy_only=False)
        if not is_other.any():
            return Times(numbers), self._not_finite(numbers, values)
        is_date = is_other & ~not_dates(values)
        bad = self._other_kind("datetime", is_date, values)
        bad += bad_values(self._subject, _advice(), is_other & ~is_date, values)
        return Times(numbers), bad + self._not_finite(np.where(is_other, 0.0, numbers), values)

    def _date_text(self, values: pa.Array) -> tuple[Times, list[Bad]]:
        try:
            moments = parse_dates(values, self._reading.time_zone)
        except pa.ArrowInvalid:
            is_bad = not_dates(values)
            is_number = is_bad & parse_numbers(values)[1]
            bad = self._other_kind("number", is_number, values)
            return Times(np.zeros(0)), bad + bad_values(self._subject, _advice(), is_bad & ~is_number, values)
        times, skipped = self._dates(moments, values)
        times.n_cut = pc.sum(pc.match_substring_regex(values, BEYOND_MICROSECONDS)).as_py() or 0
        return times, skipped

    def _formatted(self, values: pa.Array) -> tuple[Times, list[Bad]]:
        moments = parse_format(values, self._reading.time_format, self._reading.time_zone)
        advice = f"not of the format {argument('time_format', self._reading.time_format)}"
        bad = bad_values(self._subject, advice, moments.is_unread, values)
        times, skipped = self._dates(moments, values)
        return times, bad + skipped


def parse_numbers(values: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Text as numbers, NaN where it is none, and where it is one."""
    numbers = pl.Series(values, dtype=pl.String).cast(pl.Float64, strict=False)
    return numbers.fill_null(np.nan).to_numpy(), numbers.is_not_null().to_numpy()


def _kind_of(values: pa.Array) -> Kind | None:
    """The kind of the first value that is a time; None if there is none."""
    for some in (values.drop_null()[:1], values):
        is_date = ~not_dates(some) & pc.is_valid(some).to_numpy(zero_copy_only=False)
        is_time = parse_numbers(some)[1] | is_date
        if is_time.any():
            return "datetime" if is_date[np.argmax(is_time)] else "number"
    return None


def _advice() -> str:
    other = argument("time_format", "%d.%m.%Y %H:%M")
    return f"use numbers, or dates such as 2024-05-31T12:00:00, or name the format, as in {other}"
