from pathlib import Path

import pytest

from eventcargo import Cargo, EventDataset
from eventcargo.errors import ConfigError
from eventcargo.simulation import simulate

from .program import run


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engines") / "data"
    simulate("fleet", sequences=600, event_types=600, labels=20, seed=100).data.save(folder)
    return folder


def test_parts_of_a_baseline_in_any_order_give_the_same_graph(saved: Path, tmp_path: Path) -> None:
    run("baseline", "iamb", saved, "--out", tmp_path / "whole.parquet")
    graph, told = tmp_path / "parts.parquet", list[str]()
    for part in (3, 1, 2):
        assert not graph.exists()
        told.append(run("baseline", "iamb", saved, "--out", graph, "--shards", f"{part}/3").stdout)
    assert "part 3/3 of baseline is done; 2 units of 3 left to other parts" in told[0]
    assert "part 1/3 of baseline is done; 1 unit of 3 left to other parts" in told[1]
    assert graph.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["parts.parquet", "whole.parquet"]


def test_parts_of_training_and_phase_1(saved: Path, tmp_path: Path) -> None:
    small = ("--size", "tiny", "--steps", "1", "--no-focused", "--max-time", "2h")
    run("train", saved, "--out", tmp_path / "whole", *small)
    for part in (2, 1, 2, 1):
        run("train", saved, "--out", tmp_path / "parts", *small, "--shards", f"{part}/2")
    models = [tmp_path / name / "model" / "model.safetensors" for name in ("whole", "parts")]
    assert models[0].read_bytes() == models[1].read_bytes()
    run("extract", tmp_path / "whole", saved, "--shard", "256")
    for part in (2, 1, 2):
        run("extract", tmp_path / "parts", saved, "--shard", "256", "--shards", f"{part}/2")
    whole, parts = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "edges").rglob("*.parquet")}
        for name in ("whole", "parts")
    )
    assert whole == parts
    assert not (tmp_path / "parts" / "work").exists()


def test_an_address_needs_ray(saved: Path, tmp_path: Path) -> None:
    told = run("discover", saved, "--out", tmp_path / "run", "--address", "auto", code=1).stderr
    assert "--address auto is that of a Ray cluster; add --engine ray" in told


def test_an_unknown_engine_is_refused(saved: Path, tmp_path: Path) -> None:
    told = run("discover", saved, "--out", tmp_path / "run", "--engine", "dask", code=1).stderr
    assert "--engine dask: use local or ray" in told


def test_an_estimator_on_ray_needs_a_folder(tiny: EventDataset) -> None:
    with pytest.raises(ConfigError, match=r"engine='ray' needs a folder that all nodes see: fit with run="):
        Cargo(engine="ray").fit(tiny)
