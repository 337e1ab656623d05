"""Names of sequences, `subject@index time`, and the table that says where each comes from."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.cohort.index_times import IndexTimes


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
    """A row per sequence: sequence_id, subject, time, case, group and labels."""
    times = pl.Series("time", index.times[moments])
    if time_kind == "datetime":
        micro = (times * 1e6).round().set(times.is_infinite(), None).cast(pl.Int64)
        times = micro.cast(pl.Datetime("us", "UTC")).alias("time")
    rows = index.label_rows.take(moments)
    names = pl.Series(index.label_names, dtype=pl.String).gather(rows.gather(index.labels))
    labels = pa.LargeListArray.from_arrays(rows.offsets, names.to_arrow())
    return pl.DataFrame(
        {
            "sequence_id": pl.Series(ids),
            "subject": pl.Series(subjects.take(pa.array(index.subjects[moments]))),
            "time": times,
            "case": rows.lengths > 0,
            "group": np.arange(len(moments)) if groups is None else groups,
            "labels": pl.Series(labels),
        }
    )
