"""Names of sequences, `subject@index time`, and the table that says where each comes from."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.cohort.index_times import IndexTimes
from eventcargo.ragged import Ragged


def sequence_names(
    subjects: pa.Array, index: IndexTimes, moments: NDArray[np.int64], kind: str, time_kind: str
) -> pa.Array:
    """The names of some moments; whole histories have the name of their subject."""
    names = subjects.take(pa.array(index.subjects[moments]))
    if kind == "end":
        return names
    texts = time_texts(index.times[moments], time_kind)
    return pc.binary_join_element_wise(names, texts, pa.scalar("@", pa.large_string()))


def time_texts(times: NDArray[np.float64], time_kind: str) -> pa.Array:
    """Times as text: dates in ISO-8601 without empty fractions of a second.

    >>> time_texts(np.array([0.0, 1.5]), "datetime").to_pylist()
    ['1970-01-01T00:00:00', '1970-01-01T00:00:01.500000']
    """
    if time_kind != "datetime":
        return pa.array(times).cast(pa.large_string())
    moments = pa.array(np.round(times * 1e6).astype(np.int64)).cast(pa.timestamp("us"))
    texts = pc.strftime(moments, "%Y-%m-%dT%H:%M:%S").cast(pa.large_string())
    return pc.replace_substring_regex(texts, r"\.0+$", "")


def index_table(
    ids: pa.Array,
    index: IndexTimes,
    moments: NDArray[np.int64],
    subjects: pa.Array,
    groups: NDArray[np.int32] | None,
    time_kind: str,
) -> pl.DataFrame:
    """A row per sequence: sequence_id, subject, time, case, group, labels, and which are known if not all."""
    times = pl.Series("time", index.times[moments])
    if time_kind == "datetime":
        micro = (times * 1e6).round().set(times.is_infinite(), None).cast(pl.Int64)
        times = micro.cast(pl.Datetime("us", "UTC")).alias("time")
    rows = index.label_rows.take(moments)
    known = None if index.known is None else index.known.take(moments)
    return pl.DataFrame(
        {
            "sequence_id": pl.Series(ids),
            "subject": pl.Series(subjects.take(pa.array(index.subjects[moments]))),
            "time": times,
            "case": rows.lengths > 0,
            "group": np.arange(len(moments)) if groups is None else groups,
            "labels": _named(rows, index.labels, index.label_names),
            **({} if known is None else {"known": _named(known.rows, known.labels, index.label_names)}),
        }
    )


def _named(rows: Ragged, labels: NDArray[np.int32], names: Sequence[str]) -> pl.Series:
    """Labels by name, a list per row."""
    named = pl.Series(names, dtype=pl.String).gather(rows.gather(labels))
    return pl.Series(pa.LargeListArray.from_arrays(rows.offsets, named.to_arrow()))
