"""eventcargo: which events cause which outcome.

Tables of time-stamped events and of labels go in; for every label, the event types that cause it (its
Markov boundary) come out. Names are loaded on first use, so that `import eventcargo` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventcargo.baselines import find_boundaries
    from eventcargo.discovery import Cargo
    from eventcargo.edges import EdgeTable
    from eventcargo.errors import ConfigError, DataError, EventCargoError, EventCargoWarning
    from eventcargo.evaluation import evaluate
    from eventcargo.events import EventDataset, EventSequence
    from eventcargo.graphs import LabelGraph
    from eventcargo.io import read_events, read_graph, read_meds, write_events, write_graph
    from eventcargo.knowledge import Knowledge
    from eventcargo.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Cargo",
    "ConfigError",
    "DataError",
    "EdgeTable",
    "EventCargoError",
    "EventCargoWarning",
    "EventDataset",
    "EventSequence",
    "Knowledge",
    "LabelGraph",
    "Vocabulary",
    "evaluate",
    "find_boundaries",
    "read_events",
    "read_graph",
    "read_meds",
    "write_events",
    "write_graph",
]

_HOMES = {
    "Cargo": "discovery",
    "ConfigError": "errors",
    "DataError": "errors",
    "EdgeTable": "edges",
    "EventCargoError": "errors",
    "EventCargoWarning": "errors",
    "EventDataset": "events",
    "EventSequence": "events",
    "Knowledge": "knowledge",
    "LabelGraph": "graphs",
    "Vocabulary": "vocabulary",
    "evaluate": "evaluation",
    "find_boundaries": "baselines",
    "read_events": "io",
    "read_graph": "io",
    "read_meds": "io",
    "write_events": "io",
    "write_graph": "io",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'eventcargo' has no attribute {name!r}")
    return getattr(import_module(f"eventcargo.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
