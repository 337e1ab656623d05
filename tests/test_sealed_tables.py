from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from eventcargo import DataError
from eventcargo.sealed_tables import read_table, write_table

SCHEMA = {"event": pl.String(), "n": pl.Int64()}
TABLE = pl.DataFrame({"event": ["Überdruck", "leak"], "n": [3, 4]})


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", TABLE)
    assert read_table(tmp_path / "a.parquet", SCHEMA, "count again").equals(TABLE)


def test_a_table_with_a_flipped_bit_is_refused_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, TABLE)
    whole, silent = path.read_bytes(), 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with suppress(DataError):
            silent += not read_table(path, SCHEMA, "count again").equals(TABLE)
    assert silent == 0


def test_other_rows_with_the_same_metadata_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, TABLE)
    metadata = pl.read_parquet_metadata(path)
    TABLE.with_columns(n=pl.lit(5, pl.Int64)).write_parquet(path, metadata=metadata)
    with pytest.raises(DataError, match=r"a\.parquet is damaged: its checksum does not fit; count again"):
        read_table(path, SCHEMA, "count again")


def test_a_table_without_a_checksum_is_read_only_where_earlier_releases_wrote_none(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"has no checksum: .*; count again"):
        read_table(tmp_path / "a.parquet", SCHEMA, "count again")
    assert read_table(tmp_path / "a.parquet", SCHEMA, "count again", is_sealed=False).equals(TABLE)


def test_a_table_of_other_names_is_refused_with_those_it_should_have(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", TABLE.rename({"n": "m"}))
    with pytest.raises(DataError, match=r"has other columns than event, n; count again"):
        read_table(tmp_path / "a.parquet", SCHEMA, "count again")


@pytest.mark.parametrize(
    "table",
    [TABLE.cast({"n": pl.Int32}), TABLE.with_columns(n=pl.Series([1, None]))],
)
def test_other_columns_are_refused_with_their_names(tmp_path: Path, table: pl.DataFrame) -> None:
    write_table(tmp_path / "a.parquet", table)
    with pytest.raises(DataError, match=r"columns event \(String\), .*, not event \(String\), n \(Int64\)"):
        read_table(tmp_path / "a.parquet", SCHEMA, "count again")


def test_names_are_told_apart_wherever_one_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, pl.DataFrame({"event": ["ab", "c"], "n": [3, 4]}))
    metadata = pl.read_parquet_metadata(path)
    pl.DataFrame({"event": ["a", "bc"], "n": [3, 4]}).write_parquet(path, metadata=metadata)
    with pytest.raises(DataError, match="its checksum does not fit"):
        read_table(path, SCHEMA, "count again")
