from pathlib import Path

import polars as pl
import pytest

from eventcargo import DataError
from eventcargo.prediction.tables import write_tables

PARTS = [
    pl.DataFrame({"id": ["a", "b"], "p": [0.25, 0.5], "others": [["x, y", "z"], []]}),
    pl.DataFrame({"id": ["c"], "p": [1.0], "others": [["ü"]]}),
]


@pytest.mark.parametrize(
    ("name", "reader"),
    [("t.parquet", pl.read_parquet), ("t.jsonl", pl.read_ndjson)],
    ids=["parquet", "jsonl"],
)
def test_all_parts_are_read_back(tmp_path: Path, name: str, reader: object) -> None:
    assert list(map(len, write_tables(tmp_path / name, iter(PARTS)))) == [2, 1]
    assert reader(tmp_path / name).equals(pl.concat(PARTS))  # type: ignore[operator]


def test_lists_are_joined_in_csv(tmp_path: Path) -> None:
    list(write_tables(tmp_path / "t.csv", iter(PARTS)))
    read = pl.read_csv(tmp_path / "t.csv").fill_null("")
    assert read.rows() == [("a", 0.25, "x, y, z"), ("b", 0.5, ""), ("c", 1.0, "ü")]


def test_no_name_in_csv_is_a_formula(tmp_path: Path) -> None:
    names = ["=cmd|'/c calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "a=b", "1-2"]
    table = pl.DataFrame({"id": names, "=1+1": -1.5, "labels": [["=a", "b"]] * len(names)})
    list(write_tables(tmp_path / "t.csv", iter([table])))
    read = pl.read_csv(tmp_path / "t.csv")
    assert read.columns == ["id", "'=1+1", "labels"]
    assert read["id"].to_list() == ["'" + name for name in names[:5]] + names[5:]
    assert set(read["labels"]) == {"'=a, b"}
    assert set(read["'=1+1"]) == {-1.5}


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield PARTS[0]
        raise KeyError("gone")

    with pytest.raises(KeyError):
        list(write_tables(tmp_path / "t.parquet", broken()))
    assert list(tmp_path.iterdir()) == []


def test_another_ending_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.xls has an unknown ending; use \.parquet, \.csv, \.jsonl"):
        list(write_tables(tmp_path / "t.xls", iter(PARTS)))
