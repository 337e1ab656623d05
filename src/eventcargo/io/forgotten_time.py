"""Warn if a table without a column `time` has another column that looks like times."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from eventcargo.errors import DataError, argument, warn
from eventcargo.io.columns import is_text, plain
from eventcargo.io.dates import not_dates
from eventcargo.io.sources import Source
from eventcargo.io.times import parse_numbers

WORDS = {"time", "date", "datetime", "timestamp", "ts", "when", "zeit", "zeitpunkt", "zeitstempel", "datum"}
LIKE_A_TIME = r"\d+[./:-]\d+"
"""Dates and clock times of other formats than ISO-8601."""

SAMPLE_ROWS = 100
MOST_COLUMNS = 200
"""Columns that are looked at: a table of thousands has measurements or labels in them."""

MOST_ODD = 0.5
"""Share of values that may be no times: a table may have some rows that cannot be used."""


def warn_of_times(source: Source, used: list[str]) -> None:
    """Warn of the first column, besides those in use, that looks like times."""
    others = [column for column in source.columns if column not in used][:MOST_COLUMNS]
    try:
        sample = source.peek(others)
    except DataError:  # a column nobody asked for may hold anything
        sample = None
    for column in others:
        values = None if sample is None else plain(sample.column(column))[:SAMPLE_ROWS].drop_null()
        if _has_times(values, named_like_a_time(column)):
            warn(
                f"{source.place} has no column 'time', so the order of rows counts; column {column!r} looks "
                f"like times: name it with {argument('time', column)}"
            )
            return


def named_like_a_time(column: str) -> bool:
    """Whether a name has a word for time in it.

    >>> [named_like_a_time(name) for name in ("recorded_at", "eventTime", "TS", "format", "update")]
    [True, True, True, False, False]
    """
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-zäöü]+|[A-Z]+", column)]
    return bool(WORDS & set(words)) or (len(words) > 1 and words[-1] == "at")


def _has_times(values: pa.Array | None, is_named: bool) -> bool:
    """Whether values are dates, or numbers in a column that is named like a time."""
    if values is None:
        return is_named
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return True
    if not is_text(kind):
        return is_named and bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
    text = values.cast(pa.large_string())
    text = text.filter(pc.not_equal(text, ""))
    if not len(text):
        return False
    if not_dates(text).mean() < MOST_ODD:
        return True
    is_like = pc.match_substring_regex(text, LIKE_A_TIME).to_numpy(zero_copy_only=False)
    return is_named and bool((parse_numbers(text)[1] | is_like).mean() > 1 - MOST_ODD)
