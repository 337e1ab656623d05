"""Estimate: the stages of a run, about how long each takes and how much memory they need.

The cost of a stage is a sum: so many seconds for a run, an event, a label and so on. The constants were
fitted to processor seconds on one core of a small machine (docs/results.md, "How cost grows").
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventcargo.discovery.config import TRIAL, DiscoverConfig
from eventcargo.errors import ConfigError, argument, counted
from eventcargo.memory import parse_memory, show_memory
from eventcargo.models.transformer.config import SIZES, TransformerConfig
from eventcargo.scratch import is_mapped

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

COSTS: Mapping[str, Mapping[str, float]] = {
    "linear term": {
        "run": 1.16,
        "event": 2.37e-06,
        "label_event": 3.5e-08,
        "label": 0.00175,
        "label_root": 0.00907,
    },
    "network": {
        "run": 4.22,
        "event": 4.43e-07,
        "event_type": 0.000294,
        "length": 0.0253,
        "held_square": 4.65e-09,
        "label": 0.00709,
    },
    "extract": {
        "run": 0.0316,
        "event": 5.06e-07,
        "event_type": 1.49e-05,
        "positive": 9.64e-05,
        "label_sequence": 9.32e-07,
        "label_type": 8.36e-08,
    },
    "fuse": {
        "run": 0.064,
        "event": 1.62e-08,
        "positive": 1.16e-05,
        "label_sequence": 1.42e-07,
        "label_type": 4.64e-08,
    },
    "verify": {
        "event": 5.6e-08,
        "label": 0.0752,
        "label_root": 0.00245,
        "label_sequence": 5.38e-07,
    },
    "baseline": {
        "run": 0.0256,
        "event": 4.01e-08,
        "label_root": 0.000631,
        "label_sequence": 7.71e-08,
        "label_type": 2.52e-07,
    },
    "rules": {
        "run": 0.00728,
        "event": 9.43e-11,
        "label": 0.00988,
        "label_root": 0.000555,
        "label_sequence": 3.85e-08,
    },
    "judge": {
        "run": 0.0323,
        "event": 1.24e-07,
        "label_root": 0.000752,
        "label_sequence": 1.39e-07,
        "label_type": 1.49e-07,
    },
    "report": {
        "run": 0.0899,
        "event": 1.62e-07,
        "label_root": 0.000323,
        "label_type": 1.06e-07,
    },
}
"""Seconds of a stage by amount, in the default preset; fitted by `benchmarks/scale/growth_model.py`."""

MEMORY: Mapping[str, float] = {
    "run": 495000000.0,
    "kept_event": 25.9,
    "event_type": 11500.0,
    "held_square": 1.22,
    "label": 498000.0,
}
"""Bytes of a run by amount, besides those of weights and of columns in memory; fitted by the same script."""

SURVEY_SECONDS, SURVEYED, SURVEY_A_PAIR = 3.0, 5_000, 4.6e-7
"""Seconds of looking for what the linear term leaves over, from so many sequences on, and those more for each
pair of a label and an event type; fitted to runs of `benchmarks/scale/focused.py`."""

SECONDS_A_NETWORK = 5.0
"""Processor seconds of the focused network of a label, by the same script; which labels need one is not known
before the linear term is fitted."""

SECONDS_AN_EVENT = {"total": 0.0, "prefix": 2.5e-4, "paper": 9e-4}
"""Seconds of phase 1 per event, besides those in `COSTS`, which are those of the test `total`."""

MOST_HELD = 1_000
"""Most held-out sequences of a check, as in `models/training/validation.py`, which needs torch."""

SECONDS_A_WEIGHT = 2.5e-11
"""Processor seconds of a large network per weight and position."""

MOST_KEPT = 10_000_000
"""Most events that are kept in memory, as in `models/linear/screening.py`, which needs torch; of more, blocks
are read from disk."""

LEAST_SEQUENCES, LEAST_POSITIONS = 100, 6 * 1_024
"""Sequences checked and measured at least, and positions of two steps, which take three times as long."""

BLOCK, PASSES = 256, 12.0
"""Sequences of a block of phase 1, as in `oneshot/score_shard.py`, which needs torch, and about how often the
paper's test passes each of their events through the network."""

BYTES_A_WEIGHT = 16.0
"""Memory of a weight, its gradient and moments."""

FROZEN_BYTES_A_WEIGHT, FORWARD = 4.0, 1 / 3
"""Memory of a weight of a model from elsewhere, which is not trained; and the share of a step of training
that going forward alone takes, as going back takes twice as long."""


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

    def workers_within(self, max_memory: str) -> int:
        """Processes that may work side by side within an amount of memory, such as 4G; 0: any number.

        A worker counts as much as the process that started it, which holds all that workers read. An amount
        in which not even one process fits is refused.
        """
        limit = parse_memory(max_memory)
        if self.bytes > limit:
            raise ConfigError(
                f"{argument('max_memory', max_memory)}: a run on these data takes about "
                f"{show_memory(self.bytes)}; allow more, or take part of the sequences, event types or labels"
            )
        return 0 if math.isinf(limit) else max(1, int(limit / self.bytes) - 1)


def estimate(data: "EventDataset", config: DiscoverConfig, n_frozen: int | None = None) -> Estimate:
    """The plan of a run on these data; `n_frozen` are the weights of a model from elsewhere, if there is one.

    >>> from eventcargo.simulation import simulate
    >>> [step.stage for step in estimate(simulate("chain", sequences=50).data, DiscoverConfig()).steps]
    ['train', 'extract', 'fuse', 'baseline, rules, judge', 'report']
    """
    shape, tests = config.transformer, config.extract.tests
    cost = stage_costs(data, config, n_frozen)
    rates = ["paper" if config.preset == "paper" and name == "prefix" else name for name in tests]
    testing = cost["extract"] + data.n_events * sum(SECONDS_AN_EVENT[name] for name in rates)
    weights = n_frozen or count_weights(shape, len(data.event_names), len(data.label_names))
    a_weight = BYTES_A_WEIGHT if n_frozen is None else FROZEN_BYTES_A_WEIGHT
    network = f"{'a Transformer' if n_frozen is None else 'the head on a model'} of {weights:,} weights"
    verified = ", then verify" if config.verifies else ""
    judging = cost["baseline"] + cost["rules"] + cost["judge"]
    steps = (
        Step("train", _training_words(config, network), _training_seconds(config, cost)),
        Step("extract", f"{counted(len(data), 'sequence')}, test {' and '.join(tests)}", testing),
        Step("fuse", f"criterion {config.fuse.criterion}{verified}", cost["fuse"] + cost["verify"]),
        Step("baseline, rules, judge", counted(len(data.label_names), "label"), judging),
        Step("report", "one page", cost["report"]),
    )
    taken = weigh(MEMORY, _amounts_of(data, config)) + a_weight * weights
    return Estimate(steps, taken + _held_bytes(data))


def _held_bytes(data: "EventDataset") -> float:
    """Bytes of the columns, unless they are mapped: the system keeps of these what it has room for."""
    return float(sum(one.nbytes for one in (data.events, data.times, data.values) if not is_mapped(one)))


def stage_costs(
    data: "EventDataset", config: DiscoverConfig, n_frozen: int | None = None
) -> dict[str, float]:
    """Processor seconds of every stage without a limit, with the test `total`.

    Training is `linear term`, `focused`, which is what every run needs for focused networks, and `network`,
    the trial of the Transformer, or of the head on a model from elsewhere with `n_frozen` weights.
    """
    cost = {stage: weigh(terms, _amounts_of(data, config)) for stage, terms in COSTS.items()}
    n_pairs = len(data.label_names) * len(data.event_names)
    cost["focused"] = SURVEY_SECONDS * min(1.0, len(data) / SURVEYED) + SURVEY_A_PAIR * n_pairs
    weights = config.transformer.weights_of_blocks if n_frozen is None else FORWARD * n_frozen
    cost["network"] *= weights / SIZES["small"].weights_of_blocks
    left_out = {
        "linear term": not config.transformer.linear,
        "focused": not _has_focused(config),
        "verify": not config.verifies,
    }
    return {stage: 0.0 if left_out.get(stage) else seconds for stage, seconds in cost.items()}


def least_network_seconds(data: "EventDataset", config: DiscoverConfig) -> float:
    """Processor seconds of the least for which a network is begun: two checks, two steps, the measurement."""
    length = min(data.n_events / max(len(data), 1), config.max_length)
    positions = LEAST_SEQUENCES * length + LEAST_POSITIONS
    return SECONDS_A_WEIGHT * config.transformer.weights_of_blocks * positions


def least_phase_1_seconds(data: "EventDataset", config: DiscoverConfig) -> float:
    """Processor seconds of the least for which phase 1 of a network alone is begun: a block of sequences."""
    labelled = int((data.label_rows.lengths > 0).sum()) / max(len(data), 1)
    length = min(data.n_events / max(len(data), 1), config.max_length)
    positions = PASSES * min(BLOCK, len(data)) * labelled * length
    return SECONDS_A_WEIGHT * config.transformer.weights_of_blocks * positions


def _amounts_of(data: "EventDataset", config: DiscoverConfig) -> dict[str, float]:
    return amounts(
        len(data),
        len(data.event_names),
        len(data.label_names),
        data.n_events,
        int(data.label_rows.lengths.sum()),
        config.max_length,
    )


def amounts(
    n_sequences: int, n_event_types: int, n_labels: int, n_events: int, n_positives: int, max_length: int
) -> dict[str, float]:
    """What the cost of a stage is made of: how often it does a thing.

    Held-out sequences are those of a check of the network; `held_square` are their pairs of positions. A
    label with more positives has a larger boundary and costs more, but less than in proportion: `label_root`.
    """
    length = min(n_events / max(n_sequences, 1), max_length)
    held = min(0.1 * n_sequences, MOST_HELD)
    return {
        "run": 1.0,
        "event": n_events,
        "kept_event": min(n_events, MOST_KEPT),
        "sequence": n_sequences,
        "event_type": n_event_types,
        "label": n_labels,
        "positive": n_positives,
        "length": length,
        "held_event": held * length,
        "held_square": held * length**2,
        "label_root": (n_labels * n_positives) ** 0.5,
        "label_sequence": n_labels * n_sequences,
        "label_event": n_labels * n_events,
        "label_type": n_labels * n_event_types,
    }


def weigh(terms: Mapping[str, float], amount: Mapping[str, float]) -> float:
    """The sum of what each amount costs.

    >>> weigh({"run": 1.0, "label": 0.5}, {"run": 1.0, "label": 10.0, "event": 5.0})
    6.0
    """
    return sum(each * amount[name] for name, each in terms.items())


def _training_words(config: DiscoverConfig, network: str) -> str:
    term = "a linear term" if config.transformer.linear else ""
    if _has_focused(config):
        more = f"about {SECONDS_A_NETWORK:.0f} s a label more"
        term += f", focused networks where it leaves something over ({more})"
    term += " and " if term else ""
    if _is_tried(config):
        return f"{term}{TRIAL} steps of {network}, more if they help"
    return f"{term}{network}, at most"


def _training_seconds(config: DiscoverConfig, cost: Mapping[str, float]) -> float:
    """Seconds of the linear term, the survey and the trial, or of all the time that training may use."""
    limit = config.train.time_limit
    if not _is_tried(config):
        return limit
    return min(limit, cost["linear term"] + cost["focused"] + cost["network"])


def _has_focused(config: DiscoverConfig) -> bool:
    return config.transformer.linear and config.transformer.focused


def _is_tried(config: DiscoverConfig) -> bool:
    """Whether the network has to show early that it helps; usually it does not, and training ends."""
    return config.train.trial > 0 and config.transformer.linear


def count_weights(shape: TransformerConfig, n_event_types: int, n_labels: int) -> int:
    """The approximate number of weights of a Transformer."""
    ends = n_event_types * (1 if shape.tied else 2) + (4 if shape.label_queries else 2) * n_labels
    return ends * shape.width + shape.weights_of_blocks
