import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors import safe_open

from eventcargo.models.training.trainer import status
from eventcargo.models.transformer.model import Transformer

from .program import run, run_json

QUICK = ("--size", "tiny", "--steps", "4", "--checks", "2", "--tokens", "512")


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A small simulated chain on disk, as arguments."""
    folder = tmp_path_factory.mktemp("train") / "chain"
    run("simulate", "chain", folder, "--sequences", "60", "--seed", "100")
    return str(folder / "events.parquet"), "--labels", str(folder / "labels.parquet")


def test_a_model_is_trained_and_written(chain: tuple[str, ...], tmp_path: Path) -> None:
    said = run_json("train", *chain, "--out", tmp_path / "run", *QUICK)
    assert said["step"] == 4
    assert [held["step"] for held in said["history"]] == [0, 2, 4]
    model = Transformer.from_pretrained(said["model"])
    assert model.label_names == ("L000", "L001", "L002", "L003")
    assert model.config.width == 32


def test_people_get_the_checks_as_a_table(chain: tuple[str, ...], tmp_path: Path) -> None:
    printed = run("train", *chain, "--out", tmp_path / "run", *QUICK).stdout
    assert "4 steps in" in printed
    assert "label F1" in printed


def test_options_reach_the_model(chain: tuple[str, ...], tmp_path: Path) -> None:
    run("train", *chain, "--out", tmp_path, *QUICK, "--max-length", "20", "--min-count", "50")
    model = Transformer.from_pretrained(tmp_path / "model")
    assert model.max_length == 20
    assert len(model.vocabulary.event_names) < 30


def test_values_reach_the_model(tmp_path: Path) -> None:
    rows = "".join(f"s{i},{event},{i}\n" for i in range(20) for event in "ab")
    (tmp_path / "e.csv").write_text(f"sequence_id,event,mileage\n{rows}")
    run("train", tmp_path / "e.csv", "--out", tmp_path / "run", *QUICK, "--values", "mileage")
    assert Transformer.from_pretrained(tmp_path / "run" / "model").value_names == ("mileage",)


def test_a_run_is_not_written_over(chain: tuple[str, ...], tmp_path: Path) -> None:
    run("train", *chain, "--out", tmp_path, *QUICK)
    said = run("train", *chain, "--out", tmp_path, *QUICK, code=1).stderr
    assert "exists already" in said
    assert "resume" in said


def test_a_finished_run_can_be_resumed(chain: tuple[str, ...], tmp_path: Path) -> None:
    first = run_json("train", *chain, "--out", tmp_path, *QUICK)
    assert run_json("train", *chain, "--out", tmp_path, *QUICK, "--resume")["history"] == first["history"]


def test_an_unknown_preset_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    said = run("train", "nowhere.parquet", "--out", tmp_path / "run", "--size", "huge", code=1).stderr
    assert "--size huge: " in said
    assert "small" in said


def test_a_bad_time_is_refused(tmp_path: Path) -> None:
    said = run("train", "nowhere.parquet", "--out", tmp_path / "run", "--max-time", "ten", code=1).stderr
    assert "--max-time ten: " in said


def test_a_stopped_run_says_how_to_go_on(chain: tuple[str, ...], tmp_path: Path) -> None:
    arguments = [*chain, "--out", str(tmp_path), "--size", "tiny", "--max-time", "10m", "--save-every", "1"]
    program = [sys.executable, "-c", "from eventcargo.cli import main; main()", "train", *arguments]
    process = subprocess.Popen(
        program, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    while process.poll() is None and not (tmp_path / "checkpoint.safetensors").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped at step" in said
    assert "--resume" in said
    with safe_open(tmp_path / "checkpoint.safetensors", framework="pt") as state:
        assert json.loads(state.metadata()["eventcargo"])["header"]["state"]["step"] >= 1


def test_the_bar_tells_hours_of_waiting_in_minutes() -> None:
    assert "100:05 left" in status(1, 2.0, 0.5, 10.0, 6005.0)
    assert "label F1 0.500" in status(1, 2.0, 0.5, 10.0, 6005.0)
