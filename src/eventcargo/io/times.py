"""TimeColumn: times as float64, numbers unchanged and dates as seconds since 1970 UTC.

The first value decides whether a column holds numbers or dates; a later value of the other kind is refused.
Dates with a time zone are converted to UTC, dates without are read as UTC. Fractions of a microsecond are
dropped and counted.
"""

import warnings
from collections.abc import Callable
from typing import Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import EventCargoWarning, counted
from eventcargo.io.bisection import first_failure, parses
from eventcargo.io.columns import BadValueError, exact_floats, first_true, is_text, plain

Kind = Literal["number", "datetime"]

ZONE = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
BEYOND_MICROSECONDS = r"(\.\d{6})\d+"
MICROSECONDS_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
ERRORS = (pa.ArrowInvalid,)


class TimeColumn:
    """The times of all rows as float64; `kind` is None before the first value."""

    def __init__(self, column: str, allow_null: bool = False) -> None:
        self.column = column
        self.kind: Kind | None = None
        self.n_cut = 0
        self._allow_null = allow_null
        self._times: list[NDArray[np.float64]] = []

    def add(self, values: pa.Array) -> None:
        values = plain(values)
        if values.null_count and not self._allow_null:
            raise BadValueError(
                f"{self.column} is null; every row needs a time", first_true(pc.is_null(values))
            )
        if len(values) == values.null_count:
            self._times.append(np.full(len(values), np.nan))
        elif is_text(values.type):
            self._add_text(values)
        else:
            self._add_typed(values)

    def finish(self) -> NDArray[np.float64]:
        """The times of all rows; warn of dropped fractions of a microsecond."""
        if self.n_cut:
            warnings.warn(
                f"dropped fractions of a microsecond from {counted(self.n_cut, 'time')}",
                EventCargoWarning,
                stacklevel=4,
            )
        times = np.concatenate([np.zeros(0), *self._times])
        self._times = []
        return times

    def _add_typed(self, values: pa.Array) -> None:
        kind = values.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            self._expect("datetime", values)
            self._times.append(self._seconds(values))
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            self._expect("number", values)
            self._times.append(self._numbers(values))
        else:
            raise BadValueError(
                f"{self.column} is {values[0].as_py()!r} of type {kind}; use numbers or dates", 0
            )

    def _expect(self, kind: Kind, values: pa.Array) -> None:
        self.kind = self.kind or kind
        if self.kind != kind:
            names = {"number": "a number", "datetime": "a date"}
            raise BadValueError(
                f"{self.column} is {values[0].as_py()!r}, {names[kind]}, but {names[self.kind]} before; "
                "use one kind",
                0,
            )

    def _numbers(self, values: pa.Array) -> NDArray[np.float64]:
        return self._finite(exact_floats(self.column, values, "subtract an offset, or give dates"), values)

    def _finite(self, numbers: pa.Array, values: pa.Array) -> NDArray[np.float64]:
        times = cast(NDArray[np.float64], numbers.to_numpy(zero_copy_only=False))
        bad = ~np.isfinite(times) & pc.is_valid(values).to_numpy(zero_copy_only=False)
        if bad.any():
            offset = int(np.argmax(bad))
            raise BadValueError(
                f"{self.column} is {values[offset].as_py()!r}; every time must be a finite number", offset
            )
        return times

    def _seconds(self, values: pa.Array) -> NDArray[np.float64]:
        """Seconds since 1970 UTC of Arrow dates; Arrow stores dates with a zone as UTC."""
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("s"))
        unit = values.type.unit
        ticks = values.cast(pa.int64())
        missing = pc.is_null(ticks).to_numpy(zero_copy_only=False)
        whole = ticks.fill_null(0).to_numpy(zero_copy_only=False)
        if unit == "ns":
            self.n_cut += int(np.count_nonzero(whole % 1_000))
            seconds = (whole // 1_000) / 1e6
        else:
            seconds = whole / (1_000_000 / MICROSECONDS_PER_UNIT[unit])
        seconds[missing] = np.nan
        return cast(NDArray[np.float64], seconds)

    def _add_text(self, values: pa.Array) -> None:
        values = values.cast(pa.large_string())
        if self.kind is None:
            self.kind = "number" if parses(parse_numbers, values.drop_null()[:1], ERRORS) else "datetime"
        parse = parse_numbers if self.kind == "number" else parse_dates
        try:
            parsed = parse(values)
        except pa.ArrowInvalid:
            raise self._refuse_text(values, parse) from None
        if self.kind == "number":
            self._times.append(self._finite(parsed, values))
        else:
            self.n_cut += pc.sum(pc.match_substring_regex(values, r"\.\d{6}0*[1-9]")).as_py() or 0
            self._times.append(self._seconds(parsed))

    def _refuse_text(self, values: pa.Array, parse: Callable[[pa.Array], pa.Array]) -> BadValueError:
        offset = first_failure(parse, values, ERRORS)
        value = values[offset].as_py()
        other = parse_dates if parse is parse_numbers else parse_numbers
        if parses(other, values[offset : offset + 1], ERRORS):
            kinds = ("a number", "a date") if parse is parse_dates else ("a date", "a number")
            return BadValueError(
                f"{self.column} is {value!r}, {kinds[0]}, but {kinds[1]} before; use one kind", offset
            )
        return BadValueError(
            f"{self.column} is {value!r}; use numbers, or dates such as 2024-05-31T12:00:00", offset
        )


def parse_numbers(values: pa.Array) -> pa.Array:
    return values.cast(pa.float64())


def parse_dates(values: pa.Array) -> pa.Array:
    """Timestamps of ISO-8601 strings; Arrow parses strings with and without a zone apart."""
    values = pc.replace_substring_regex(values, BEYOND_MICROSECONDS, r"\1")
    has_zone = pc.match_substring_regex(values, ZONE)
    zoned = pc.if_else(has_zone, values, None).cast(pa.timestamp("us", "UTC"))
    plain = pc.if_else(has_zone, None, values).cast(pa.timestamp("us"))
    return pc.coalesce(zoned.cast(pa.timestamp("us")), plain)
