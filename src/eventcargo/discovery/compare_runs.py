"""compare: what differs between two runs, given as folders, estimators, or graphs with their data."""

from pathlib import Path
from typing import Any

from eventcargo.comparison import CompareConfig, Comparison, Side
from eventcargo.comparison.compare import compare as compare_sides
from eventcargo.discovery.data_source import recall
from eventcargo.discovery.run_folder import GRAPH, is_current
from eventcargo.errors import DataError
from eventcargo.io import read_graph
from eventcargo.progress import OnProgress


def compare(
    a: Any, b: Any, config: CompareConfig | None = None, *, progress: OnProgress | None = None
) -> Comparison:
    """Compare the edges of two runs, each a folder, a `Cargo`, or a pair of graph and data.

    Of a folder, the data are those it remembers; see `comparison.compare` for what is compared.

    >>> from eventcargo.simulation import simulate
    >>> fleet = simulate("noisy_or", sequences=4000, labels=2, seed=1)
    >>> halves = [(fleet.truth, fleet.data[:2000]), (fleet.truth, fleet.data[2000:])]
    >>> compare(*halves).counts["none"] == len(fleet.truth)
    True
    """
    return compare_sides(_side(a), _side(b), config, progress=progress)


def _side(given: Any) -> Any:
    """The graph and data of a folder; anything else as it is."""
    if not isinstance(given, str | Path):
        return given
    run = Path(given)
    if not (run / GRAPH).exists():
        raise DataError(f"{run} holds no finished run: it has no {GRAPH}; run discover first")
    data = recall(run, "give a pair of graph and data, such as (read_graph(path), data)").data
    is_current(run, GRAPH, data, "is compared all the same")
    return Side(str(run), read_graph(run / GRAPH), data)
