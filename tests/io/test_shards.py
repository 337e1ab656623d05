import pytest

from eventcargo import DataError
from eventcargo.io.shards import file_format, find_beside, find_shards


def _touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_folder_gives_its_files_sorted_by_name(tmp_path):
    _touch(tmp_path, "b.csv", "a.csv.gz")
    assert [path.name for path in find_shards(tmp_path)] == ["a.csv.gz", "b.csv"]


def test_hidden_and_underscored_files_are_left_out(tmp_path):
    _touch(tmp_path, "a.parquet", "_SUCCESS", ".a.parquet.crc")
    assert [path.name for path in find_shards(tmp_path)] == ["a.parquet"]


def test_a_pattern_gives_the_files_it_matches(tmp_path):
    _touch(tmp_path, "2.csv", "1.csv", "labels.jsonl")
    assert [path.name for path in find_shards(f"{tmp_path}/*.csv")] == ["1.csv", "2.csv"]


def test_a_pattern_reaches_into_folders(tmp_path):
    _touch(tmp_path, "x/1.csv", "y/z/2.csv")
    assert [path.name for path in find_shards(f"{tmp_path}/**/*.csv")] == ["1.csv", "2.csv"]


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path):
    _touch(tmp_path, "a[1].csv")
    assert find_shards(tmp_path / "a[1].csv") == [tmp_path / "a[1].csv"]


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match=f"{tmp_path} holds no table"):
        find_shards(tmp_path)


def test_a_pattern_without_match_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no file matches .*nothing"):
        find_shards(f"{tmp_path}/nothing*.csv")


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"gone\.csv does not exist"):
        find_shards(tmp_path / "gone.csv")


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"events\.xlsx has an unknown ending; use \.parquet"):
        file_format(tmp_path / "events.xlsx")


def test_mixed_formats_are_refused(tmp_path):
    _touch(tmp_path, "a.csv", "b.parquet")
    with pytest.raises(DataError, match=r"mixes formats: csv, parquet, as in a\.csv, b\.parquet"):
        find_shards(tmp_path)


def test_an_ending_in_capitals_is_known(tmp_path):
    assert file_format(tmp_path / "EVENTS.CSV.GZ") == "csv"


def test_two_tables_of_one_name_are_refused(tmp_path):
    _touch(tmp_path, "events.csv", "events.parquet")
    with pytest.raises(DataError, match="2 tables called events"):
        find_beside(tmp_path, "events")
