"""Schedule: when each stage of a run has to end, and whether there is time for models at all.

The limit is shared out by what stages are expected to take (`estimate`) and by the pace of this machine: how
long a second of processor time takes here, measured while stages on the data run. Where other programs work
on the same cores, it takes longer.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from eventcargo.deadline import Deadline
from eventcargo.discovery.config import ENDS, TRAINING, DiscoverConfig
from eventcargo.discovery.estimate import least_network_seconds, least_phase_1_seconds, stage_costs
from eventcargo.durations import rounded_up
from eventcargo.engines.engine import Engine
from eventcargo.errors import ConfigError, argument
from eventcargo.events import EventDataset

STAGES = ("baseline", "linear term", "extract", "fuse", "verify", "rules", "judge", "report")
"""The stages in their order; of training only what is worth beginning it for."""

START = 0.5
"""Processor seconds of what even the shortest run loads and writes."""

LOADING = 1.5
"""Processor seconds until torch and all else that models need is loaded."""

MOST_PACE = 10.0
"""Largest pace; a longer time was spent waiting for something else."""

OF_LABELS = ("linear term", "extract")
"""Stages that models need and that take the most frequent labels first."""

WORTH = 0.25
"""Share of the labels whose models are worth beginning: the others keep the boundaries of the baseline."""

TREES = 0.4
"""Processor seconds until scikit-learn, which grows the trees of verdicts, is loaded."""

TAIL = {"judge": 0.75}
"""Share of a stage's work, besides that on single labels, which its deadline does not cut."""

LATE = {"baseline": 0.75, "verify": 0.5, "rules": 0.5}
"""Share of the time left that a stage on the data gets at least, however late it begins."""

LONGER = 1.2
"""A limit that is named in place of a refused one is at least this many times as long."""

LEAST = 0.5
"""A limit is refused if it leaves less than this share of the time that the least of a run is expected to
take: expectations are rough."""


class Schedule:
    """The times of one run, which began at `started`, a moment of `clock`."""

    def __init__(
        self,
        data: EventDataset,
        config: DiscoverConfig,
        started: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config, self._started, self._clock = config, started, clock
        costs = stage_costs(data, config)
        self._costs = {**costs, "judge": costs["judge"] + TREES, "start": START, "loading": LOADING}
        self._network, self._phase_1 = (
            least_network_seconds(data, config),
            least_phase_1_seconds(data, config),
        )
        self.pace = 1.0
        """Seconds that a second of processor time takes."""

    @property
    def end(self) -> Deadline:
        """When the whole run has to end."""
        return self._at(1.0)

    def end_of(self, stage: str) -> Deadline:
        """When a stage has to end: at its share of the limit, or earlier if later stages need the time.

        A stage on the data that begins late still gets a share of the time that is left (`LATE`).
        """
        known = "linear term" if stage == "train" else stage
        later = self._seconds(STAGES[STAGES.index(known) + 1 :]) + TAIL.get(stage, 0) * self._seconds(
            (known,)
        )
        share = TRAINING[self._config.preset] if stage == "train" else ENDS[stage]
        wanted = min(self._at(share).at, self.end.at - later)
        least = self.end.share(LATE[stage]).at if stage in LATE else -math.inf
        return Deadline(max(wanted, least), self._clock)

    @contextmanager
    def measured(self, engine: Engine) -> Iterator[None]:
        """Measure the pace within the block, or that of the workers if they did the work."""
        began, used = self._clock(), time.process_time()
        yield
        pace = engine.pace or (self._clock() - began) / max(time.process_time() - used, 1e-3)
        self.pace = min(max(pace, 1.0), MOST_PACE)

    @property
    def has_time_for_models(self) -> bool:
        """Whether there is time for the models of some labels and for all that follows."""
        return self.end.left >= self._models_seconds - (1 - WORTH) * self._seconds(OF_LABELS)

    @property
    def enough(self) -> str:
        """A limit with which there would be time for models."""
        return rounded_up(self._used + self._models_seconds)

    @property
    def _models_seconds(self) -> float:
        return self._seconds(("loading", *STAGES[1:]))

    def refuse_too_short(self) -> None:
        """Refuse a limit in which not even the boundaries of a classical method could be found."""
        if self.end.left < LEAST * self._seconds(("start", "baseline", "report")):
            raise self.too_short()

    def too_short(self) -> ConfigError:
        """The refusal of a limit, with what the least of a run takes."""
        least = self._seconds(("start", "baseline", "report"))
        enough = max(self._used + least + self._seconds(("verify",)), LONGER * self._config.seconds)
        return ConfigError(
            f"{argument('max_time', self._config.max_time)}: loading, reading and what was begun took "
            f"{self._used:.1f} s, and the least that a run does takes about {least:.1f} s more; allow "
            f"{rounded_up(enough)} or more"
        )

    def refuse_network(self) -> None:
        """Refuse a limit in which the network of a preset without a linear term could not be used at all.

        This is rough, so that nothing need be loaded; training measures it.
        """
        share = TRAINING[self._config.preset]
        train = self._seconds(("loading",)) + self.pace * self._network
        test = self.pace * self._phase_1
        for_train = max(self.end_of("train").left, 0.0)
        for_test = max(self.end_of("extract").left - for_train, 0.0)
        if self._config.device != "cpu" or (for_train >= LEAST * train and for_test >= LEAST * test):
            return
        enough = max((self._used + train) / share, test / (ENDS["extract"] - share))
        raise ConfigError(
            f"{argument('max_time', self._config.max_time)}: it leaves {for_train:.0f} s for training and "
            f"{for_test:.0f} s for phase 1, but this Transformer takes about {train:.0f} s here to be "
            f"checked, trained and measured at all and {test:.0f} s to test a block of sequences; allow "
            f"{rounded_up(enough)} or more, or use a smaller {argument('size')}"
        )

    @property
    def _used(self) -> float:
        return self._clock() - self._started

    def _seconds(self, stages: Sequence[str]) -> float:
        return self.pace * sum(self._costs[stage] for stage in stages)

    def _at(self, share: float) -> Deadline:
        return Deadline(self._started + share * self._config.seconds, self._clock)
