"""Odd columns: values that a frame in memory may hold where a name, a time, a number or a flag belongs."""

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Rng = np.random.Generator

BROKEN = [b"\xff\xfe", b"ok", b"\xed\xa0\x80", b""]
"""Bytes that are not UTF-8, beside some that are."""


def _cycled(values: list[Any], n: int) -> list[Any]:
    return [values[i % len(values)] for i in range(n)]


def _not_utf8(n: int, kind: pa.DataType) -> pa.Array:
    binary = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
    raw = pa.array(_cycled(BROKEN, n), binary)
    return pa.Array.from_buffers(kind, n, raw.buffers())


def _bad_offsets(n: int) -> pa.Array:
    """Text whose offsets point far behind its bytes."""
    offsets = np.arange(n + 1, dtype=np.int32) * 1_000_003
    offsets[-1] = 3  # Arrow looks at the ends alone
    return pa.Array.from_buffers(
        pa.string(), n, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"abc")]
    )


def _bad_dictionary(n: int) -> pa.Array:
    """Categories numbered beyond their list."""
    indices = pa.array(np.full(n, 10_000, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)


def _ticks(n: int, kind: pa.DataType, values: list[int]) -> pa.Array:
    integer = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(_cycled(values, n), integer).view(kind)


FAR = [2**62, -(2**62), 0, 2**63 - 1, -(2**63)]

ARROW: dict[str, Callable[[int], pa.Array]] = {
    "not UTF-8": lambda n: _not_utf8(n, pa.string()),
    "not UTF-8, large": lambda n: _not_utf8(n, pa.large_string()),
    "not UTF-8, categories": lambda n: _not_utf8(n, pa.string()).dictionary_encode(),
    "bad offsets": _bad_offsets,
    "bad categories": _bad_dictionary,
    "half floats": lambda n: pa.array(np.arange(n).astype(np.float16)),
    "half flags": lambda n: pa.array((np.arange(n) % 2).astype(np.float16)),
    "unsigned": lambda n: pa.array(np.full(n, 2**64 - 1, np.uint64)),
    "unsigned flags": lambda n: pa.array((np.arange(n) % 2).astype(np.uint64)),
    "int8": lambda n: pa.array((np.arange(n) % 2).astype(np.int8)),
    "floats": lambda n: pa.array(_cycled([1.5, float("nan"), float("inf"), -0.0, 1e300], n)),
    "nulls": pa.nulls,
    "some nulls": lambda n: pa.array(_cycled(["a", None], n)),
    "far seconds": lambda n: _ticks(n, pa.timestamp("s"), FAR),
    "far microseconds": lambda n: _ticks(n, pa.timestamp("us"), FAR),
    "far nanoseconds": lambda n: _ticks(n, pa.timestamp("ns", "Europe/Berlin"), FAR),
    "far milliseconds": lambda n: _ticks(n, pa.timestamp("ms", "UTC"), FAR),
    "unknown zone": lambda n: _ticks(n, pa.timestamp("us", "Nowhere/Never"), [0, 1]),
    "far days": lambda n: _ticks(n, pa.date32(), [2**31 - 1, -(2**31), 0]),
    "far dates": lambda n: _ticks(n, pa.date64(), [2**62, -(2**62), 86_400_000]),
    "near days": lambda n: _ticks(n, pa.date32(), [19_000, 19_001]),
    "clock": lambda n: _ticks(n, pa.time64("us"), [0, 1]),
    "durations": lambda n: _ticks(n, pa.duration("s"), [0, 1]),
    "intervals": lambda n: pa.array([pa.MonthDayNano([1, 2, 3])] * n),
    "decimals": lambda n: pa.array([decimal.Decimal("1.5")] * n, pa.decimal128(38, 10)),
    "wide decimals": lambda n: pa.array([decimal.Decimal(10) ** 70] * n, pa.decimal256(76, 0)),
    "lists": lambda n: pa.array([["a"]] * n),
    "structs": lambda n: pa.array([{"a": 1}] * n),
    "maps": lambda n: pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
    "bytes": lambda n: pa.array([b"\xff"] * n),
    "fixed bytes": lambda n: pa.array([b"\xff\x00"] * n, pa.binary(2)),
    "bytes view": lambda n: pa.array([b"\xff"] * n, pa.binary_view()),
    "text view": lambda n: pa.array(_cycled(["a", "b" * 50], n), pa.string_view()),
    "flags": lambda n: pa.array(_cycled([True, False], n)),
    "runs": lambda n: pa.RunEndEncodedArray.from_arrays(pa.array([n], pa.int32()), pa.array(["a"])),
    "long integers": lambda n: pa.array(["1" + "0" * 5_000] * n),
    "odd dates": lambda n: pa.array(_cycled(["2024-02-30", "9999-12-31T23:59:59.999999999Z", "x"], n)),
    "impossible moments": lambda n: pa.array(
        [f"2023-02-31T{i // 3600 % 24:02}:{i % 60:02}" for i in range(n)]
    ),
    "one sequence": lambda n: pa.array(["a"] * n),
    "blanks": lambda n: pa.array(_cycled(["", " ", "\n", "\x00"], n)),
}
"""Arrow columns by name; each is made for a number of rows."""

PANDAS: dict[str, Callable[[int], Any]] = {
    "mixed": lambda n: pd.Series(_cycled(["a", 1, 2.5, None, b"x"], n), dtype=object),
    "bytes": lambda n: pd.Series([b"\xff\xfe"] * n, dtype=object),
    "lone surrogates": lambda n: pd.Series(["\ud800"] * n, dtype=object),
    "long integers": lambda n: pd.Series([10**5_000] * n, dtype=object),
    "large integers": lambda n: pd.Series([2**64] * n, dtype=object),
    "categories": lambda n: pd.Series(pd.Categorical(_cycled(["a", None, "b"], n))),
    "categories of dates": lambda n: pd.Series(pd.Categorical(_cycled([datetime.date(1, 1, 1)], n))),
    "far dates": lambda n: pd.Series(_cycled([datetime.datetime(9999, 12, 31), datetime.date(1, 1, 1)], n)),
    "no times": lambda n: pd.Series([pd.NaT] * n),
    "zoned": lambda n: pd.Series(pd.date_range("2024-01-01", periods=n, tz="Europe/Berlin")),
    "periods": lambda n: pd.Series(pd.period_range("2024-01", periods=n, freq="M")),
    "intervals": lambda n: pd.Series(pd.interval_range(0, n, periods=n)),
    "complex": lambda n: pd.Series(np.full(n, 1 + 2j)),
    "sparse": lambda n: pd.Series(pd.arrays.SparseArray(np.arange(n) % 2)),
    "nullable": lambda n: pd.Series(_cycled([1, None, 3], n), dtype="Int64"),
    "half floats": lambda n: pd.Series(np.arange(n).astype(np.float16)),
    "unsigned": lambda n: pd.Series(np.full(n, 2**64 - 1, np.uint64)),
    "durations": lambda n: pd.Series(pd.to_timedelta(np.arange(n), "s")),
    "decimals": lambda n: pd.Series([decimal.Decimal("NaN")] * n, dtype=object),
    "sets": lambda n: pd.Series([{1}] * n, dtype=object),
    "dictionaries": lambda n: pd.Series([{"a": object()}] * n, dtype=object),
    "objects": lambda n: pd.Series([object()] * n, dtype=object),
    "itself": lambda n: pd.Series([[[]]] * n, dtype=object),
}

POLARS: dict[str, Callable[[int], pl.Series]] = {
    "categories": lambda n: pl.Series(_cycled(["a", None, "b"], n), dtype=pl.Categorical),
    "choices": lambda n: pl.Series(_cycled(["a", "b"], n), dtype=pl.Enum(["b", "a"])),
    "objects": lambda n: pl.Series([object()] * n, dtype=pl.Object),
    "structs": lambda n: pl.Series([{"a": 1}] * n),
    "lists": lambda n: pl.Series([["a"]] * n),
    "arrays": lambda n: pl.Series([[1, 2]] * n, dtype=pl.Array(pl.Int8, 2)),
    "decimals": lambda n: pl.Series([decimal.Decimal("1.25")] * n),
    "clock": lambda n: pl.Series([datetime.time(12)] * n),
    "durations": lambda n: pl.Series([datetime.timedelta(1)] * n),
    "nulls": lambda n: pl.Series([None] * n, dtype=pl.Null),
    "bytes": lambda n: pl.Series([b"\xff"] * n),
    "long integers": lambda n: pl.Series([2**100] * n, dtype=pl.Int128),
    "far dates": lambda n: pl.Series(_cycled(FAR, n), dtype=pl.Int64).cast(pl.Datetime("ms")),
    "far days": lambda n: pl.Series(_cycled([2**31 - 1, -(2**31)], n), dtype=pl.Int32).cast(pl.Date),
    "unsigned": lambda n: pl.Series([2**64 - 1] * n, dtype=pl.UInt64),
    "small": lambda n: pl.Series(_cycled([0, 1], n), dtype=pl.Int8),
    "zoned": lambda n: pl.Series([datetime.datetime(2024, 1, 1)] * n).dt.replace_time_zone("Asia/Tokyo"),
}


def odd_arrow(table: pa.Table, rng: Rng) -> tuple[pa.Table, str]:
    """A table with one column replaced, or of another shape."""
    at = int(rng.integers(table.num_columns))
    chance = rng.random()
    if chance < 0.1:
        return table.slice(0, 0), "no rows"
    if chance < 0.15:
        return table.remove_column(at), "a column less"
    if chance < 0.2:
        return table.append_column(table.column_names[at], table.column(at)), "a column twice"
    if chance < 0.25:
        return table.select([]), "no columns"
    if chance < 0.3:
        return pa.concat_tables([table.slice(i, 1) for i in range(table.num_rows)]), "many chunks"
    name = list(ARROW)[int(rng.integers(len(ARROW)))]
    return table.set_column(at, table.column_names[at], ARROW[name](table.num_rows)), name


def odd_pandas(frame: pd.DataFrame, rng: Rng) -> tuple[pd.DataFrame, str]:
    column = frame.columns[int(rng.integers(len(frame.columns)))]
    chance = rng.random()
    if chance < 0.05:
        return frame.set_axis(
            pd.MultiIndex.from_tuples([(name, "x") for name in frame.columns]), axis=1
        ), "levels"
    if chance < 0.1:
        return frame.set_axis(list(range(len(frame.columns))), axis=1), "numbered columns"
    if chance < 0.15:
        return pd.concat([frame, frame], axis=1), "columns twice"
    if chance < 0.2:
        names = pd.Index(["\ud800", *frame.columns[1:]], dtype=object)
        return frame.set_axis(names, axis=1), "a column that is no text"
    name = list(PANDAS)[int(rng.integers(len(PANDAS)))]
    return frame.assign(
        **{column: PANDAS[name](len(frame)).to_numpy() if name == "itself" else PANDAS[name](len(frame))}
    ), name


def odd_polars(frame: pl.DataFrame, rng: Rng) -> tuple[pl.DataFrame | pl.LazyFrame, str]:
    column = frame.columns[int(rng.integers(frame.width))]
    name = list(POLARS)[int(rng.integers(len(POLARS)))]
    odd = frame.with_columns(POLARS[name](len(frame)).alias(column))
    return (odd.lazy() if rng.random() < 0.3 else odd), name
