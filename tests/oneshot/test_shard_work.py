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
from eventcargo.oneshot.shard_work import Task, workers_of


def task_of(data: EventDataset, config: ExtractConfig) -> Task:
    nothing = sp.csr_array((len(data), len(data.label_names)), dtype=np.int8)
    return Task(data, Cases(nothing, nothing), 256, config)


def test_shards_hold_all_sequences_once(chain: EventDataset) -> None:
    task = task_of(chain, ExtractConfig())
    assert [task.length(number) for number in range(3)] == [256, 256, 88]


@pytest.mark.parametrize(("test", "is_long"), [("total", False), ("prefix", True), ("both", True)])
def test_workers_pay_from_the_start_where_forward_passes_are_needed(
    fitted: Transformer, test: Literal["total", "prefix", "both"], is_long: bool
) -> None:
    model = deepcopy(fitted)
    model.gate.zero_()
    assert workers_of(model, ExtractConfig(test=test))[1] == is_long


def test_workers_do_not_pay_if_the_time_is_over_when_they_are_ready(fitted: Transformer) -> None:
    assert workers_of(fitted, ExtractConfig(test="prefix"), Deadline.after(5)) == (1, False)


def test_a_model_elsewhere_than_on_the_cpu_is_used_here(fitted: Transformer) -> None:
    model = deepcopy(fitted).to("meta")
    assert workers_of(model, ExtractConfig(test="prefix"))[0] == 1


def test_a_model_that_cannot_be_saved_is_used_here(oracle: Oracle) -> None:
    assert workers_of(oracle, ExtractConfig())[0] == 1


def test_memory_limits_the_processes(fitted: Transformer) -> None:
    assert workers_of(fitted, ExtractConfig(max_memory="1500M"))[0] == 2


def test_a_large_model_leaves_memory_for_fewer_processes(fitted: Transformer) -> None:
    model = deepcopy(fitted)
    model.register_buffer("ballast", torch.zeros(1).expand(50_000_000))  # 200 MB that take no memory
    assert workers_of(model, ExtractConfig(max_memory="1500M"))[0] == 1


def test_too_little_memory_is_refused(fitted: Transformer) -> None:
    with pytest.raises(ConfigError, match="max_memory='100M' is too small"):
        workers_of(fitted, ExtractConfig(max_memory="100M"))


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
    deadline = Deadline(time.monotonic() + 1)
    task = Task(sampled, Cases(every, every), 256, ExtractConfig(test="total"), deadline=deadline)
    folder = EdgeFolder.create(tmp_path / "edges", {}, resume=False)
    assert task.score_shard(0, slow, folder) == 0
    assert not slow.ended
    assert not folder.shard(0).exists()
