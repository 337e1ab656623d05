"""A run on the first of two weeks, and the second."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from eventcargo import DiscoverConfig, EventDataset, Knowledge, discover
from eventcargo.simulation import simulate

QUICK = DiscoverConfig(preset="fast", steps=2, workers=1)


@dataclass(frozen=True)
class Weeks:
    run: Path
    """a run on the first week; copy it before it is updated"""
    first: EventDataset
    second: EventDataset
    both: EventDataset


@pytest.fixture(scope="session")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Weeks:
    data = simulate("noisy_or", sequences=1500, event_types=70, labels=3, seed=3).data
    mixed = np.random.default_rng(0).permutation(len(data))
    first, second = data.select(np.sort(mixed[:1000])), data.select(np.sort(mixed[1000:]))
    run = tmp_path_factory.mktemp("weeks") / "run"
    discover(first, run, QUICK, knowledge=Knowledge(forbidden={"L000": "E00001"}))
    return Weeks(run, first, second, data)
