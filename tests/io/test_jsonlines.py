import gzip

import pytest

from eventcargo import DataError
from eventcargo.io import jsonlines


def _read(path, columns):
    return [row for batch in jsonlines.read(path, columns) for row in batch.to_pylist()]


def _write(path, *lines):
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_keys_of_all_lines_are_columns_and_missing_ones_null(tmp_path):
    path = _write(tmp_path / "a.jsonl", '{"a": "x"}', "", '{"a": "y", "b": 2}')
    assert jsonlines.read_keys(path) == ["a", "b"]
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
        jsonlines.read_keys(path)


def test_a_broken_line_is_refused_with_its_number(tmp_path):
    path = _write(tmp_path / "a.jsonl", '{"a": 1}', "", '{"a": ')
    with pytest.raises(DataError, match=r"a\.jsonl, line 3: not JSON"):
        jsonlines.read_keys(path)


def test_a_line_that_is_no_object_is_refused(tmp_path):
    path = _write(tmp_path / "a.jsonl", "[1, 2]")
    with pytest.raises(DataError, match=r"line 1: a list, not an object"):
        jsonlines.read_keys(path)


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": "\xff"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: byte 0xff is not UTF-8"):
        jsonlines.read_keys(path)


def test_a_key_that_is_no_valid_unicode_is_refused(tmp_path):
    path = _write(tmp_path / "a.jsonl", r'{"a": 1, "\ud800": 2}')
    with pytest.raises(DataError, match=r"a\.jsonl has the key '\\ud800'"):
        jsonlines.read_keys(path)


def test_an_object_over_two_lines_is_refused(tmp_path):
    path = _write(tmp_path / "a.jsonl", '{"a": 1', '"b": 2}')
    with pytest.raises(DataError, match=r"a\.jsonl, line 1: not JSON"):
        jsonlines.read_keys(path)


def test_an_empty_file_is_refused(tmp_path):
    path = _write(tmp_path / "a.jsonl", "")
    with pytest.raises(DataError, match=r"a\.jsonl is empty"):
        jsonlines.read_keys(path)


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
