import json
from pathlib import Path

import polars as pl
import pytest

from eventcargo import __version__
from eventcargo.io import read_events, read_graph, read_meds
from eventcargo.simulation import REGIMES, simulate

from .program import run, run_json


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_writes_its_tables(regime: str, tmp_path: Path) -> None:
    said = run_json("simulate", regime, tmp_path / "out", "--sequences", "60")
    data = read_events(tmp_path / "out" / "events.parquet", tmp_path / "out" / "labels.parquet")
    assert len(data) == said["sequences"] == 60
    truth = pl.read_parquet(tmp_path / "out" / "truth.parquet")
    assert {"label", "event", "sign"} <= set(truth.columns)
    assert len(truth) == said["edges"]


def test_the_tables_are_those_of_python_with_the_same_seed(fleet: Path) -> None:
    made = simulate("fleet", sequences=1500, event_types=200, labels=4, seed=3)
    read = read_events(fleet / "events.parquet", fleet / "labels.parquet")
    assert read["S000007"] == made.data["S000007"]
    assert read_graph(fleet / "truth.parquet").edges.equals(made.truth.edges)


def test_the_description_holds_what_made_the_data(fleet: Path) -> None:
    said = json.loads((fleet / "simulation.json").read_text())
    assert (said["regime"], said["seed"], said["settings"]["event_types"]) == ("fleet", 3, 200)
    assert set(said["rules"]) == {"L000", "L001", "L002", "L003"}


def test_an_existing_folder_is_not_overwritten(fleet: Path) -> None:
    before = (fleet / "events.parquet").read_bytes()
    assert "exists already" in run("simulate", "fleet", fleet, code=1).stderr
    assert (fleet / "events.parquet").read_bytes() == before


def test_a_bad_knob_is_told_with_its_value_and_nothing_is_written(tmp_path: Path) -> None:
    said = run("simulate", "fleet", tmp_path / "out", "--label-noise", "7", code=1).stderr
    assert "7" in said
    assert not (tmp_path / "out").exists()


def test_what_is_told_is_what_was_written(tmp_path: Path) -> None:
    said = run_json("simulate", "ordered", tmp_path / "out", "--sequences", "60", "--seed", "5")
    assert said["events"] == len(pl.read_parquet(tmp_path / "out" / "events.parquet"))
    assert said["folder"] == str(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "simulation.json").read_text())
    assert {name: said[name] for name in written} == written
    assert (written["seed"], written["version"]) == (5, __version__)


def test_people_are_told_the_size_of_data_and_truth(tmp_path: Path) -> None:
    printed = run("simulate", "ordered", tmp_path / "out", "--sequences", "60").stdout
    edges = len(read_graph(tmp_path / "out" / "truth.parquet"))
    assert "60 sequences" in printed
    assert f" {edges} edges" in printed
    assert f"written to {tmp_path / 'out'}" in " ".join(printed.split())


def test_every_regime_says_what_it_is() -> None:
    printed = run("simulate", "fleet", "--help").stdout
    assert "Many event types, long sequences" in printed
    assert "The regime" not in printed


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic") / "out"
    run("simulate", "clinic", folder, "--subjects", "80", "--seed", "4", "--messy", "--meds")
    return folder


def test_raw_records_are_those_of_python_with_the_same_seed(clinic: Path) -> None:
    made = simulate("clinic", subjects=80, seed=4)
    for name, table in made.tables().items():
        assert pl.read_parquet(clinic / f"{name}.parquet").equals(table)
    assert read_graph(clinic / "truth.parquet").edges.equals(made.truth.edges)
    assert json.loads((clinic / "truth.json").read_text("utf-8")) == made.describe()


def test_messy_twins_and_a_meds_folder_are_written_on_request(clinic: Path, tmp_path: Path) -> None:
    assert (clinic / "messy" / "events.csv").is_file()
    assert len(read_meds(clinic / "meds")) == 80
    run("simulate", "clinic", tmp_path / "out", "--subjects", "20")
    assert not any(path.is_dir() for path in (tmp_path / "out").iterdir())


def test_what_is_told_of_raw_records_is_what_was_written(tmp_path: Path) -> None:
    said = run_json(
        "simulate", "clinic", tmp_path / "out", "--subjects", "20", "--format", "csv", "--no-cause"
    )
    assert said["events"] == len(pl.read_csv(tmp_path / "out" / "events.csv"))
    assert (said["subjects"], said["edges"], said["settings"]["no_cause"]) == (20, 0, True)
    assert said["outcomes"] == sum(label["outcomes"] for label in said["labels"].values())


def test_people_are_told_the_size_of_raw_records(tmp_path: Path) -> None:
    printed = run("simulate", "clinic", tmp_path / "out", "--subjects", "20").stdout
    assert "20 subjects" in printed
    assert " 9 edges" in printed


def test_an_unknown_format_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    said = run("simulate", "clinic", tmp_path / "out", "--subjects", "20", "--format", "xlsx", code=1).stderr
    assert "format='xlsx'" in said
    assert not (tmp_path / "out").exists()


def test_a_setting_that_says_no_has_no_opposite() -> None:
    printed = run("simulate", "clinic", "--help").stdout
    assert "--no-cause" in printed
    assert "--no-no-cause" not in printed
