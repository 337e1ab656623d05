"""eventcargo: which events cause which outcome.

Tables of time-stamped events and of labels go in; for every label, the event types that cause it (its
Markov boundary) come out. `discover` runs everything; `simulate` or `read_events`, `train`, `extract`,
`fuse`, `verify`, `judge` and `explain` are its steps. Names are loaded on first use: `import eventcargo` is
quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventcargo.baselines import find_boundaries
    from eventcargo.discovery import Cargo, DiscoverConfig, discover
    from eventcargo.edges import EdgeTable
    from eventcargo.errors import ConfigError, DataError, EventCargoError, EventCargoWarning
    from eventcargo.evaluation import evaluate
    from eventcargo.events import EventDataset
    from eventcargo.fusion import fuse
    from eventcargo.graphs import LabelGraph
    from eventcargo.io import read_events, read_graph, read_meds, write_events, write_graph
    from eventcargo.knowledge import Knowledge
    from eventcargo.models.training.trainer import train
    from eventcargo.oneshot.explain import explain
    from eventcargo.oneshot.extract import extract
    from eventcargo.sequences import EventSequence
    from eventcargo.simulation import simulate
    from eventcargo.verdicts import judge
    from eventcargo.verification import verify
    from eventcargo.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Cargo",
    "ConfigError",
    "DataError",
    "DiscoverConfig",
    "EdgeTable",
    "EventCargoError",
    "EventCargoWarning",
    "EventDataset",
    "EventSequence",
    "Knowledge",
    "LabelGraph",
    "Vocabulary",
    "discover",
    "evaluate",
    "explain",
    "extract",
    "find_boundaries",
    "fuse",
    "judge",
    "read_events",
    "read_graph",
    "read_meds",
    "simulate",
    "train",
    "verify",
    "write_events",
    "write_graph",
]

_HOMES = {
    "Cargo": "discovery",
    "ConfigError": "errors",
    "DataError": "errors",
    "DiscoverConfig": "discovery",
    "EdgeTable": "edges",
    "EventCargoError": "errors",
    "EventCargoWarning": "errors",
    "EventDataset": "events",
    "EventSequence": "sequences",
    "Knowledge": "knowledge",
    "LabelGraph": "graphs",
    "Vocabulary": "vocabulary",
    "discover": "discovery",
    "evaluate": "evaluation",
    "explain": "oneshot.explain",
    "extract": "oneshot.extract",
    "find_boundaries": "baselines",
    "fuse": "fusion",
    "judge": "verdicts",
    "read_events": "io",
    "read_graph": "io",
    "read_meds": "io",
    "simulate": "simulation",
    "train": "models.training.trainer",
    "verify": "verification",
    "write_events": "io",
    "write_graph": "io",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'eventcargo' has no attribute {name!r}")
    return getattr(import_module(f"eventcargo.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
