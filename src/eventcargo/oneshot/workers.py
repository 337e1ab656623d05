"""WorkerPool: processes that score shards, with one thread each so that they do not compete for cores."""

import multiprocessing as mp
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType

import numpy as np
import torch
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline, OutOfTime, cut_at
from eventcargo.edges import EdgeFolder
from eventcargo.errors import ConfigError, argument
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.models.loading import load_model
from eventcargo.models.threads import one_thread
from eventcargo.oneshot.cases import Cases
from eventcargo.oneshot.config import ExtractConfig, memory
from eventcargo.oneshot.score_shard import BLOCK, blocks, configured_tests, score_shard

PROCESS_BYTES = 700 * 2**20
"""Memory of a worker before it holds a model: Python, torch and its own buffers."""


START_SECONDS = 20.0
"""With less time than this, no worker is started: it would load the model when the time is over."""


@dataclass(frozen=True)
class Task:
    """The work of one extraction, in shards of `size` sequences, which are whole blocks."""

    data: EventDataset
    cases: Cases
    seeds: NDArray[np.int64]
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

    def score_shard(self, number: int, model: DensityModel, folder: EdgeFolder) -> int:
        """Score a shard, write it and return its number; nothing is written if the time runs out.

        One batch of a large Transformer takes minutes: the work is cut within it.
        """
        rows = self.rows(number)
        with suppress(OutOfTime), cut_at(self.deadline):
            table = score_shard(
                model,
                self.data.select(rows),
                self.cases.rows(rows),
                configured_tests(self.config, self.pooled, self.allowed),
                self.seeds[rows],
                self.deadline,
            )
            folder.write(number, table)
        return number


class WorkerPool:
    """This process alone, or several workers that load the model and the data themselves."""

    def __init__(self, model: DensityModel, task: Task, folder: EdgeFolder) -> None:
        self._model, self._task, self._folder = model, task, folder
        self._stack = ExitStack()
        self.size = pool_size(model, task)

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run(self, numbers: Sequence[int]) -> Iterator[int]:
        """Score these shards and yield their numbers as they finish."""
        if self.size == 1 or len(numbers) < 2:
            with one_thread():
                for number in numbers:
                    yield self._task.score_shard(number, self._model, self._folder)
            return
        yield from self._run_apart(numbers)

    def _run_apart(self, numbers: Sequence[int]) -> Iterator[int]:
        home = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="eventcargo-")))
        self._model.save_pretrained(home / "model")
        self._task.data.save(home / "data")
        start = (home, replace(self._task, data=_NOTHING), self._folder)
        pool = ProcessPoolExecutor(
            min(self.size, len(numbers)), mp.get_context("spawn"), initializer=_start, initargs=start
        )
        self._stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        waiting: set[Future[int]] = {pool.submit(_work, number) for number in numbers}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


_NOTHING = EventDataset.from_sequences([])
_here: dict[str, tuple[DensityModel, Task, EdgeFolder]] = {}
"""What a worker process holds."""


def _start(home: Path, task: Task, folder: EdgeFolder) -> None:
    torch.set_num_threads(1)
    data = EventDataset.load(home / "data")
    _here["work"] = (load_model(home / "model"), replace(task, data=data), folder)


def _work(number: int) -> int:
    model, task, folder = _here["work"]
    return task.score_shard(number, model, folder)


def pool_size(model: DensityModel, task: Task) -> int:
    """Number of processes: `workers`, or by default one per core if forward passes are needed, else 1."""
    passes = "prefix" in task.config.tests or bool((~model.linear_labels).any())
    movable = model.can_be_saved and model.device.type == "cpu"
    pays = passes and task.deadline.left > START_SECONDS
    asked = task.config.workers or ((os.cpu_count() or 1) if pays else 1)
    fitting = memory(task.config.max_memory) // (PROCESS_BYTES + 2 * model.n_bytes)
    if fitting < 1:
        raise ConfigError(
            f"{argument('max_memory', task.config.max_memory)} is too small; one worker needs "
            f"{(PROCESS_BYTES + 2 * model.n_bytes) / 2**20:,.0f} MB"
        )
    return int(min(asked, fitting)) if movable else 1
