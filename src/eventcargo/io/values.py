"""ValueColumn: a further number of every event (mileage, temperature) as float64, NaN if not recorded.

Nulls, empty text fields and NaN all mean "not recorded". Other values that are not numbers cannot be used,
nor can numbers too large for float32, in which models compute.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, argument, counted, warn
from eventcargo.io.columns import inexact, is_text, plain
from eventcargo.io.problems import Bad, bad_values
from eventcargo.io.sources import Source
from eventcargo.io.times import parse_numbers
from eventcargo.sequences import check_value_names

LARGEST = float(np.finfo(np.float32).max)


class ValueColumn:
    """The numbers of all rows as float64."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._subject = f"{column} is"
        self._numbers: list[NDArray[np.float64]] = []

    def parse(self, values: pa.Array) -> tuple[NDArray[np.float64], list[Bad]]:
        values = plain(values)
        if len(values) == values.null_count:
            return np.full(len(values), np.nan), []
        if is_text(values.type):
            return self._text(values.cast(pa.large_string()))
        return self._typed(values)

    def keep(self, parsed: NDArray[np.float64]) -> None:
        self._numbers.append(parsed)

    def finish(self) -> NDArray[np.float64]:
        """The numbers of all rows."""
        numbers = np.concatenate([np.zeros(0), *self._numbers])
        self._numbers = []
        return numbers

    def _text(self, values: pa.Array) -> tuple[NDArray[np.float64], list[Bad]]:
        numbers, is_number = parse_numbers(values)
        is_given = pc.not_equal(values, "").fill_null(False).to_numpy(zero_copy_only=False)
        advice = "use a number, or nothing if not recorded"
        bad = bad_values(self._subject, advice, is_given & ~is_number, values)
        return self._checked(numbers, values, bad)

    def _typed(self, values: pa.Array) -> tuple[NDArray[np.float64], list[Bad]]:
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            advice = f"use numbers, not the type {kind}"
            return np.zeros(0), bad_values(self._subject, advice, pc.is_valid(values), values)
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return self._checked(numbers, values, inexact(self._subject, values, "subtract an offset"))

    def _checked(
        self, numbers: NDArray[np.float64], values: pa.Array, bad: list[Bad]
    ) -> tuple[NDArray[np.float64], list[Bad]]:
        """The numbers, checked to fit float32; all NaN are the same, so that equal data have equal bytes."""
        advice = f"use finite numbers up to {LARGEST:.3g}"
        bad = bad + bad_values(self._subject, advice, np.abs(numbers) > LARGEST, values)
        missing = np.isnan(numbers)
        return np.where(missing, np.nan, numbers) if missing.any() else numbers, bad


def open_values(sources: Sequence[Source], names: Sequence[str], taken: Sequence[str]) -> list[ValueColumn]:
    """A collector for each named column, which must be in all sources and have no other use."""
    check_value_names(names)
    for name in names:
        if name in taken:
            raise ConfigError(
                f"{argument('values', list(names))}: {name!r} is already the column of ids, times or events; "
                "name another"
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
            warn(f"{column.column} is not recorded in any of {counted(n_rows, 'row')}")
    return values
