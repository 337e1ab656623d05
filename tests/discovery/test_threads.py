import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from eventcargo import EventDataset, discover, extract, find_rules, fuse, train, verify
from eventcargo.discovery import DiscoverConfig
from eventcargo.discovery.run_folder import RunManifest
from eventcargo.errors import EventCargoWarning
from eventcargo.fusion.votes import Votes
from eventcargo.models.density import DensityModel
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.config import FEW_WEIGHTS, TransformerConfig
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.simulation import simulate

from tests.reliability import programs


@pytest.mark.slow
def test_the_number_of_threads_changes_no_byte_of_a_default_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate("fleet", sequences=2_500, event_types=200, labels=5, seed=101).data.save(tmp_path / "data")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = {}
    for threads in ("1", "2"):
        out = tmp_path / threads
        done = programs.run(
            *("discover", tmp_path / "data", "--out", out, "--steps", "30"),
            before=("env", f"OMP_NUM_THREADS={threads}"),
        )
        assert done.code == 0, done.stderr
        paths = [path for path in out.rglob("*") if path.is_file() and path.name not in programs.TIMES]
        found[threads] = {path.relative_to(out): path.read_bytes() for path in paths}
    assert Path("model/model.safetensors") in found["1"]
    assert [name for name in found["1"] if found["1"][name] != found["2"].get(name)] == []
