import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eventcargo import files
from eventcargo.errors import DataError, WriteError
from eventcargo.files import (
    atomic_file,
    atomic_folder,
    read_document,
    replacing_folder,
    sweep,
    write_document,
)


def _fail_while_writing_file(path: Path) -> None:
    with atomic_file(path) as target:
        target.write_text("half")
        raise RuntimeError("stop")


def _fail_while_filling_folder(path: Path) -> None:
    with atomic_folder(path) as target:
        (target / "part").write_text("half")
        raise RuntimeError("stop")


def test_file_has_its_content_at_the_end(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "x.txt") as target:
        target.write_text("new")
    assert (tmp_path / "x.txt").read_text() == "new"


def test_file_does_not_exist_while_it_is_written(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "x.txt") as target:
        target.write_text("new")
        assert not (tmp_path / "x.txt").exists()


def test_error_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        _fail_while_writing_file(tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == "old"


def test_error_leaves_no_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stop"):
        _fail_while_writing_file(tmp_path / "x.txt")
    assert list(tmp_path.iterdir()) == []


def test_file_is_readable_as_the_umask_allows(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    with atomic_file(tmp_path / "x.txt") as target:
        target.write_text("new")
    assert (tmp_path / "x.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_missing_parents_are_made(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "a" / "b" / "x.txt") as target:
        target.write_text("new")
    assert (tmp_path / "a" / "b" / "x.txt").is_file()


def test_very_long_name_can_be_written(tmp_path: Path) -> None:
    with atomic_file(tmp_path / ("n" * 250)) as target:
        target.write_text("new")
    assert (tmp_path / ("n" * 250)).read_text() == "new"


def test_folder_appears_whole(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "out") as target:
        (target / "part").write_text("x")
        assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part"]


def test_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with atomic_folder(tmp_path / "out") as target:
        (target / "part").write_text("x")
    assert (tmp_path / "out" / "part").is_file()


def test_filled_folder_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(DataError, match="out exists already"), atomic_folder(tmp_path / "out"):
        pass


def test_file_in_place_of_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(DataError, match="out exists already"), atomic_folder(tmp_path / "out"):
        pass


def test_error_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stop"):
        _fail_while_filling_folder(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_content_comes_back_as_it_was(tmp_path: Path) -> None:
    content = {"names": ["ü", '<script>"'], "empty": None}
    write_document(tmp_path / "a.json", "example", 3, content)
    assert read_document(tmp_path / "a.json", "example", 3) == content


def test_format_and_version_stand_in_the_file(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", "example", 3, {})
    content = json.loads((tmp_path / "a.json").read_text())
    assert content.pop("checksum")
    assert content == {"format": "example", "version": 3}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON.*; do this"),
        ("[]", "not written by eventcargo as example; do this"),
        (json.dumps({"format": "other", "version": 3}), "not written by eventcargo as example"),
        (
            json.dumps({"format": "example", "version": 4}),
            "version 4 of another release, this one reads 3; do",
        ),
    ],
)
def test_what_is_damaged_or_foreign_is_refused_with_advice(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=rf"a\.json.*{said}"):
        read_document(tmp_path / "a.json", "example", 3, "do this")


def test_content_that_is_no_json_leaves_the_old_file(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", "example", 3, {"old": 1})
    with pytest.raises(TypeError):
        write_document(tmp_path / "a.json", "example", 3, {"new": object()})
    assert read_document(tmp_path / "a.json", "example", 3) == {"old": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("7" * 5_000, "thousands of digits"),
        (b"\xff\xfe\xff", "is not (UTF-8 text|JSON)"),
        ('{"format": "example", "version": 3}', "has no checksum"),
        ('{"format": "example", "version": true}', "version True of another release"),
        ('{"format": "example", "version": 3, "checksum": "00000000"}', "its checksum does not fit"),
    ],
)
def test_what_json_may_hold_but_documents_do_not_is_refused(tmp_path: Path, text: object, said: str) -> None:
    (tmp_path / "a.json").write_bytes(text if isinstance(text, bytes) else str(text).encode())
    with pytest.raises(DataError, match=rf"a\.json.*{said}"):
        read_document(tmp_path / "a.json", "example", 3)


def test_a_changed_entry_is_noticed_and_another_layout_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_document(path, "example", 3, {"answer": 42})
    path.write_text(json.dumps(json.loads(path.read_text()), indent=7))
    assert read_document(path, "example", 3) == {"answer": 42}
    path.write_text(path.read_text().replace("42", "43"))
    with pytest.raises(DataError, match="its checksum does not fit"):
        read_document(path, "example", 3)


def test_a_folder_in_place_of_a_document_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(DataError, match="cannot be read: Is a directory; do this"):
        read_document(tmp_path / "a.json", "example", 3, "do this")


def test_what_a_killed_writer_left_is_swept_and_a_live_writer_is_not_disturbed(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from eventcargo.files import atomic_file
with atomic_file(sys.argv[1]) as target:
    target.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "below" / "x"],
        env={**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[1])},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    (tmp_path / ".older.release.part").write_text("half")
    with atomic_file(tmp_path / "y") as target:
        target.write_text("whole")
        swept = sweep(tmp_path)
    assert [path.parent.name for path in swept] == [tmp_path.name, "below"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["below", "y"]
    assert (tmp_path / "y").read_text() == "whole"


def test_a_folder_replaces_another_whole(tmp_path: Path) -> None:
    for number in range(2):
        with replacing_folder(tmp_path / "x") as target:
            (target / str(number)).write_text("new")
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["1"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("error", [OSError(28, "full"), RuntimeError("I/O error: full (os error 28)")])
def test_a_full_disk_is_told_with_the_path_whoever_notices_it(tmp_path: Path, error: Exception) -> None:
    (tmp_path / "x").write_text("old")
    with (
        pytest.raises(WriteError, match=r"x cannot be written: No space left on device; free some space"),
        atomic_file(tmp_path / "x"),
    ):
        raise error
    assert (tmp_path / "x").read_text() == "old"


def test_a_file_that_fails_within_a_folder_is_told_by_the_name_of_the_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(WriteError, match=f"^{tmp_path}/out cannot be written"),
        atomic_folder(tmp_path / "out") as target,
        atomic_file(target / "x"),
    ):
        raise OSError(28, "full")


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    words = r"a\.json cannot be written: Is a directory; a folder is in its place: move it away"
    with pytest.raises(WriteError, match=words), atomic_file(tmp_path / "a.json") as target:
        target.write_text("1")
