from pathlib import Path

import pytest

from eventcargo.atomic import atomic_file, atomic_folder
from eventcargo.errors import DataError


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
