"""Clean-up of columns before sequences are made: names written in several ways, rows recorded twice.

Nothing here warns: the functions return counts, and the caller tells them.
"""

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

WHITE_SPACE = r"\s+"


def normal_name(names: pl.Expr) -> pl.Expr:
    """Names without blanks at the ends, inner white space as one blank, and in upper case.

    Upper case, because codes are written so (P0A1F, J44.1): a code that is already clean stays as it is.

    >>> pl.select(normal_name(pl.lit("  p0a1f  Pump ")))["literal"].to_list()
    ['P0A1F PUMP']
    """
    return names.cast(pl.String).str.replace_all(WHITE_SPACE, " ").str.strip_chars().str.to_uppercase()


def normalise(codes: NDArray[np.int32], names: pa.Array) -> tuple[NDArray[np.int32], pa.Array, int]:
    """Codes and names after `normal_name`; how many names were joined with another.

    >>> codes, names, n_joined = normalise(np.array([0, 1, 2]), pa.array(["P01 ", "p01", "u2"]))
    >>> codes.tolist(), names.to_pylist(), n_joined
    ([0, 0, 1], ['P01', 'U2'], 1)
    """
    clean = pl.Series("name", names, dtype=pl.String).to_frame().select(normal_name(pl.col("name")))["name"]
    kept, number_of = np.unique(clean.to_numpy(), return_inverse=True)
    joined = pa.array(kept.tolist(), pa.large_string())
    return number_of.astype(np.int32)[codes], joined, len(names) - len(kept)


def distinct_rows(
    sequences: NDArray[np.int32],
    times: NDArray[np.float64],
    events: NDArray[np.int32],
    values: NDArray[np.float64],
) -> tuple[NDArray[np.int64], int]:
    """The first of each set of rows with the same sequence, time, event and values; how many are left out.

    Values that are not recorded (NaN) are equal. Positions are in the order of the rows.

    >>> columns = np.array([0, 0, 0]), np.array([1.0, 1.0, 2.0]), np.array([5, 5, 5])
    >>> rows, n_repeated = distinct_rows(*columns, np.full((3, 1), np.nan))
    >>> rows.tolist(), n_repeated
    ([0, 2], 1)
    """
    columns = {"sequence": sequences, "time": times, "event": events}
    columns |= {f"value {at}": values[:, at] for at in range(values.shape[1])}
    table = pl.DataFrame(columns).with_row_index("row")
    rows = table.unique(subset=list(columns), keep="first", maintain_order=True)["row"].to_numpy()
    return rows.astype(np.int64), len(table) - len(rows)
