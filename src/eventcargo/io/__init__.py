"""Readers and writers of outside formats, one module each; our own formats are with their classes."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.io.config import ReadConfig
    from eventcargo.io.graph_paths import check_graph_path
    from eventcargo.io.graphs import read_graph, write_graph
    from eventcargo.io.meds import read_meds, read_meds_splits
    from eventcargo.io.networks import graph_to_networkx, graph_to_strengths
    from eventcargo.io.tables import read_events
    from eventcargo.io.writers import write_events
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": "ReadConfig",
            "graph_paths": "check_graph_path",
            "graphs": "read_graph write_graph",
            "meds": "read_meds read_meds_splits",
            "networks": "graph_to_networkx graph_to_strengths",
            "tables": "read_events",
            "writers": "write_events",
        },
    )

__all__ = [
    "ReadConfig",
    "check_graph_path",
    "graph_to_networkx",
    "graph_to_strengths",
    "read_events",
    "read_graph",
    "read_meds",
    "read_meds_splits",
    "write_events",
    "write_graph",
]
