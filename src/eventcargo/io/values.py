"""ValueColumn: a further number of every event (mileage, temperature) as float64, NaN if not recorded.

Nulls, empty text fields and NaN all mean "not recorded". Other values that are not numbers are refused with
their row, and so are numbers too large for float32, in which models compute.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, EventCargoWarning, counted
from eventcargo.io.bisection import first_failure
from eventcargo.io.columns import BadValueError, exact_floats, first_true, is_text, plain
from eventcargo.io.sources import Source
from eventcargo.io.times import ERRORS, parse_numbers
from eventcargo.sequences import check_value_names

LARGEST = float(np.finfo(np.float32).max)


class ValueColumn:
    """The numbers of all rows as float64."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._numbers: list[NDArray[np.float64]] = []

    def add(self, values: pa.Array) -> None:
        values = plain(values)
        if len(values) == values.null_count:
            self._numbers.append(np.full(len(values), np.nan))
        elif is_text(values.type):
            values = values.cast(pa.large_string())
            self._numbers.append(self._checked(self._parsed(values), values))
        else:
            self._numbers.append(self._checked(self._typed(values), values))

    def finish(self) -> NDArray[np.float64]:
        """The numbers of all rows."""
        numbers = np.concatenate([np.zeros(0), *self._numbers])
        self._numbers = []
        return numbers

    def _parsed(self, values: pa.Array) -> pa.Array:
        filled = pc.if_else(pc.equal(values, ""), None, values)
        try:
            return parse_numbers(filled)
        except pa.ArrowInvalid:
            offset = first_failure(parse_numbers, filled, ERRORS)
            raise self._refusal(values, offset, "use a number, or nothing if not recorded") from None

    def _typed(self, values: pa.Array) -> pa.Array:
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            offset = first_true(pc.is_valid(values))
            raise self._refusal(values, offset, f"use numbers, not the type {kind}")
        return exact_floats(self.column, values, "subtract an offset")

    def _checked(self, numbers: pa.Array, values: pa.Array) -> NDArray[np.float64]:
        """The numbers, checked to fit float32; all NaN are the same, so that equal data have equal bytes."""
        floats: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
        too_large = np.abs(floats) > LARGEST
        if too_large.any():
            offset = int(np.argmax(too_large))
            raise self._refusal(values, offset, f"use finite numbers up to {LARGEST:.3g}")
        missing = np.isnan(floats)
        return np.where(missing, np.nan, floats) if missing.any() else floats

    def _refusal(self, values: pa.Array, offset: int, advice: str) -> BadValueError:
        return BadValueError(f"{self.column} is {values[offset].as_py()!r}; {advice}", offset)


def open_values(sources: Sequence[Source], names: Sequence[str], taken: Sequence[str]) -> list[ValueColumn]:
    """A collector for each named column, which must be in all sources and have no other use."""
    check_value_names(names)
    for name in names:
        if name in taken:
            raise ConfigError(
                f"values={list(names)}: {name!r} is already the column of ids, times or events; name another"
            )
        for source in sources:
            source.check_column(name, "values")
    return [ValueColumn(name) for name in names]


def gather_values(
    columns: Sequence[ValueColumn], order: "NDArray[Any] | slice", n_rows: int
) -> NDArray[np.float64]:
    """The columns side by side, (rows, columns), with rows in this order; one at a time, to save memory."""
    values = np.empty((n_rows, len(columns)))
    for at, column in enumerate(columns):
        values[:, at] = column.finish()[order]
        if n_rows and np.isnan(values[:, at]).all():
            warnings.warn(
                f"{column.column} is not recorded in any of {counted(n_rows, 'row')}",
                EventCargoWarning,
                stacklevel=5,
            )
    return values
