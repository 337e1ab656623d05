"""Tables of our own as Parquet with a checksum of their content: what was written is what is read.

The checksum is in the file's own metadata, so that a table is one file, which other programs read as any.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet

from eventcargo.checksums import checksum, shown
from eventcargo.errors import DataError
from eventcargo.files import atomic_file

DAMAGED = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises at a damaged file of Parquet."""

CHECKSUM = b"eventcargo-checksum"
"""Entry of the metadata with the checksum of the rows."""


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table of names and numbers, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     path = Path(name) / "counts.parquet"
    ...     write_table(path, pl.DataFrame({"event": ["a"], "n": [3]}))
    ...     read_table(path, {"event": pl.String(), "n": pl.Int64()}, "count again").rows()
    [('a', 3)]
    """
    arrow = table.to_arrow().replace_schema_metadata({CHECKSUM: _checksum(table).encode()})
    with atomic_file(path) as target:
        pyarrow.parquet.write_table(arrow, target, compression="zstd", write_page_checksum=True)


def read_table(
    path: Path, schema: Mapping[str, pl.DataType], advice: str, *, is_sealed: bool = True
) -> pl.DataFrame:
    """A table with these columns; one that is damaged or has others is refused, with an advice.

    One that is not `is_sealed` may lack its checksum, because earlier releases wrote none.
    """
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            arrow = file.read(use_threads=False)
            is_known = arrow.column_names == list(schema)
        arrow.validate(full=True)  # polars panics at text and names that are no Unicode
    except DAMAGED as error:
        reason = str(error).splitlines()[0][:200]
        raise DataError(f"{path} is damaged, or no Parquet file: {reason}; {advice}") from None
    if not is_known:
        raise DataError(f"{path} has other columns than {', '.join(schema)}; {advice}")
    found = (arrow.schema.metadata or {}).get(CHECKSUM)
    table = pl.DataFrame(pl.from_arrow(arrow.replace_schema_metadata()))
    if dict(table.schema) != dict(schema) or any(column.null_count() for column in table):
        columns = ", ".join(f"{name} ({kind})" for name, kind in table.schema.items())
        wanted = ", ".join(f"{name} ({kind})" for name, kind in schema.items())
        raise DataError(f"{path} has the columns {columns}, not {wanted} without nulls; {advice}")
    if found is None and is_sealed:
        raise DataError(f"{path} has no checksum: it is of another release or program; {advice}")
    if found is not None and found != _checksum(table).encode():
        raise DataError(f"{path} is damaged: its checksum does not fit; {advice}")
    return table


def _checksum(table: pl.DataFrame) -> str:
    """The checksum of names, types and rows."""
    code = checksum(repr(list(table.schema.items())).encode())
    for column in table:
        if column.dtype == pl.String:
            code = checksum(column.str.len_bytes().to_numpy().tobytes(), code)
            code = checksum("".join(column.to_list()).encode(), code)
        else:
            code = checksum(column.to_numpy().tobytes(), code)
    return shown(code)
