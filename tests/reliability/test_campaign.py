"""A bounded campaign of damaged inputs; `benchmarks/reliability/damaged.py` runs the whole of it."""

import warnings
from pathlib import Path

import pytest

from tests.reliability.campaign import BAD, SLOW, Ended, Reader, cases, run_campaign, tally
from tests.reliability.surfaces import prepare, surfaces

INPUTS = 400


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepare(folder)
    return folder


@pytest.mark.slow
def test_every_damaged_input_is_refused_clearly_or_read_rightly(home: Path, tmp_path: Path) -> None:
    endings = list(run_campaign(home, tmp_path / "one", INPUTS, seed=7, seconds=60))
    assert len(endings) == INPUTS
    assert [one for one in endings if one.outcome in BAD] == []
    assert set(tally(endings)) == {surface.name for surface in surfaces()}


@pytest.mark.slow
def test_a_flipped_bit_is_noticed_wherever_it_is(home: Path, tmp_path: Path) -> None:
    sealed = [surface.name for surface in surfaces() if surface.sealed]
    reader = Reader(home, tmp_path / "one", seconds=60)
    endings = [
        reader.read(name, seed) for name in sealed for seed in range(1_000, 1_001 if name in SLOW else 1_004)
    ]
    reader.close()
    assert [one for one in endings if one.outcome in BAD] == []


def test_all_inputs_have_seeds_of_their_own() -> None:
    names = [surface.name for surface in surfaces()]
    drawn = list(cases(2_000, 0, names))
    assert len(drawn) == len(set(drawn)) == 2_000
    assert {name for name, _ in drawn} == set(names)


def test_a_reader_that_ends_or_hangs_is_replaced(home: Path, tmp_path: Path) -> None:
    reader = Reader(home, tmp_path / "one", seconds=0.0)
    assert reader.read("odd shapes", 0).outcome == "hang"
    reader._process.kill()
    reader._process.join()
    reader._seconds = 60.0
    ended = reader.read("settings", 1)
    assert ended == Ended("settings", 1, "crash", words="exit code -9")
    assert reader.read("settings", 1).outcome in ("refused", "same")
    reader.close()
