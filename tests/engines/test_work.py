from contextlib import suppress
from pathlib import Path

from eventcargo.engines import Local

from .squares import Squares


def fail(engine: Local) -> None:
    """A stage that is interrupted after a unit."""
    with suppress(KeyboardInterrupt), engine.workspace("stage", {"seed": 1}) as folder:
        (folder / "unit").touch()
        raise KeyboardInterrupt


def test_units_of_a_stage_that_failed_are_used_again_by_the_same_plan(tmp_path: Path) -> None:
    engine = Local(1, tmp_path)
    fail(engine)
    with engine.workspace("stage", {"seed": 1}) as folder:
        assert (folder / "unit").exists()
    assert not folder.exists()


def test_units_of_another_plan_are_not_used(tmp_path: Path) -> None:
    engine = Local(1, tmp_path)
    fail(engine)
    with engine.workspace("stage", {"seed": 2}) as folder:
        assert not (folder / "unit").exists()


def test_inputs_that_are_written_again_are_opened_again(tmp_path: Path) -> None:
    with Local(2) as engine:
        for numbers in ([1, 2, 3], [4, 5, 6]):
            home = engine.workspace("stage", {"numbers": numbers})
            engine.folder = tmp_path
            with home as folder:
                work = Squares(folder)
                with work.held(numbers):
                    list(engine.run(work, range(3)))
                assert work.results(3) == [number**2 for number in numbers]


def test_a_unit_that_another_finished_meanwhile_is_done(tmp_path: Path) -> None:
    class Late(Squares):
        def do(self, state: list[int], unit: int) -> None:
            super().do(state, unit)
            raise FileExistsError  # as a rename onto the file of the other would

    work = Late(tmp_path)
    with work.held([1, 2]):
        assert work(1) == 1


def test_a_unit_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    work = Squares(tmp_path)
    work.path(1).write_text("0")
    with work.held([1, 2]):
        assert work(1) == 1
    assert work.path(1).read_text() == "0"
