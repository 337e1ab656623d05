import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from eventcargo import LabelGraph, read_graph
from eventcargo.cli.boundaries import print_boundaries
from eventcargo.simulation import simulate

from ..io.test_workbooks import sheet_names
from .program import run, run_json

QUICK = ("--preset", "fast", "--steps", "3", "--workers", "1")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a small chain with its truth."""
    folder = tmp_path_factory.mktemp("discover") / "data"
    knobs = ("--sequences", "400", "--labels", "2", "--event-types", "30", "--seed", "103")
    run("simulate", "chain", folder, *knobs)
    return folder


@pytest.fixture(scope="module")
def tables(chain: Path) -> tuple[str, ...]:
    return (str(chain / "events.parquet"), "--labels", str(chain / "labels.parquet"))


@pytest.fixture(scope="module")
def done(chain: Path, tables: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("discover") / "run"
    run("discover", *tables, "--out", folder, *QUICK)
    return folder


def test_everything_is_told_and_written(chain: Path, tables: tuple[str, ...], tmp_path: Path) -> None:
    truth = ("--truth", chain / "truth.parquet")
    printed = run("discover", *tables, "--out", tmp_path / "run", *QUICK, *truth).stdout
    assert "Verdicts on 2 labels" in printed
    assert "Causes of 2 of 2 labels" in printed
    assert "Scores against the truth" in printed
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["macro"]["f1"] == 1.0
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000


def test_the_graph_has_a_row_for_each_edge_with_all_that_is_known(done: Path) -> None:
    wanted = {"label", "event", "sign", "frequency", "support", "strength", "effect"}
    wanted |= {"ci_low", "ci_high", "p_value"}
    table = pl.read_parquet(done / "graph.parquet")
    assert wanted <= set(table.columns)
    assert len(table) == len(read_graph(done / "graph.json"))
    assert table["frequency"].is_between(table["ci_low"], table["ci_high"]).all()


def test_the_verdicts_stand_in_the_graph_s_json(done: Path) -> None:
    verdicts = json.loads((done / "graph.json").read_text())["verdicts"]
    assert set(verdicts) == {"L000", "L001"}
    assert set(verdicts["L000"]) == {"level", "reasons", "missing"}


def test_a_finished_run_is_told_again_by_resume(done: Path, tables: tuple[str, ...]) -> None:
    before = (done / "graph.parquet").stat().st_mtime_ns
    said = run_json("discover", *tables, "--out", done, *QUICK, "--resume")
    assert said["boundaries"] == read_graph(done / "graph.parquet").boundaries
    assert set(said["verdicts"]) == set(said["rules"]) == {"L000", "L001"}
    assert (done / "graph.parquet").stat().st_mtime_ns == before


def test_the_graph_is_exported_to_files_of_any_format(
    done: Path, tables: tuple[str, ...], tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("graph.xlsx", "graph.svg", "graph.csv")]
    exports = [part for file in files for part in ("--export", file)]
    told = run("discover", *tables, "--out", done, *QUICK, "--resume", *exports, "-v").stderr
    assert sheet_names(files[0]) == ["edges", "labels", "rules", "verdicts"]
    assert "L000" in files[1].read_text("utf-8")
    assert read_graph(files[2]).boundaries == read_graph(done / "graph.parquet").boundaries
    assert "train: was done before" in told


def test_a_run_is_not_written_over(done: Path, tables: tuple[str, ...]) -> None:
    assert "holds a run already" in run("discover", *tables, "--out", done, *QUICK, code=1).stderr


def test_a_dry_run_writes_nothing(tables: tuple[str, ...], tmp_path: Path) -> None:
    printed = run("discover", *tables, "--out", tmp_path / "run", "--dry-run").stdout
    assert "Plan" in printed
    assert "400 sequences" in printed
    assert "GB of memory. Nothing was written" in printed
    assert not (tmp_path / "run").exists()


def test_a_dry_run_tells_scripts_its_stages(tables: tuple[str, ...], tmp_path: Path) -> None:
    said = run_json("discover", *tables, "--out", tmp_path / "run", "--dry-run", "--max-time", "10m")
    assert [stage["stage"] for stage in said["stages"]][:3] == ["train", "extract", "fuse"]
    assert 0 < said["stages"][0]["seconds"] < 420
    assert said["bytes"] > 1e8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-time", "soon"), "soon"),
        (("--max-time", "1ms"), "--max-time 1ms: "),
        (("--criterion", "majority"), "majority"),
        (("--truth", "missing.parquet"), "missing.parquet"),
        (("--export", "graph.doc"), "graph.doc has an unknown ending"),
        (("--knowledge", "missing.json"), "missing.json"),
    ],
)
def test_bad_arguments_leave_nothing_behind(
    tables: tuple[str, ...], tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    assert said in run("discover", *tables, "--out", tmp_path / "run", *options, code=1).stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_run_that_is_interrupted_says_how_to_go_on(tables: tuple[str, ...], tmp_path: Path) -> None:
    # not `python -m`, under which Python ends itself by the signal if that met code made by exec (imports)
    program = Path(sys.executable).with_name("eventcargo")
    command = [str(program), "discover", *tables, "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        [*command, "--preset", "fast", "--steps", "100000"],
        stderr=subprocess.PIPE,
        text=True,
        # jobs in the background ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 (no threads)
    )
    while process.poll() is None and not (tmp_path / "run" / "linear.safetensors").exists():
        time.sleep(0.01)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 130, said
    assert "--resume" in said


def test_the_table_counts_the_sequences_that_carry_a_label(capsys: pytest.CaptureFixture[str]) -> None:
    """Where only some sequences with a label are tested, the table still counts all of them."""
    data = simulate("chain", sequences=200, labels=2, seed=1).data
    tested = LabelGraph.from_boundaries({"L000": ["E1"], "L001": []}, support={"L000": 5, "L001": 5})
    print_boundaries(tested, data.label_support)
    shown = capsys.readouterr().out
    assert "sequences with it" in shown
    for name, count in data.label_support.items():
        assert count > 5
        (line,) = (line for line in shown.splitlines() if name in line)
        assert str(count) in line
