from pathlib import Path

import pytest

from eventcargo import DataError
from eventcargo.checksums import check_file, content_checksum, file_checksum, folder_checksums, read_checked


def test_every_flipped_bit_of_a_file_is_noticed(tmp_path: Path) -> None:
    path, content = tmp_path / "x", bytes(range(40))
    path.write_bytes(content)
    known = file_checksum(path)
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=f"is damaged: x has the checksum .*, not {known}"):
            check_file(path, known, "write it again")


def test_a_file_is_summed_in_pieces_as_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(bytes(1_000))
    whole = file_checksum(tmp_path / "x")
    monkeypatch.setattr("eventcargo.checksums.CHUNK_BYTES", 7)
    assert file_checksum(tmp_path / "x") == whole


def test_bytes_are_those_that_were_checked(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert read_checked(tmp_path / "x", file_checksum(tmp_path / "x"), "") == b"abc"
    with pytest.raises(DataError, match="is damaged: x has the checksum"):
        read_checked(tmp_path / "x", None, "write it again")


def test_a_file_that_is_gone_or_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, reason in (("gone", "No such file"), ("folder", "Is a directory")):
        with pytest.raises(DataError, match=f"is damaged: {name} cannot be read: {reason}"):
            check_file(tmp_path / name, "", "write it again")


def test_content_has_one_checksum_whatever_its_layout() -> None:
    assert content_checksum({"a": (1, 2.5), "b": None}) == content_checksum({"a": [1, 2.5], "b": None})
    assert content_checksum({"a": 1}) != content_checksum({"a": 1.0})
    assert content_checksum({"a": "ü"}) != content_checksum({"a": "u"})


def test_a_folder_has_the_checksums_of_its_files(tmp_path: Path) -> None:
    for name in "ba":
        (tmp_path / name).write_text(name)
    assert folder_checksums(tmp_path) == {name: file_checksum(tmp_path / name) for name in "ab"}


def test_an_odd_checksum_is_shown_in_short(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    with pytest.raises(
        DataError, match=r"has the checksum 83dcefb7, not 9{20} as when it was written; again"
    ):
        check_file(tmp_path / "a", "9" * 5_000, "again")
