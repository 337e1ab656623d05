import gzip

import pytest

from eventcargo import DataError, EventCargoWarning
from eventcargo.io.text import inspect, open_bytes


def _arrow(text):
    with text.arrow_stream() as stream:
        return stream.read()


def test_plain_and_gzipped_files_give_the_same_bytes(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"abc\n")
    (tmp_path / "a.csv.GZ").write_bytes(gzip.compress(b"abc\n"))
    for name in ("a.csv", "a.csv.GZ"):
        with open_bytes(tmp_path / name) as file:
            assert file.read() == b"abc\n"
        assert _arrow(inspect(tmp_path / name)) == b"abc\n"


def test_a_gzipped_file_of_several_members_is_read_whole(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"abc\n") + gzip.compress(b"def\n"))
    assert _arrow(inspect(tmp_path / "a.csv.gz")) == b"abc\ndef\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_of_unicode_are_found(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("é €\u2028\r\n".encode(encoding))
    text = inspect(path)
    with text.open() as characters:
        assert characters.read() == "é €\u2028\r\n"
    assert _arrow(text).decode("utf-8-sig") == "é €\u2028\r\n"


def test_other_text_is_read_as_windows_1252_with_a_warning_that_counts_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("a\ncafé\n12 €\n".encode("cp1252"))
    with pytest.warns(
        EventCargoWarning, match=r"a\.csv, line 2: byte 0xe9 is not UTF-8; read as cp1252, .* 2 lines"
    ):
        text = inspect(path)
    assert _arrow(text) == "a\ncafé\n12 €\n".encode()


def test_bytes_of_neither_encoding_are_refused_with_their_lines(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a\nb\xe9\n\x81\n")
    with pytest.raises(
        DataError, match=r"line 2: byte 0xe9 is not UTF-8, and line 3: byte 0x81 is not cp1252"
    ):
        inspect(tmp_path / "a.csv")


def test_an_encoding_can_be_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("Дым\n".encode("koi8-r"))
    assert _arrow(inspect(tmp_path / "a.csv", "koi8-r")) == "Дым\n".encode()


def test_bytes_that_the_named_encoding_lacks_are_refused_with_their_line(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a\nb\xe9\n")
    with pytest.raises(DataError, match=r"a\.csv, line 2: byte 0xe9 is not utf-8; name the file's encoding"):
        inspect(tmp_path / "a.csv", "UTF8")


def test_quotes_are_counted(tmp_path):
    (tmp_path / "a.csv").write_bytes('a,"b"\n5"\n'.encode("utf-16"))
    assert inspect(tmp_path / "a.csv").n_quotes == 3
