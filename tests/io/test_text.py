import gzip

import pytest

from eventcargo import DataError
from eventcargo.io.text import check_utf8, open_bytes


def test_plain_and_gzipped_files_give_the_same_bytes(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"abc\n")
    (tmp_path / "a.csv.GZ").write_bytes(gzip.compress(b"abc\n"))
    for name in ("a.csv", "a.csv.GZ"):
        with open_bytes(tmp_path / name) as file:
            assert file.read() == b"abc\n"


def test_valid_text_is_passed(tmp_path):
    (tmp_path / "a.csv").write_text("é\n", "utf-8")
    check_utf8(tmp_path / "a.csv")


def test_the_first_bad_line_is_named_with_its_byte(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a\nb\xe9\n\xff\n")
    with pytest.raises(DataError, match=r"a\.csv, line 2: byte 0xe9 is not UTF-8; convert"):
        check_utf8(tmp_path / "a.csv")
