from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from eventcargo import DataError
from eventcargo.engines import Local
from eventcargo.engines.work import INPUTS, read_arrays, write_arrays
from eventcargo.errors import EventCargoWarning

from .squares import Squares

NUMBERS = [1, 2, 3]


def interrupted(engine: Local) -> Squares:
    """A work whose units are all done, and whose stage is not."""
    with suppress(KeyboardInterrupt), engine.workspace("stage", {"seed": 1}) as folder:
        work = Squares(folder)
        with work.held(NUMBERS):
            work.share()
            list(engine.run(work, range(3)))
        raise KeyboardInterrupt
    return work


def taken_up(engine: Local, work: Squares) -> tuple[list[int], list[int | None]]:
    """The units that are missing when the stage is taken up again, and all results after it."""
    with engine.workspace("stage", {"seed": 1}):
        missing = work.missing(range(3))
        with work.held(NUMBERS):
            list(engine.run(work, range(3)))
        return missing, work.results(3)


def test_a_damaged_unit_is_done_again_with_a_warning(tmp_path: Path) -> None:
    engine = Local(1, tmp_path)
    work = interrupted(engine)
    work.path(1).write_text("5")
    words = "stage has 1 finished unit .* damaged, such as unit-00001.txt"
    with pytest.warns(EventCargoWarning, match=words):
        found = taken_up(engine, work)
    assert found == ([1], [1, 4, 9])


def test_units_that_are_as_they_were_are_used_again(tmp_path: Path) -> None:
    engine = Local(1, tmp_path)
    work = interrupted(engine)
    with engine.workspace("stage", {"seed": 1}):
        assert work.missing(range(3)) == []


def test_a_unit_whose_seal_is_damaged_is_done_again(tmp_path: Path) -> None:
    engine = Local(1, tmp_path)
    work = interrupted(engine)
    (seal,) = work.folder.glob("unit-00002*.seal.json")
    seal.write_text("{}")
    with pytest.warns(EventCargoWarning, match="unit-00002"), engine.workspace("stage", {"seed": 1}):
        assert work.missing(range(3)) == [2]


def test_a_unit_whose_writer_was_killed_before_it_was_sealed_is_used(tmp_path: Path) -> None:
    engine = Local(1, tmp_path)
    work = interrupted(engine)
    for seal in work.folder.glob("unit-*.seal.json"):
        seal.unlink()
    with engine.workspace("stage", {"seed": 1}):
        assert work.missing(range(3)) == []


def test_damaged_inputs_are_written_again(tmp_path: Path) -> None:
    engine = Local(1, tmp_path)
    work = interrupted(engine)
    (work.folder / INPUTS / "numbers.txt").write_text("4 5 6")
    with pytest.warns(EventCargoWarning, match="such as inputs"), engine.workspace("stage", {"seed": 1}):
        assert list(work.folder.glob(f"{INPUTS}*")) == []  # nor its seal, which would not fit what comes


def test_what_cannot_be_taken_up_again_has_no_seals() -> None:
    with Local(1) as engine, engine.workspace("stage", {"seed": 1}) as folder:
        folder.mkdir()
        work = Squares(folder)
        with work.held(NUMBERS):
            list(engine.run(work, range(3)))
        assert work.results(3) == [1, 4, 9]
        assert list(folder.glob("*.seal.json")) == []


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04"])
def test_arrays_that_are_damaged_are_refused_with_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "unit.npz"
    write_arrays(path, a=np.arange(3))
    assert read_arrays(path, "a")[0].tolist() == [0, 1, 2]
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"unit\.npz is damaged \(.*\); delete it, and it is done again"):
        read_arrays(path, "a")
