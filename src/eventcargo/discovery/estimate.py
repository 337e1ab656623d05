"""Estimate: the stages of a run, about how long each takes at most and how much memory they need.

The rates were measured on one core of a small machine (docs/results.md): enough to distinguish minutes from
hours.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventcargo.discovery.config import DiscoverConfig
from eventcargo.errors import counted
from eventcargo.models.transformer.config import TransformerConfig

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

SECONDS_AN_EVENT = {"total": 4e-5, "prefix": 2.5e-4, "paper": 9e-4}
"""Seconds of phase 1 per event; `total` for labels whose logit is the linear term alone."""

SECONDS_A_PAIR = 4e-6
"""Seconds of baseline, rules and verdicts together, per label and sequence."""

BYTES_AT_ALL, BYTES_AN_EVENT, BYTES_A_WEIGHT = 700e6, 230.0, 16.0
"""Memory of Python and torch; of features and copies of the data; of a weight, its gradient and moments."""


@dataclass(frozen=True)
class Step:
    """A stage of a run, its work in words and its seconds."""

    stage: str
    words: str
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """The stages of a run, and the memory that it needs."""

    steps: tuple[Step, ...]
    bytes: float

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


def estimate(data: "EventDataset", config: DiscoverConfig) -> Estimate:
    """The plan of a run on these data.

    >>> from eventcargo.simulation import simulate
    >>> [step.stage for step in estimate(simulate("chain", sequences=50).data, DiscoverConfig()).steps]
    ['train', 'extract', 'fuse', 'baseline, rules, judge', 'report']
    """
    shape, tests = config.transformer, config.extract.tests
    weights = count_weights(shape, len(data.event_names), len(data.label_names))
    rates = ["paper" if config.preset == "paper" and name == "prefix" else name for name in tests]
    testing = 1.0 + data.n_events * sum(SECONDS_AN_EVENT[name] for name in rates)
    pairs = SECONDS_A_PAIR * len(data) * len(data.label_names)
    term = "a linear term and " if shape.linear else ""
    verified = ", then verify" if config.verifies else ""
    steps = (
        Step("train", f"{term}a Transformer of {weights:,} weights, at most", config.train.time_limit),
        Step("extract", f"{counted(len(data), 'sequence')}, test {' and '.join(tests)}", testing),
        Step("fuse", f"criterion {config.fuse.criterion}{verified}", 1.0 + pairs / 4),
        Step("baseline, rules, judge", counted(len(data.label_names), "label"), 1.0 + pairs),
        Step("report", "one page", 2.0),
    )
    return Estimate(steps, BYTES_AT_ALL + BYTES_AN_EVENT * data.n_events + BYTES_A_WEIGHT * weights)


def count_weights(shape: TransformerConfig, n_event_types: int, n_labels: int) -> int:
    """The approximate number of weights of a Transformer."""
    width, blocks = shape.width, shape.layers + 2 * shape.label_layers
    block = 4 * width * width + (3 if shape.activation == "swiglu" else 2) * width * shape.feedforward
    return n_event_types * width * (1 if shape.tied else 2) + blocks * block + 2 * n_labels * width
