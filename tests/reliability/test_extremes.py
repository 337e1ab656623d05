"""Extreme data end with a result or a clear refusal, within the memory they were given."""

from pathlib import Path

import pytest

from eventcargo.memory import parse_memory

from tests.reliability.extremes import SMALL, Extreme, discover

QUICK = {"preset": "fast", "steps": "2"}
SECONDS = 300.0

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SMALL)
def test_extreme_data_end_clearly_and_within_their_memory(name: str, tmp_path: Path) -> None:
    ended = discover(SMALL[name], tmp_path, {**QUICK, "max-memory": "2G"}, SECONDS, seed=1)
    assert ended.is_clear, ended
    assert ended.private <= parse_memory("2G")
    assert (ended.code == 1) == (name == "no label")


def test_data_that_cannot_fit_are_refused_before_work(tmp_path: Path) -> None:
    ended = discover(Extreme(300, 5_000, 50), tmp_path, {**QUICK, "max-memory": "300M"}, SECONDS, seed=1)
    assert ended.words.startswith("error: --max-memory 300M: a run on these data takes about ")
    assert not (tmp_path / "run").exists()


def test_tables_that_do_not_fit_are_refused_while_they_are_read(tmp_path: Path) -> None:
    ended = discover(Extreme(300, 20, 2), tmp_path, {**QUICK, "max-memory": "10M"}, SECONDS, seed=1)
    assert ended.words.startswith("error: --max-memory 10M: the work takes more, ")
    assert not (tmp_path / "run").exists()
