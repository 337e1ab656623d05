"""What is found where a number decides: the threshold alone, and not the event type that was measured."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eventcargo import Cohort, EventDataset, find_boundaries
from eventcargo.baselines.levels import Levels
from eventcargo.discovery import DiscoverConfig, discover
from eventcargo.statistics.g2 import IndependenceTest


def measured(decides: Callable[[float], bool], seed: int = 0) -> EventDataset:
    """Half of the sequences hold numbers of `lab`, from 0 to 10; one that decides brings the label."""
    random = np.random.default_rng(seed)
    events, labels = [], []
    for number in range(1500):
        name = f"s{number:04}"
        events += [(name, float(at), event, None) for at, event in enumerate("abcd") if random.random() < 0.5]
        values = random.uniform(0, 10, random.poisson(0.75)).round(3)
        events += [(name, random.uniform(0, 5), "lab", value) for value in values]
        events.append((name, 0.0, "start", None))
        if random.random() < (0.8 if any(map(decides, values)) else 0.05):
            labels.append((name, "bad"))
    table = pl.DataFrame(events, ["sequence_id", "time", "event", "number"], orient="row")
    carried = pl.DataFrame(labels, ["sequence_id", "label"], orient="row")
    cut = ("lab=1,2.5,5,7.5,9",)
    return Cohort(index="end", numeric_value="number", cut=cut).build(table, carried)


CAUSES = [
    (lambda value: value >= 7.5, {"lab >= 7.5"}),
    (lambda value: value >= 2.5, {"lab >= 2.5"}),
    (lambda value: value < 1, {"lab < 1"}),
    (lambda value: value < 1 or value >= 9, {"lab < 1", "lab >= 9"}),
    (lambda value: value >= 0, {"lab"}),
]


@pytest.mark.parametrize(("decides", "boundary"), CAUSES)
def test_a_classical_method_finds_exactly_the_threshold(
    decides: Callable[[float], bool], boundary: set[str]
) -> None:
    assert set(find_boundaries(measured(decides), "iamb").boundary("bad")) == boundary


@pytest.mark.parametrize(("decides", "boundary"), CAUSES)
def test_a_whole_run_finds_exactly_the_threshold(
    decides: Callable[[float], bool], boundary: set[str], tmp_path: Path
) -> None:
    config = DiscoverConfig(preset="fast", steps=3, workers=1)
    assert set(discover(measured(decides), tmp_path / "run", config).graph.boundary("bad")) == boundary


def test_a_threshold_between_two_quantiles_is_that_next_to_it() -> None:
    random = np.random.default_rng(1)
    values = random.uniform(0, 10, 2000).round(3)
    events = pl.DataFrame(
        {
            "sequence_id": [f"s{at:04}" for at in range(4000)],
            "time": 0.0,
            "event": ["lab"] * 2000 + ["other"] * 2000,
            "number": [*values, *[None] * 2000],
        }
    )
    carries = np.concatenate([values >= 3, np.zeros(2000, bool)]) & (random.random(4000) < 0.8)
    labels = events.filter(pl.Series(carries | (random.random(4000) < 0.05)))
    labels = labels.select("sequence_id", label=pl.lit("bad"))
    data = Cohort(index="end", numeric_value="number").build(events, labels)
    (found,) = find_boundaries(data, "iamb").boundary("bad")
    assert found == data.kinds.scales[0][1]
    assert found.startswith("lab >= 2.")


@pytest.mark.parametrize(("decides", "settled"), [CAUSES[3], CAUSES[4]])
def test_thresholds_up_and_down_stay_if_they_say_more_than_that_something_was_measured(
    decides: Callable[[float], bool], settled: set[str]
) -> None:
    data = measured(decides)
    kinds = data.kinds.numbered(data.event_names)
    levels = Levels(IndependenceTest(data.presence()), data.positives()[0], kinds, alpha=0.01, min_gain=5.0)
    cuts = ("lab < 1", "lab >= 9") if len(settled) == 2 else ("lab < 5", "lab >= 5")
    found = levels.settle([data.event_names.index(cut) for cut in cuts])
    assert {data.event_names[event] for event in found.boundary} == settled
    assert set(found.alternatives) <= set(found.boundary)
