import gzip

import pytest

from eventcargo import DataError
from eventcargo.io import delimited
from eventcargo.io.problems import Problems
from eventcargo.io.text import inspect


def _read(path, columns, separator=",", problems=None):
    batches = delimited.read(inspect(path), separator, problems, columns)
    return [row for batch in batches for row in batch.to_pylist()]


def _header(path):
    return delimited.read_header(inspect(path), ",")


def test_all_values_are_strings_and_empty_fields_stay_empty(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n01,\nNA,x\n")
    assert _read(path, ["a", "b"]) == [{"a": "01", "b": ""}, {"a": "NA", "b": "x"}]


def test_quoted_line_ends_commas_and_quotes_are_part_of_a_value(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\n"x\r\ny","1,""2"""\n')
    assert _read(path, ["a", "b"]) == [{"a": "x\r\ny", "b": '1,"2"'}]


def test_a_line_end_within_a_value_may_fall_on_the_border_of_two_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + '"x\ny\nz",1\n' * 50)
    assert _read(path, ["a", "b"]) == [{"a": "x\ny\nz", "b": "1"}] * 50


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert _header(path) == ["a", "b"]
    assert _read(path, ["a"]) == [{"a": "1"}]


def test_a_gzipped_file_is_unpacked(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert _header(path) == ["a", "b"]
    assert _read(path, ["b"]) == [{"b": "2"}]


def test_a_file_that_is_not_gzip_is_refused(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match=r"a\.csv\.gz is damaged"):
        _header(path)


def test_a_cut_gzip_file_is_refused(tmp_path):
    path = tmp_path / "a.csv.gz"
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(20_000)))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a\.csv\.gz"):
        _read(path, ["a"])


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(DataError, match=r"a\.csv is empty"):
        _header(tmp_path / "a.csv")


def test_a_header_with_an_open_quote_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text('a,"b\n' + "1,2\n" * 50_000)
    with pytest.raises(DataError, match=r"a\.csv has no line of column names: field larger"):
        _header(tmp_path / "a.csv")


def test_a_row_with_too_few_fields_is_refused_with_its_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b,c\n1,"x\ny",3\n\n1,2\n')
    with pytest.raises(DataError, match=r"a\.csv, row 2: 2 fields; the first line names 3 columns"):
        _read(path, ["a"])


def test_a_quote_that_is_never_closed_is_refused_with_its_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"x"\n2,"y\n3,z\n')
    with pytest.raises(DataError, match=r"a\.csv, row 2: a quote is opened and never closed"):
        _read(path, ["a"])


def test_an_open_quote_before_many_rows_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"x\n' + "2,y\n" * 50_000)
    with pytest.raises(DataError, match=r"a\.csv, row 1: a quote is opened and never closed"):
        _read(path, ["a"])


def test_a_long_value_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1," + "x" * 200_000 + "\n")
    assert len(_read(path, ["b"])[0]["b"]) == 200_000


def test_a_bad_row_after_a_long_value_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1," + "x" * 200_000 + "\n1\n")
    with pytest.raises(DataError, match=r"a\.csv cannot be read as CSV: .*Expected 2 columns, got 1"):
        _read(path, ["b"])


def test_a_stray_quote_within_a_value_is_part_of_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,5" disk\n2,"y"\n')
    assert _read(path, ["b"]) == [{"b": '5" disk'}, {"b": "y"}]


def test_a_header_without_rows_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b")
    with pytest.raises(DataError, match=r"a\.csv is empty: it has no row below its first line"):
        _read(tmp_path / "a.csv", ["a"])


def test_blank_lines_are_no_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\na,b\n\n1,2\n")
    assert _header(path) == ["a", "b"]
    assert _read(path, ["a"]) == [{"a": "1"}]


def test_tabs_separate_where_asked_for(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n1,5\t2\n")
    assert _read(path, ["a", "b"], "\t") == [{"a": "1,5", "b": "2"}]


def test_all_broken_rows_are_noted_and_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    monkeypatch.setattr(delimited, "BATCH_ROWS", 7)
    rows = [f"{i},x" if i % 20 else f"{i},x,y" for i in range(1, 101)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *rows]))
    problems = Problems()
    read = [row["a"] for row in _read(tmp_path / "a.csv", ["a"], problems=problems)]
    assert read == [str(i) for i in range(1, 101) if i % 20]
    assert problems.broken(str(tmp_path / "a.csv")).tolist() == [20, 40, 60, 80, 100]
    with pytest.raises(DataError, match=r"5 rows: .*a\.csv, row 20: 3 fields, row 40: 3 fields, .*2 columns"):
        problems.settle()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path, separator):
    rows = [["id", "time", "note"], ["a", "1", '"x,;|\ty"'], ["b", "2", "5,5;5"]]
    rows[2][2] = rows[2][2].replace(separator, " ")
    (tmp_path / "a.csv").write_text("\n".join(map(separator.join, rows)))
    assert delimited.find_separator(inspect(tmp_path / "a.csv")) == separator


def test_a_broken_row_does_not_hide_the_separator(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;c\n1;2;3\n1;2\n1,5;2;3\n")
    assert delimited.find_separator(inspect(tmp_path / "a.csv")) == ";"


def test_a_sign_within_the_names_of_columns_does_not_separate(tmp_path):
    (tmp_path / "a.csv").write_text("id;one, two, three and four\n1;2\n3;4\n")
    assert delimited.find_separator(inspect(tmp_path / "a.csv")) == ";"


@pytest.mark.parametrize("content", ["", "a\n1\n", "a,b"])
def test_without_another_sign_the_separator_is_a_comma(tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    assert delimited.find_separator(inspect(tmp_path / "a.csv")) == ","
