import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventcargo import DataError, EventSequence, ReadConfig
from eventcargo.io.sources import open_file, open_sources

COLUMNS = {"a": ["x", "y"], "b": [1, 2], "c": [None, None]}


def _rows(source, columns):
    return [row for batch in source.read(columns) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS, index=[7, 7]),
        pl.DataFrame(COLUMNS),
        pl.LazyFrame(COLUMNS),
        pa.table(COLUMNS),
        pa.table(COLUMNS).to_reader(),
    ],
    ids=["pandas", "pandas with index", "polars", "lazy", "arrow", "reader"],
)
def test_frames_give_the_columns_asked_for(given):
    (source,) = open_sources(given, "events")
    assert source.columns == ["a", "b", "c"]
    assert _rows(source, ["b", "a"]) == [{"b": 1, "a": "x"}, {"b": 2, "a": "y"}]


def test_a_parquet_file_gives_the_columns_asked_for(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "a.parquet")
    source = open_file(tmp_path / "a.parquet")
    assert source.columns == ["a", "b", "c"]
    assert _rows(source, ["b"]) == [{"b": 1}, {"b": 2}]


def test_the_nameless_index_of_pandas_is_no_column(tmp_path):
    pd.DataFrame({"a": [1]}, index=[5]).to_parquet(tmp_path / "a.parquet")
    assert open_file(tmp_path / "a.parquet").columns == ["a"]


def test_other_content_in_a_parquet_file_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_text("sequence_id,event\n1,x\n")
    with pytest.raises(DataError, match=r"a\.parquet is not a Parquet file"):
        open_file(tmp_path / "a.parquet")


def test_a_damaged_parquet_file_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [str(i * i) for i in range(5_000)]}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[100:2_000] = bytes(1_900)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.parquet is damaged"):
        _rows(open_file(path), ["a"])


def test_a_column_that_stands_twice_is_refused():
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(DataError, match="the events table has the column 'a' 2 times"):
        open_sources(frame, "events")


def test_an_unknown_object_is_refused_with_its_type():
    with pytest.raises(DataError, match="the events table is a dict; use a path"):
        open_sources({"a": [1]}, "events")


def test_a_single_column_without_name_is_refused():
    with pytest.raises(DataError, match="the events table is not a table"):
        open_sources(pl.Series([1]), "events")


def test_a_pandas_column_of_mixed_kinds_is_refused():
    (source,) = open_sources(pd.DataFrame({"a": pd.Series(["x", 1], dtype=object)}), "events")
    with pytest.raises(DataError, match="the events table cannot be read"):
        source.read(["a"])


def test_an_unwanted_pandas_column_may_hold_anything():
    frame = pd.DataFrame({"a": ["x", "y"], "junk": pd.Series([{1}, "z"], dtype=object)})
    (source,) = open_sources(frame, "events")
    assert _rows(source, ["a"]) == [{"a": "x"}, {"a": "y"}]


def test_a_missing_column_is_refused_with_those_found_and_the_keyword():
    (source,) = open_sources(pl.DataFrame({"vin": ["x"], "code": ["y"]}), "events")
    with pytest.raises(
        DataError, match=r"no column 'event', only 'vin', 'code'; name the right one with event="
    ):
        source.check_column("event", "event")


def test_a_missing_column_is_refused_with_the_one_that_is_most_like_it():
    (source,) = open_sources(pl.DataFrame({"Sequence_Id": ["x"], "code": ["y"]}), "events")
    with pytest.raises(DataError, match="did you mean sequence_id='Sequence_Id'"):
        source.check_column("sequence_id", "sequence_id")


def test_without_a_list_of_problems_a_broken_row_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1\n")
    with pytest.raises(DataError, match=r"a\.csv, row 1: 1 field; the first line names 2 columns"):
        _rows(open_file(tmp_path / "a.csv"), ["a"])


def test_separator_and_encoding_can_be_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("a;b\n1,5;é\n".encode("latin-1"))
    source = open_file(tmp_path / "a.csv", ReadConfig(separator=";", encoding="latin-1"))
    assert _rows(source, ["a", "b"]) == [{"a": "1,5", "b": "é"}]


def test_a_separator_named_wins_over_the_one_found(tmp_path):
    (tmp_path / "a.csv").write_text("a;b,c;d\n1;2,3;4\n")
    assert open_file(tmp_path / "a.csv").columns == ["a", "b,c", "d"]
    assert open_file(tmp_path / "a.csv", ReadConfig(separator=",")).columns == ["a;b", "c;d"]


def test_a_tsv_file_is_separated_by_tabs(tmp_path):
    (tmp_path / "a.tsv").write_text("a,b,c\td\n1,2,3\t4\n")
    assert open_file(tmp_path / "a.tsv").columns == ["a,b,c", "d"]


DUCKDB = """
import duckdb
from eventcargo.io.tables import read_events
events = duckdb.sql("SELECT 'a' AS sequence_id, 2 AS time, 'y' AS event UNION ALL SELECT 'a', 1, 'x'")
labels = duckdb.sql("SELECT 'a' AS sequence_id, 'L1' AS label")
print(read_events(events, labels)["a"])
"""


def test_relations_of_duckdb_are_tables():
    done = subprocess.run([sys.executable, "-c", DUCKDB], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(EventSequence("a", ("x", "y"), (1.0, 2.0), ("L1",))), done.stderr
