import os
import subprocess
import sys
from pathlib import Path

import pytest

import eventcargo.engines.local as local
from eventcargo.engines import Local, UnitError
from eventcargo.errors import DataError

from .squares import Squares

NUMBERS = list(range(10, 22))
SQUARED = [number**2 for number in NUMBERS]
UNITS = range(len(NUMBERS))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_unit_is_done(tmp_path: Path, workers: int) -> None:
    work = Squares(tmp_path)
    with Local(workers) as engine, work.held(NUMBERS):
        assert sorted(engine.run(work, UNITS)) == list(UNITS)
    assert work.results(12) == SQUARED


def test_one_worker_is_the_calling_process_and_opens_nothing(tmp_path: Path) -> None:
    work = Squares(tmp_path)
    with Local(1) as engine, work.held(NUMBERS):
        list(engine.run(work, UNITS))
    assert {process for _, process in work.tried()} == {os.getpid()}
    assert not (tmp_path / "inputs").exists()


def test_workers_open_the_inputs_once_each_also_for_the_next_work(tmp_path: Path) -> None:
    with Local(2) as engine:
        for seconds in (0.01, 0.02):
            work = Squares(tmp_path, seconds=seconds)
            for unit in UNITS:
                work.path(unit).unlink(missing_ok=True)
            with work.held(NUMBERS):
                list(engine.run(work, UNITS))
    opened = (tmp_path / "opened.txt").read_text().split()
    assert len(opened) == len(set(opened)) == 2
    assert str(os.getpid()) not in opened


def test_short_work_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    work = Squares(tmp_path)
    with Local() as engine, work.held(NUMBERS):
        list(engine.run(work, UNITS))
    assert {process for _, process in work.tried()} == {os.getpid()}


def test_work_that_turns_out_to_be_long_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(local, "START_SECONDS", 0.02)
    work = Squares(tmp_path, busy=0.02)
    with Local() as engine, work.held(NUMBERS):
        assert sorted(engine.run(work, UNITS)) == list(UNITS)
    assert len({process for _, process in work.tried()}) > 1
    assert work.results(12) == SQUARED


def test_finished_units_are_not_done_again(tmp_path: Path) -> None:
    work = Squares(tmp_path)
    work.path(3).write_text("0")
    with Local(2) as engine, work.held(NUMBERS):
        assert 3 not in list(engine.run(work, UNITS))
    assert work.path(3).read_text() == "0"


def test_a_worker_that_is_killed_is_replaced_and_its_unit_done_again(tmp_path: Path) -> None:
    work = Squares(tmp_path, deadly_once=(4, 7))
    with Local(2) as engine, work.held(NUMBERS):
        assert sorted(engine.run(work, UNITS)) == list(UNITS)
    assert work.results(12) == SQUARED
    assert [unit for unit, _ in work.tried()].count(4) == 2


def test_a_worker_that_was_gone_before_it_began_is_no_fault_of_the_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle worker that is killed at the wrong moment still looks alive when it is given a unit."""
    work, gone = Squares(tmp_path), [local._Worker() for _ in range(4)]
    for worker in gone:
        worker.kill()
        worker._process.wait()
    monkeypatch.setattr(local._Worker, "is_alive", True)
    with Local(2) as engine, work.held(NUMBERS):
        engine._idle.extend(gone)
        assert sorted(engine.run(work, [5])) == [5]
        assert sorted(engine.run(work, UNITS)) == [unit for unit in UNITS if unit != 5]
    assert [unit for unit, _ in work.tried()].count(5) == 1


def test_a_unit_that_kills_three_workers_is_named_and_all_others_are_done(tmp_path: Path) -> None:
    work = Squares(tmp_path, poison=(5,))
    with (
        Local(2) as engine,
        work.held(NUMBERS),
        pytest.raises(UnitError, match=r"1 unit of work killed 3 workers each: \S*unit-00005.txt"),
    ):
        list(engine.run(work, UNITS))
    assert [unit for unit, _ in work.tried()].count(5) == 3
    assert work.results(12) == [None if unit == 5 else square for unit, square in enumerate(SQUARED)]


def test_work_whose_every_unit_kills_its_worker_is_soon_given_up(tmp_path: Path) -> None:
    work = Squares(tmp_path, poison=tuple(UNITS))
    with Local(2) as engine, work.held(NUMBERS), pytest.raises(UnitError, match="units of work"):
        list(engine.run(work, UNITS))
    assert len(work.tried()) <= 3 * 4 + 2


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_unit_raises_is_raised(tmp_path: Path, workers: int) -> None:
    work = Squares(tmp_path, wrong=(0,))
    with Local(workers) as engine, work.held(NUMBERS), pytest.raises(DataError, match="unit 0 cannot be"):
        list(engine.run(work, UNITS))


def test_a_work_that_workers_cannot_import_is_told(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from eventcargo.engines import Local\n"
        "from tests.engines.squares import Squares\n"
        "class Own(Squares): pass\n"
        f"work = Own(Path({str(tmp_path)!r}))\n"
        "with Local(2) as engine, work.held([1, 2, 3]):\n"
        "    list(engine.run(work, [0, 1, 2]))\n"
    )
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "src")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1].startswith("AttributeError: Can't get attribute 'Own'")


def test_a_script_needs_no_guard_around_its_main_part(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from eventcargo.engines import Local\n"
        "from tests.engines.squares import Squares\n"
        f"work = Squares(Path({str(tmp_path / 'work')!r}))\n"
        "work.folder.mkdir()\n"
        "with Local(2) as engine, work.held([1, 2, 3]):\n"
        "    print(sorted(engine.run(work, [0, 1, 2])))\n"
    )
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "src")])
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[0, 1, 2]\n"


def test_the_pace_is_that_of_workers_once_they_have_worked(tmp_path: Path) -> None:
    work = Squares(tmp_path, seconds=0.05, busy=0.05)
    with Local(2) as engine, work.held(NUMBERS):
        assert engine.pace is None
        list(engine.run(work, UNITS))
        assert engine.elsewhere.processor >= 0.05 * len(NUMBERS)
        assert engine.pace is not None
        assert engine.pace > 1.5
