from itertools import permutations
from pathlib import Path

import pytest

from eventcargo.engines import EngineConfig, Local, UnitsLeftError, make_engine
from eventcargo.engines.shards import Shards
from eventcargo.errors import ConfigError

from .squares import Squares

UNITS = range(7)
SQUARED = [0, 1, 4, 9, 16, 25, 36]


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
def test_the_last_part_whichever_it_is_finds_all_done(tmp_path: Path, order: tuple[int, ...]) -> None:
    work = Squares(tmp_path)
    for part in order[:-1]:
        with work.held(list(UNITS)), pytest.raises(UnitsLeftError, match=f"part {part}/3 .* is done"):
            list(Shards(Local(1), part, 3).run(work, UNITS))
    with work.held(list(UNITS)):
        assert sorted(Shards(Local(1), order[-1], 3).run(work, UNITS)) == list(UNITS)
    assert work.results(7) == SQUARED
    assert len(work.tried()) == 7


def test_an_invocation_without_shards_does_what_is_left(tmp_path: Path) -> None:
    work = Squares(tmp_path)
    with work.held(list(UNITS)), pytest.raises(UnitsLeftError, match="4 units of 7 left"):
        list(Shards(Local(1), 1, 3).run(work, UNITS))
    with work.held(list(UNITS)):
        assert sorted(Local(1).run(work, UNITS)) == [1, 2, 4, 5]


def test_a_part_may_be_done_again(tmp_path: Path) -> None:
    work = Squares(tmp_path)
    for _ in range(2):
        with work.held(list(UNITS)), pytest.raises(UnitsLeftError):
            list(Shards(Local(1), 2, 3).run(work, UNITS))
    assert [unit for unit, _ in work.tried()] == [1, 4]


@pytest.mark.parametrize("shards", ["0/4", "5/4", "3", "a/b", "1/0", "-1/4"])
def test_parts_that_are_none_are_refused(shards: str) -> None:
    with pytest.raises(ConfigError, match=f"shards='{shards}': use part/parts, such as 3/16"):
        EngineConfig(shards=shards)


def test_an_address_without_ray_is_refused() -> None:
    with pytest.raises(ConfigError, match="address='auto' is that of a Ray cluster; add engine='ray'"):
        EngineConfig(address="auto")


def test_ray_needs_a_folder_that_all_nodes_see() -> None:
    with pytest.raises(ConfigError, match="engine='ray' needs a folder that all nodes see"):
        make_engine(EngineConfig("ray"))
