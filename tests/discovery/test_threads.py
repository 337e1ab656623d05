from pathlib import Path

import pytest
import torch

from eventcargo import EventDataset, train
from eventcargo.discovery import DiscoverConfig, discover
from eventcargo.discovery.run_folder import RunManifest
from eventcargo.errors import EventCargoWarning
from eventcargo.models import DensityModel
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.config import FEW_WEIGHTS, TransformerConfig
from eventcargo.models.transformer.model import Transformer
from eventcargo.simulation import simulate

from tests.reliability import programs

DERIVED = ("edges/plan.json", "votes/plan.json")
"""Files that name the model by its bytes."""


def run_on(threads: int, folder: Path, *options: str) -> dict[str, bytes]:
    """The files of a run on this many threads, without those that tell the time."""
    out = folder / f"{threads} threads"
    done = programs.run(
        *("discover", folder / "data", "--out", out, *options),
        before=("env", f"OMP_NUM_THREADS={threads}"),
    )
    assert done.code == 0, done.stderr
    assert RunManifest.read(out).threads == threads
    paths = [path for path in out.rglob("*") if path.is_file() and path.name not in programs.TIMES]
    return {str(path.relative_to(out)): path.read_bytes() for path in paths}


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


@pytest.mark.slow
def test_the_number_of_threads_changes_no_byte_of_a_default_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate("fleet", sequences=2_500, event_types=200, labels=5, seed=101).data.save(tmp_path / "data")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    one, two = (run_on(threads, tmp_path, "--steps", "30") for threads in (1, 2))
    assert "model/model.safetensors" in one
    assert differing(one, two) == []


@pytest.mark.slow
def test_threads_change_only_the_weights_of_a_large_network_and_no_edge_vote_graph_rule_or_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate("chain", sequences=300, labels=2, seed=101).data.save(tmp_path / "data")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    one, two = (run_on(threads, tmp_path, "--size", "base", "--steps", "2") for threads in (1, 2))
    assert {"graph.parquet", "rules.json", "verdicts.json"} <= one.keys()
    assert set(differing(one, two)) <= {"model/model.safetensors", "model/config.json", *DERIVED}


THREADS, MORE = 1e-4, 10
"""By how much threads changed a weight at most where they did (docs/log.md), and how many times as much is
tried."""


@pytest.mark.slow
def test_a_large_network_that_alone_decides_finds_the_same_with_other_last_digits(tmp_path: Path) -> None:
    shape = TransformerConfig(width=128, layers=4, heads=8, feedforward=512, linear=False, label_queries=True)
    assert shape.weights_of_blocks >= FEW_WEIGHTS
    data = simulate("chain", sequences=200, labels=2, seed=101).data
    model = train(data, TrainConfig(steps=60, max_time="1h"), shape)
    before = found(model, data, tmp_path / "before")
    assert all(before[0].values())
    assert isinstance(model, Transformer)
    change(model, MORE * THREADS)
    assert found(model, data, tmp_path / "after") == before


def found(
    model: DensityModel, data: EventDataset, run: Path
) -> tuple[dict[str, list[str]], dict[str, str | None]]:
    """The boundaries and rules of a run in which the network alone decides: nothing is tested on the data."""
    results = discover(data, run, DiscoverConfig(preset="paper", test="total"), model=model)
    assert (run / "edges").exists()
    return results.graph.boundaries, {label: rule and rule.text for label, rule in results.rules.items()}


def change(model: Transformer, size: float) -> None:
    """Change every weight a little."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(size * torch.randn(weights.shape, generator=generator))


def test_training_that_goes_on_with_other_threads_warns_where_they_matter(tmp_path: Path) -> None:
    manifest = RunManifest.begin(tmp_path, {}, resume=False)
    manifest.note_threads(1, matter=True)
    again = RunManifest.begin(tmp_path, {}, resume=True)
    again.note_threads(1, matter=True)
    again.note_threads(2, matter=False)
    with pytest.warns(EventCargoWarning, match="training began on 2 threads and goes on with 4"):
        again.note_threads(4, matter=True)
    assert RunManifest.read(tmp_path).threads == 4
