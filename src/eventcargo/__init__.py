"""eventcargo: which events cause which outcome.

Tables of time-stamped events and of labels go in; for every label, the event types that cause it (its
Markov boundary) come out. `discover` runs everything; `simulate` or `read_events`, `train`, `extract`,
`fuse`, `verify`, `judge` and `explain` are its steps. Names are loaded on first use: `import eventcargo` is
quick.
"""

import logging
import os
from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names
from eventcargo.release import RELEASE

# Threads of torch that wait for one another soon go to sleep. By default they wait in a loop, and where other
# programs use the cores, too, a run takes many times as long (benchmarks/speed/waiting.py).
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

if TYPE_CHECKING:
    from eventcargo.baselines import find_boundaries
    from eventcargo.cohort import Cohort
    from eventcargo.discovery import Cargo, DiscoverConfig, discover
    from eventcargo.discovery.compare_runs import compare
    from eventcargo.edges import EdgeTable
    from eventcargo.errors import ConfigError, DataError, EventCargoError, EventCargoWarning
    from eventcargo.evaluation import evaluate
    from eventcargo.events import EventDataset
    from eventcargo.fusion.fuse import fuse
    from eventcargo.graphs import LabelGraph
    from eventcargo.io import ReadConfig, read_events, read_graph, read_meds, write_events, write_graph
    from eventcargo.knowledge import Knowledge
    from eventcargo.models.training.trainer import train
    from eventcargo.oneshot.explain import explain
    from eventcargo.oneshot.extract import extract
    from eventcargo.sequences import EventSequence
    from eventcargo.simulation import simulate
    from eventcargo.updating import update
    from eventcargo.verdicts.judge import judge
    from eventcargo.verification.verify import verify
    from eventcargo.vocabulary import Vocabulary
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "baselines": "find_boundaries",
            "cohort": "Cohort",
            "discovery": "Cargo DiscoverConfig discover",
            "discovery.compare_runs": "compare",
            "edges": "EdgeTable",
            "errors": "ConfigError DataError EventCargoError EventCargoWarning",
            "evaluation": "evaluate",
            "events": "EventDataset",
            "fusion.fuse": "fuse",
            "graphs": "LabelGraph",
            "io": "ReadConfig read_events read_graph read_meds write_events write_graph",
            "knowledge": "Knowledge",
            "models.training.trainer": "train",
            "oneshot.explain": "explain",
            "oneshot.extract": "extract",
            "sequences": "EventSequence",
            "simulation": "simulate",
            "updating": "update",
            "verdicts.judge": "judge",
            "verification.verify": "verify",
            "vocabulary": "Vocabulary",
        },
    )

logging.getLogger(__name__).addHandler(logging.NullHandler())

__version__ = RELEASE

__all__ = [
    "Cargo",
    "Cohort",
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
    "ReadConfig",
    "Vocabulary",
    "compare",
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
    "update",
    "verify",
    "write_events",
    "write_graph",
]
