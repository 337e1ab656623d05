import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.run_folder import RunManifest, write_baseline
from eventcargo.discovery.stages import Discovery, discover
from eventcargo.discovery.unfitted import unfitted_labels
from eventcargo.errors import ConfigError, DataError, EventCargoWarning
from eventcargo.events import EventDataset, EventSequence
from eventcargo.graphs import LabelGraph
from eventcargo.io import read_graph
from eventcargo.knowledge import Knowledge
from eventcargo.memory import MemoryLimitError, private_bytes
from eventcargo.quality import Quality
from eventcargo.simulation import Simulated, simulate

from ..loaded import after_statement

QUICK = DiscoverConfig(preset="fast", steps=3, workers=1)

FINDINGS = ("graph.parquet", "graph.json", "baseline.parquet", "rules.json", "verdicts.json")
"""Files that depend on the data and the settings alone; the report tells seconds."""


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory in /proc")


@pytest.fixture(scope="module")
def chain() -> Simulated:
    return simulate("chain", sequences=400, labels=2, event_types=30, seed=103)


@pytest.fixture(scope="module")
def whole(chain: Simulated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("stages") / "run"
    Discovery(chain.data, folder, QUICK).run()
    return folder


def bytes_of(folder: Path) -> dict[str, bytes]:
    paths = [folder / name for name in FINDINGS]
    paths += [path for part in ("edges", "votes") for path in (folder / part).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}


def test_every_stage_leaves_its_artefact(whole: Path) -> None:
    names = {*FINDINGS, "run.json", "model", "edges", "votes", "report.html"}
    assert names <= {path.name for path in whole.iterdir()}


def test_the_true_causes_are_found(chain: Simulated, whole: Path) -> None:
    found = Discovery(chain.data, whole, QUICK, resume=True).run()
    assert {label: set(events) for label, events in found.graph.boundaries.items()} == {
        label: set(events) for label, events in chain.truth.boundaries.items()
    }


def test_a_stage_that_is_done_is_not_done_again(chain: Simulated, whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}
    told: list[str] = []
    Discovery(chain.data, whole, QUICK, resume=True, progress=lambda stage, *_: told.append(stage)).run()
    assert told == []
    assert before == {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "stage", ["linear term", "training", "testing", "fuse", "verify", "baseline", "rules", "judge"]
)
def test_a_run_stopped_in_any_stage_ends_with_the_same_bytes(
    chain: Simulated, whole: Path, tmp_path: Path, stage: str
) -> None:
    class StopError(Exception):
        pass

    def tell(now: str, done: float, total: float, message: str) -> None:
        if now == stage:
            raise StopError

    with pytest.raises(StopError):
        Discovery(chain.data, tmp_path, QUICK, progress=tell).run()
    Discovery(chain.data, tmp_path, QUICK, resume=True).run()
    assert bytes_of(tmp_path) == bytes_of(whole)


@pytest.mark.slow
def test_a_run_that_was_killed_ends_with_the_same_bytes(
    chain: Simulated, whole: Path, tmp_path: Path
) -> None:
    chain.data.save(tmp_path / "data")
    script = (
        "from eventcargo import EventDataset\n"
        "from eventcargo.discovery import DiscoverConfig, Discovery\n"
        f"data = EventDataset.load({str(tmp_path / 'data')!r})\n"
        "config = DiscoverConfig(preset='fast', steps=3, workers=1)\n"
        f"Discovery(data, {str(tmp_path / 'run')!r}, config).run()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    while process.poll() is None and not (tmp_path / "run" / "model").exists():
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    Discovery(chain.data, tmp_path / "run", QUICK, resume=True).run()
    assert bytes_of(tmp_path / "run") == bytes_of(whole)


@needs_proc
def test_a_run_that_takes_more_memory_than_its_limit_is_ended(chain: Simulated, tmp_path: Path) -> None:
    begun: list[str] = []

    def take(stage: str, *_: object) -> None:
        begun.append(stage)
        taken, end = np.ones(2**30, np.uint8), time.monotonic() + 30
        while time.monotonic() < end:
            time.sleep(0.05)
        raise AssertionError(f"the run went on with {taken.nbytes:,} bytes")

    limit = f"{private_bytes() + 2**29 + 2**28:.0f}"
    with pytest.raises(MemoryLimitError, match="finished work is kept"):
        discover(chain.data, tmp_path, replace(QUICK, max_memory=limit), progress=take)
    assert len(begun) == 1


def test_no_more_workers_are_started_than_fit_into_the_memory(chain: Simulated, tmp_path: Path) -> None:
    def started(workers: int) -> int:
        config = replace(QUICK, workers=workers, max_memory="3G")
        discovery = Discovery(chain.data, tmp_path / str(workers), config)
        discovery._lock.release()
        return discovery._n_workers()

    assert started(1) == 1
    assert 1 < started(1_000) < 20


def test_other_data_are_not_gone_on_with(whole: Path) -> None:
    other = simulate("chain", sequences=300, labels=2, event_types=30, seed=103).data
    with pytest.raises(ConfigError, match="begun with data="):
        Discovery(other, whole, QUICK, resume=True)


def test_what_is_forbidden_is_not_found(chain: Simulated, tmp_path: Path) -> None:
    cause = chain.truth.boundary("L000")[0]
    knowledge = Knowledge(forbidden={"L000": [cause]})
    found = Discovery(chain.data, tmp_path, QUICK, knowledge=knowledge).run()
    assert cause not in found.graph.boundary("L000")
    assert cause in found.graph.boundary("L001") or cause not in chain.truth.boundary("L001")
    assert not any(f"{cause} is not in the boundary" in reason for reason in found.verdicts["L000"].reasons)


def test_a_model_that_is_given_is_not_trained(chain: Simulated, whole: Path, tmp_path: Path) -> None:
    model = Discovery(chain.data, whole, QUICK, resume=True).run().model
    told: list[str] = []
    found = Discovery(
        chain.data, tmp_path, QUICK, model=model, progress=lambda stage, *_: told.append(stage)
    ).run()
    assert "training" not in told
    assert found.graph.boundaries == Discovery(chain.data, whole, QUICK, resume=True).run().graph.boundaries


def test_data_without_labels_are_refused_before_work(tmp_path: Path) -> None:
    data = EventDataset.from_sequences([EventSequence("a", ("x",), (0.0,), ())])
    with pytest.raises(DataError, match="no labels"):
        Discovery(data, tmp_path / "run", QUICK)
    assert not (tmp_path / "run").exists()


def left(seconds: float) -> float:
    """When a run with the default limit of half an hour has begun if so much is left of it."""
    return time.monotonic() - 1800 + seconds


def test_a_run_without_any_time_is_refused_before_work(chain: Simulated, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"max_time='30m': .* took 1800.* allow 36m or more"):
        discover(chain.data, tmp_path / "run", began=left(0))
    assert not (tmp_path / "run").exists()


@pytest.fixture
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models take longer to be loaded than any limit allows; all else has the time it needs."""
    monkeypatch.setattr("eventcargo.discovery.schedule.LOADING", 3600.0)


@pytest.mark.usefixtures("no_models")
def test_a_run_that_reached_no_label_is_refused(chain: Simulated, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StopError

    with pytest.raises(StopError):
        Discovery(chain.data, tmp_path, progress=stop).run()
    write_baseline(tmp_path, LabelGraph.from_boundaries({}), chain.data)
    run = Discovery(chain.data, tmp_path, resume=True)
    run.manifest.done = ["baseline"]
    with pytest.raises(ConfigError, match=r"max_time='30m': .* allow 36m or more"):
        run.run()


@pytest.mark.usefixtures("no_models")
def test_without_time_for_models_the_boundaries_rest_on_the_data(chain: Simulated, tmp_path: Path) -> None:
    with pytest.warns(
        EventCargoWarning, match=r"no model was fitted.*2 of 2 labels \(L001, L000\); allow \d+h"
    ):
        found = discover(chain.data, tmp_path)
    assert found.model is None
    assert found.graph.boundaries == chain.truth.boundaries
    assert {path.name for path in tmp_path.iterdir()} >= {*FINDINGS, "run.json", "report.html"}
    assert not (tmp_path / "model").exists()
    again = Discovery(chain.data, tmp_path, resume=True).run()
    assert (again.model, again.graph.boundaries) == (None, found.graph.boundaries)


@pytest.mark.usefixtures("no_models")
@pytest.mark.filterwarnings("ignore:for lack of time")
def test_without_models_knowledge_is_obeyed(chain: Simulated, tmp_path: Path) -> None:
    cause, stranger = chain.truth.boundary("L000")[0], chain.data.event_names[-1]
    knowledge = Knowledge(forbidden={"L000": [cause]}, required={"L001": [stranger]})
    found = discover(chain.data, tmp_path, knowledge=knowledge)
    assert cause not in found.graph.boundary("L000")
    assert stranger in found.graph.boundary("L001")


@pytest.mark.usefixtures("no_models")
@pytest.mark.filterwarnings("ignore:for lack of time")
def test_a_run_that_used_up_its_time_before_it_was_stopped_is_ended(chain: Simulated, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def tell(now: str, done: float, total: float, message: str) -> None:
        if now == "fuse":
            raise StopError

    with pytest.raises(StopError):
        Discovery(chain.data, tmp_path, progress=tell).run()
    found = Discovery(chain.data, tmp_path, resume=True, began=left(0)).run()
    assert {one.level for one in found.verdicts.values()} == {"doubt"}
    assert (tmp_path / "report.html").exists()


def test_labels_whose_model_had_no_time_have_the_boundaries_of_the_data(
    chain: Simulated, whole: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    quality = Quality.read(tmp_path / "model" / "quality.json")
    late = replace(quality, training={**quality.training, "not_fitted": ["L000"]})
    late.write(tmp_path / "model" / "quality.json")
    (tmp_path / "fused.parquet").unlink()
    Discovery(chain.data, tmp_path, QUICK, resume=True).run()
    fused, baseline = (read_graph(tmp_path / name) for name in ("fused.parquet", "baseline.parquet"))
    assert unfitted_labels(fused) == ["L000"]
    assert fused.boundary("L000") == baseline.boundary("L000")


def test_the_paper_s_preset_is_nothing_without_its_network(chain: Simulated, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"it leaves 0 s for training and 0 s for phase 1, but .* takes about \d+ s"
    ):
        discover(chain.data, tmp_path, DiscoverConfig(preset="paper"), began=left(5.0))


WITHOUT_MODELS = """
import tempfile, time, warnings
import eventcargo.discovery.schedule
from eventcargo.discovery import DiscoverConfig, Discovery
from eventcargo.errors import ConfigError
from eventcargo.simulation import simulate

warnings.simplefilter("ignore")
eventcargo.discovery.schedule.LOADING = 3600.0
data = simulate("chain", sequences=200, labels=1, seed=100).data
with tempfile.TemporaryDirectory() as folder:
    Discovery(data, f"{folder}/ours", DiscoverConfig()).run()
    try:
        paper = DiscoverConfig(preset="paper")
        Discovery(data, f"{folder}/paper", paper, began=time.monotonic() - 1795).run()
    except ConfigError:
        pass
"""


def test_without_time_for_models_torch_is_not_loaded() -> None:
    assert not {"torch", "networkx"} & after_statement(WITHOUT_MODELS)


LONGER = replace(QUICK, max_time="2h")


@pytest.mark.usefixtures("no_models")
def test_with_more_time_a_run_without_models_gets_them(
    chain: Simulated, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.warns(EventCargoWarning, match="no model was fitted"):
        discover(chain.data, tmp_path, QUICK)
    monkeypatch.undo()
    discover(chain.data, tmp_path, LONGER, resume=True)
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_with_more_time_labels_that_were_not_fitted_are_taken_up_again(
    chain: Simulated, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eventcargo.models.training.linear_term.SHARE", 0.0)  # no time for any label
    with pytest.warns(EventCargoWarning, match="2 of 2 labels"):
        Discovery(chain.data, tmp_path, QUICK).run()
    monkeypatch.undo()
    assert bytes_of(tmp_path) != bytes_of(whole)
    assert RunManifest.read(tmp_path).cut == ["train"]
    Discovery(chain.data, tmp_path, LONGER, resume=True).run()
    assert bytes_of(tmp_path) == bytes_of(whole)
    assert RunManifest.read(tmp_path).settings["max_time"] == "2h"


def test_with_more_time_a_label_that_was_cut_before_a_kill_is_fitted(
    chain: Simulated, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StopError(Exception):
        pass

    def tell(stage: str, *_: object) -> None:
        if stage == "linear term":
            raise StopError  # one of two labels is done

    monkeypatch.setattr("eventcargo.models.training.linear_term.SHARE", 0.0)  # no time for any label
    with pytest.raises(StopError):
        Discovery(chain.data, tmp_path, QUICK, progress=tell).run()
    monkeypatch.undo()
    assert len(list((tmp_path / "work" / "fits").glob("label-*.npz"))) == 1
    Discovery(chain.data, tmp_path, LONGER, resume=True).run()
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_more_time_changes_nothing_where_nothing_was_cut_and_less_is_refused(
    chain: Simulated, whole: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    told: list[str] = []
    Discovery(chain.data, run, LONGER, resume=True, progress=lambda stage, *_: told.append(stage)).run()
    assert told == []
    with pytest.raises(ConfigError, match="begun with max_time='2h', now it is '30m'"):
        Discovery(chain.data, run, QUICK, resume=True)
