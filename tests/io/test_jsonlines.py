import gzip

import pytest

from eventcargo import DataError
from eventcargo.io import jsonlines
from eventcargo.io.problems import Problems
from eventcargo.io.text import inspect


def _read(path, columns, problems=None):
    batches = jsonlines.read(inspect(path), problems, columns)
    return [row for batch in batches for row in batch.to_pylist()]


def _write(path, *lines):
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_keys_of_all_lines_are_columns_and_missing_ones_null(tmp_path):
    path = _write(tmp_path / "a.jsonl", '{"a": "x"}', "", '{"a": "y", "b": 2}')
    assert jsonlines.read_keys(inspect(path)) == ["a", "b"]
    assert _read(path, ["b", "a"]) == [{"b": None, "a": "x"}, {"b": 2, "a": "y"}]


def test_numbers_among_strings_become_strings(tmp_path):
    path = _write(tmp_path / "a.jsonl", '{"a": 1.5}', '{"a": "y"}')
    assert _read(path, ["a"]) == [{"a": "1.5"}, {"a": "y"}]


def test_a_gzipped_file_with_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"a": 1}\n'))
    assert _read(path, ["a"]) == [{"a": 1}]


def test_a_cut_gzip_file_is_refused(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 100)[:-10])
    with pytest.raises(DataError, match=r"a\.jsonl\.gz is damaged"):
        jsonlines.read_keys(inspect(path))


@pytest.mark.parametrize("line", ['{"a": ', "[1, 2]", "7", '{"a": 1}, {"a": 2}'])
def test_a_line_that_is_no_object_is_refused_with_its_row(tmp_path, line):
    path = _write(tmp_path / "a.jsonl", '{"a": 1}', "", line)
    with pytest.raises(DataError, match=r"a\.jsonl, row 2: not an object in JSON: '"):
        _read(path, ["a"])


def test_all_broken_lines_and_values_are_noted_and_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "BATCH_LINES", 3)
    lines = ['{"a": "x"}', '{"a": {}}', "{", '{"a": "y"}', '{"a": 5}', "", '{"a": true}', '{"a": "z"}']
    problems = Problems()
    path = _write(tmp_path / "a.jsonl", *lines)
    assert [row["a"] for row in _read(path, ["a"], problems)] == ["x", "y", "5", "z"]
    assert problems.broken(str(path)).tolist() == [2, 3, 6]


def test_a_key_that_is_no_valid_unicode_is_refused(tmp_path):
    path = _write(tmp_path / "a.jsonl", r'{"a": 1, "\ud800": 2}')
    with pytest.raises(DataError, match=r"a\.jsonl has the key '\\ud800'"):
        jsonlines.read_keys(inspect(path))


def test_an_object_over_two_lines_is_refused(tmp_path):
    path = _write(tmp_path / "a.jsonl", '{"a": 1}', '{"a": 1', '"b": 2}')
    with pytest.raises(DataError, match=r"2 rows: .*a\.jsonl, row 2: not an object in JSON"):
        _read(path, ["a"])


def test_an_empty_file_is_refused(tmp_path):
    path = _write(tmp_path / "a.jsonl", "")
    with pytest.raises(DataError, match=r"a\.jsonl is empty"):
        jsonlines.read_keys(inspect(path))


@pytest.mark.parametrize(
    "value", [r'"\ud800"', "true", '{"x": 1}'], ids=["lone surrogate", "Boolean", "object"]
)
def test_a_value_unlike_the_others_is_refused_with_its_row(tmp_path, value):
    path = _write(tmp_path / "a.jsonl", '{"a": "x"}', '{"a": "y"}', f'{{"a": {value}}}')
    with pytest.raises(DataError, match=r"a\.jsonl, row 3: a is"):
        _read(path, ["a"])


def test_rows_are_counted_over_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "BATCH_LINES", 2)
    path = _write(tmp_path / "a.jsonl", *['{"a": "x"}'] * 4, '{"a": true}', '{"a": "y"}')
    with pytest.raises(DataError, match=r"row 5: a is True"):
        _read(path, ["a"])
