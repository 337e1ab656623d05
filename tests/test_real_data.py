"""Two real data sets with known causes, where they are at hand."""

from pathlib import Path

import pytest

from eventcargo.baselines import find_boundaries
from eventcargo.evaluation import count_support, evaluate
from eventcargo.io import read_events, read_graph

DATA = Path(__file__).parents[2] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no folder {DATA}")


def test_every_cause_of_a_failing_component_is_found() -> None:
    folder = DATA / "azure_pdm"
    data = read_events(folder / "events.csv.gz", folder / "labels.csv.gz")
    assert (len(data), data.n_events, len(data.event_names)) == (25_099, 101_366, 13)
    truth = count_support(read_graph(folder / "truth.csv"), data)
    graph = find_boundaries(data)
    assert evaluate(graph, truth).micro.recall == 1.0
    assert all(graph.boundary(label)[0] in truth.boundary(label) for label in truth.labels)


def test_most_alarms_of_the_lathe_have_their_parent_found() -> None:
    folder = DATA / "causrca"
    data = read_events(folder / "events.csv.gz", folder / "labels.csv.gz")
    assert (len(data), data.n_events, len(data.event_names)) == (3_005, 98_300, 160)
    truth = count_support(read_graph(folder / "truth.csv"), data)
    reachable = [label for label in truth.labels if label not in ("Prog_A_701330", "SR_A_67040")]
    graph = find_boundaries(data, "pcd-by-pcd")
    scores = evaluate(graph, truth, labels=reachable, event_of=lambda name: name.split("=")[0])
    assert scores.macro.recall >= 12 / 16
