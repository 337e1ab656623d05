import os
import time
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from eventcargo import EventDataset
from eventcargo.deadline import Deadline
from eventcargo.edges import EdgeFolder
from eventcargo.errors import ConfigError
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.cases import Cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.workers import Task, pool_size


def task_of(data: EventDataset, config: ExtractConfig) -> Task:
    nothing = sp.csr_array((len(data), len(data.label_names)), dtype=np.int8)
    return Task(data, Cases(nothing, nothing), np.zeros(len(data), np.int64), 256, config)


def test_shards_hold_all_sequences_once(chain: EventDataset) -> None:
    task = task_of(chain, ExtractConfig())
    assert [task.length(number) for number in range(3)] == [256, 256, 88]


def test_as_many_processes_as_asked_for(fitted: Transformer, chain: EventDataset) -> None:
    assert pool_size(fitted, task_of(chain, ExtractConfig(workers=3))) == 3


@pytest.mark.parametrize(("test", "size"), [("total", 1), ("prefix", 3), ("both", 3)])
def test_sums_alone_need_one_process(
    fitted: Transformer,
    chain: EventDataset,
    monkeypatch: pytest.MonkeyPatch,
    test: Literal["total", "prefix", "both"],
    size: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    model = deepcopy(fitted)
    model.gate.zero_()
    assert pool_size(model, task_of(chain, ExtractConfig(test=test))) == size


def test_a_model_elsewhere_than_on_the_cpu_is_used_here(fitted: Transformer, chain: EventDataset) -> None:
    model = deepcopy(fitted).to("meta")
    assert pool_size(model, task_of(chain, ExtractConfig(test="prefix", workers=3))) == 1


def test_a_model_that_cannot_be_saved_is_used_here(oracle: Oracle, sampled: EventDataset) -> None:
    assert pool_size(oracle, task_of(sampled, ExtractConfig(workers=4))) == 1


def test_memory_limits_the_processes(fitted: Transformer, chain: EventDataset) -> None:
    assert pool_size(fitted, task_of(chain, ExtractConfig(workers=4, max_memory="1500M"))) == 2


def test_a_large_model_leaves_memory_for_fewer_processes(fitted: Transformer, chain: EventDataset) -> None:
    model = deepcopy(fitted)
    model.register_buffer("ballast", torch.zeros(1).expand(50_000_000))  # 200 MB that take no memory
    assert pool_size(model, task_of(chain, ExtractConfig(workers=4, max_memory="1500M"))) == 1


def test_too_little_memory_is_refused(fitted: Transformer, chain: EventDataset) -> None:
    with pytest.raises(ConfigError, match="max_memory='100M' is too small"):
        pool_size(fitted, task_of(chain, ExtractConfig(max_memory="100M")))


class Slow(Oracle):
    """Takes long for one batch, unless it is cut short."""

    ended = False

    def densities(self, *_: Any, **__: Any) -> Any:
        time.sleep(20)
        self.ended = True


def test_the_work_on_a_batch_is_cut_when_the_time_is_over(
    oracle: Oracle, sampled: EventDataset, tmp_path: Path
) -> None:
    slow = Slow(oracle.process)
    every = sp.csr_array(np.ones((len(sampled), len(sampled.label_names)), np.int8))
    seeds = np.zeros(len(sampled), np.int64)
    deadline = Deadline(time.monotonic() + 1)
    task = Task(sampled, Cases(every, every), seeds, 256, ExtractConfig(test="total"), deadline=deadline)
    folder = EdgeFolder.create(tmp_path / "edges", {}, resume=False)
    assert task.score_shard(0, slow, folder) == 0
    assert not slow.ended
    assert not folder.shard(0).exists()
