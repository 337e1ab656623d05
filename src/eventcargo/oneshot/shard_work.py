"""Phase 1 in units: each scores one shard of sequences, on one thread, and writes its edges."""

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline, OutOfTime, cut_at
from eventcargo.edges import EdgeFolder
from eventcargo.engines.work import Work
from eventcargo.errors import ConfigError, argument
from eventcargo.events import EventDataset
from eventcargo.memory import parse_memory
from eventcargo.models.density import DensityModel
from eventcargo.models.loading import load_model
from eventcargo.models.threads import one_thread
from eventcargo.oneshot.cases import Cases, read_cases, write_cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.score_shard import BLOCK, blocks, configured_tests, score_shard, sequence_seeds
from eventcargo.shared_data import share_data, shared_data

PROCESS_BYTES = 700 * 2**20
"""Memory of a worker before it holds a model: Python, torch and its own buffers."""


START_SECONDS = 20.0
"""With less time than this, no worker is started: it would load the model when the time is over."""


@dataclass(frozen=True)
class Task:
    """The work of one extraction, in shards of `size` sequences, which are whole blocks."""

    data: EventDataset
    cases: Cases
    size: int
    config: ExtractConfig
    pooled: float | None = None  # the pooled threshold, if one is fitted
    allowed: NDArray[np.bool_] | None = None  # (labels, V): pairs that may be edges; None: all
    deadline: Deadline = NEVER

    def rows(self, number: int) -> NDArray[np.int64]:
        """The sequences of a shard."""
        per_shard = self.size // BLOCK
        return np.concatenate(self._blocks[number * per_shard : (number + 1) * per_shard])

    @cached_property
    def _blocks(self) -> list[NDArray[np.int64]]:
        return blocks(self.data)

    def length(self, number: int) -> int:
        """Number of sequences in a shard."""
        return len(self.rows(number))

    def score_shard(
        self, number: int, model: DensityModel, folder: EdgeFolder, deadline: Deadline | None = None
    ) -> int:
        """Score a shard, write it and return its number; nothing is written if the time runs out.

        One batch of a large Transformer takes minutes: the work is cut within it.
        """
        rows, deadline = self.rows(number), deadline or self.deadline
        with suppress(OutOfTime), cut_at(deadline):
            table = score_shard(
                model,
                self.data.select(rows),
                self.cases.rows(rows),
                configured_tests(self.config, self.pooled, self.allowed),
                sequence_seeds(self.data.select(rows), self.config.seed),
                deadline,
            )
            folder.write(number, table)
        return number


@dataclass(frozen=True)
class Scoring:
    """What the shards of an extraction need."""

    model: DensityModel
    task: Task


@dataclass(frozen=True)
class ShardWork(Work[Scoring]):
    """Score the shards of an extraction; a shard that the deadline cuts is not written."""

    edges: Path
    data: str
    """the fingerprint of the data"""
    size: int
    config: ExtractConfig
    pooled: float | None = None
    device: str = "cpu"

    def save(self, state: Scoring, folder: Path) -> None:
        state.model.save_pretrained(folder / "model")
        share_data(state.task.data, self.folder.parent)
        write_cases(folder / "cases.parquet", state.task.cases)
        if state.task.allowed is not None:
            np.save(folder / "allowed.npy", state.task.allowed)

    def open(self, folder: Path) -> Scoring:
        data, model = shared_data(self.data, self.folder.parent), load_model(folder / "model", self.device)
        cases = read_cases(folder / "cases.parquet", (len(data), len(model.label_names)))
        path = folder / "allowed.npy"
        allowed = np.load(path, allow_pickle=False) if path.exists() else None
        return Scoring(model, Task(data, cases, self.size, self.config, self.pooled, allowed))

    def do(self, state: Scoring, unit: int) -> None:
        with one_thread():
            state.task.score_shard(unit, state.model, EdgeFolder(self.edges, {}), self.deadline)

    def path(self, unit: int) -> Path:
        return EdgeFolder(self.edges, {}).shard(unit)


def workers_of(model: DensityModel, config: ExtractConfig, deadline: Deadline = NEVER) -> tuple[int, bool]:
    """Most processes on one machine, by memory and model, and whether they pay from the start.

    They do if forward passes are needed and there is time to load the model.
    """
    passes = "prefix" in config.tests or bool((~model.linear_labels).any())
    movable = model.can_be_saved and model.device.type == "cpu"
    fitting = parse_memory(config.max_memory) / (PROCESS_BYTES + 2 * model.n_bytes)
    if fitting < 1:
        raise ConfigError(
            f"{argument('max_memory', config.max_memory)} is too small; one worker needs "
            f"{(PROCESS_BYTES + 2 * model.n_bytes) / 2**20:,.0f} MB"
        )
    in_time = deadline.left > START_SECONDS
    most = int(min(fitting, MANY)) if movable and in_time else 1
    return most, passes and in_time


MANY = 10_000
"""More processes than any machine has cores."""
