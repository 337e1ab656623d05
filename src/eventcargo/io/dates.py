"""Dates as seconds since 1970 UTC, from ISO-8601 text, text of another format, or Arrow's types."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ZONE = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
FINER = r"(\.\d{6})\d+"
"""Digits beyond microseconds."""

DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
CLOCK = r"([01]\d|2[0-3])(:[0-5]\d(:[0-5]\d(\.\d+)?)?)?"
OFFSET = r"(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)"
LIKE_A_DATE = rf"^{DAY}([T ]{CLOCK}{OFFSET}?)?$"
"""Matches everything that Arrow reads as a date, and days that some months do not have."""

NO_SUCH_DAY = r"^\d{4}-(02-3|(04|06|09|11)-31)"
LEAP_DAY = r"^\d{4}-02-29"

FIRST, LAST = -62_135_596_800, 253_402_300_799
"""Seconds from 1970 to the start of the year 1 and to the end of the year 9999."""

MICROSECONDS = 1e6
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass
class Moments:
    """Dates of a batch: seconds since 1970 UTC, and which are unreadable, or skipped by the clocks.

    `n_cut` dates lost a fraction of a microsecond; `n_twice` occur twice because clocks are set back.
    """

    seconds: NDArray[np.float64]
    is_unread: NDArray[np.bool_]
    is_skipped: NDArray[np.bool_]
    n_cut: int = 0
    n_twice: int = 0


def typed_dates(values: pa.Array, zone: str) -> Moments:
    """Arrow's dates and timestamps; those with a zone are stored as UTC."""
    kind = values.type
    if pa.types.is_date32(kind):
        ticks, unit = pl.Series(values.cast(pa.int32())).cast(pl.Int64) * 86_400, "s"
    else:
        ticks, unit = pl.Series(values.cast(pa.int64())), "ms" if pa.types.is_date64(kind) else kind.unit
    least, most = (int(np.clip(end * PER_SECOND[unit], -(2**63), 2**63 - 1)) for end in (FIRST, LAST))
    is_far = ((ticks < least) | (ticks > most)).fill_null(False)
    ticks = ticks.set(is_far, None)
    n_cut = int((ticks % 1_000 != 0).sum() or 0) if unit == "ns" else 0
    micros = ticks // 1_000 if unit == "ns" else ticks * (1_000_000 // PER_SECOND[unit])
    moments = _local(micros, "" if getattr(kind, "tz", None) else zone)
    moments.n_cut, moments.is_unread = n_cut, is_far.to_numpy()
    return moments


def parse_dates(values: pa.Array, zone: str) -> Moments:
    """ISO-8601 text; all values must be dates or null."""
    zoned, local = _parse_iso(values)
    moments = _local(pl.Series(local.cast(pa.int64())), zone)
    utc = pl.Series(zoned.cast(pa.int64()))
    given = utc.is_not_null().to_numpy()
    moments.seconds = np.where(given, _seconds(utc), moments.seconds)
    return moments


def _parse_iso(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Timestamps of the text with a zone, and of the text without; Arrow parses them apart."""
    values = pc.replace_substring_regex(values, FINER, r"\1")
    has_zone = pc.match_substring_regex(values, ZONE)
    zoned = pc.if_else(has_zone, values, None).cast(pa.timestamp("us", "UTC"))
    return zoned.cast(pa.timestamp("us")), pc.if_else(has_zone, None, values).cast(pa.timestamp("us"))


def not_dates(values: pa.Array) -> NDArray[np.bool_]:
    """Which text is not a date in ISO-8601; nulls are not counted."""
    is_like = _matches(values, LIKE_A_DATE)
    is_leap = is_like & _matches(values, LEAP_DAY)
    years = pc.utf8_slice_codeunits(values.filter(pa.array(is_leap)), 0, 4).cast(pa.int64()).to_numpy()
    is_leap[is_leap] = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    is_date = is_like & ~_matches(values, NO_SUCH_DAY) & (~_matches(values, LEAP_DAY) | is_leap)
    return ~is_date & pc.is_valid(values).to_numpy(zero_copy_only=False)


def _matches(values: pa.Array, expression: str) -> NDArray[np.bool_]:
    matched = pc.match_substring_regex(values, expression).fill_null(False)
    return np.array(matched.to_numpy(zero_copy_only=False), bool)


def parse_format(values: pa.Array, form: str, zone: str) -> Moments:
    """Text of a format in the notation of strptime, such as %d.%m.%Y %H:%M."""
    text = pl.Series(values, dtype=pl.String)
    read = text.str.to_datetime(form, time_unit="us", strict=False)
    has_zone = getattr(read.dtype, "time_zone", None) is not None
    moments = _local(read.cast(pl.Int64), "" if has_zone else zone)
    moments.is_unread = (read.is_null() & text.is_not_null()).to_numpy()
    return moments


def _local(micros: pl.Series, zone: str) -> Moments:
    """Microseconds on the clocks of a zone as moments; without a zone, they are UTC."""
    nowhere = np.zeros(len(micros), bool)
    if not zone or zone == "UTC":
        return Moments(_seconds(micros), nowhere, nowhere)
    clocks = micros.cast(pl.Datetime("us"))
    utc = clocks.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").cast(pl.Int64)
    once = clocks.dt.replace_time_zone(zone, ambiguous="null", non_existent="null")
    skipped = (utc.is_null() & micros.is_not_null()).to_numpy()
    return Moments(_seconds(utc), nowhere, skipped, n_twice=once.null_count() - utc.null_count())


def _seconds(micros: pl.Series) -> NDArray[np.float64]:
    """Seconds; NaN for null."""
    whole = micros.fill_null(0).to_numpy()
    return np.where(micros.is_null().to_numpy(), np.nan, whole / MICROSECONDS)
