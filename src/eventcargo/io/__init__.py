"""Readers and writers of outside formats, one module each; our own formats are with their classes."""

from eventcargo.io.graphs import check_graph_path, read_graph, write_graph
from eventcargo.io.meds import read_meds, read_meds_splits
from eventcargo.io.networks import graph_to_networkx, graph_to_strengths
from eventcargo.io.tables import read_events
from eventcargo.io.writers import write_events

__all__ = [
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
