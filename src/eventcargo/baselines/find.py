"""`find_boundaries`: run a baseline on all labels of a data set and return one LabelGraph.

Labels are independent: several threads work on small blocks of them (sparse products release the interpreter
lock), and the results are joined in label order, so the number of workers does not change the result.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from eventcargo.baselines.config import BaselineConfig, check_method
from eventcargo.baselines.edge_statistics import edge_statistics
from eventcargo.baselines.iamb import iamb_of_many
from eventcargo.baselines.levels import Levels, Settled, named_gains
from eventcargo.baselines.mi_mcf import MiMcf
from eventcargo.baselines.pc import PcdByPcd, cmb, mb_by_mb
from eventcargo.baselines.screens import l1_logistic, lift, mutual_information
from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.event_kinds import NumberedKinds
from eventcargo.events import EventDataset
from eventcargo.graphs import EDGE_SCHEMA, LabelGraph
from eventcargo.progress import OnProgress
from eventcargo.statistics.g2 import IndependenceTest, Target

BLOCK_LABELS = 8
"""Labels whose boundaries grow together; also the step of the progress bar."""


@dataclass(frozen=True)
class _Task:
    """The input of a method: the test on the data, the labels as targets, and the corrected alpha."""

    data: EventDataset
    kinds: NumberedKinds
    test: IndependenceTest
    targets: list[Target]
    alpha: float
    config: BaselineConfig


Solve = Callable[[Sequence[int]], list[list[int]]]
"""Returns the boundaries of the labels with these numbers."""


@dataclass(frozen=True)
class _Block:
    """Some labels of a study whose boundaries grow together."""

    task: _Task
    solve: Solve
    labels: list[int]

    def boundaries(self) -> list[list[int]]:
        return self.solve(self.labels)


def _one_by_one(solve: Callable[[int], list[int]]) -> Solve:
    return lambda labels: [solve(label) for label in labels]


def _nothing(labels: Sequence[int]) -> list[list[int]]:
    """Empty boundaries: of labels that are known for no sequence."""
    return [[] for _ in labels]


def _iamb(task: _Task) -> Solve:
    return lambda labels: iamb_of_many(task.test, [task.targets[i] for i in labels], task.alpha)


def _cmb(task: _Task) -> Solve:
    return _one_by_one(lambda i: cmb(task.test, task.targets[i], task.alpha))


def _mb_by_mb(task: _Task) -> Solve:
    return _one_by_one(lambda i: mb_by_mb(task.test, task.targets[i], task.alpha))


def _pcd_by_pcd(task: _Task) -> Solve:
    search = PcdByPcd(task.test, task.alpha)
    return _one_by_one(lambda i: search(task.targets[i]))


def _mi_mcf(task: _Task) -> Solve:
    return _one_by_one(MiMcf(task.test, task.targets))


def _mutual_information(task: _Task) -> Solve:
    return _one_by_one(
        lambda i: mutual_information(task.test, task.targets[i], task.alpha, task.config.top_k)
    )


def _lift(task: _Task) -> Solve:
    return _one_by_one(lambda i: lift(task.test, task.targets[i], task.alpha, task.config.top_k))


def _l1_logistic(task: _Task) -> Solve:
    presence = task.data.presence().astype(np.float64).tocsc()
    return _one_by_one(lambda i: l1_logistic(task.test, presence, task.targets[i], task.config.alpha))


SOLVERS: dict[str, Callable[[_Task], Solve]] = {
    "iamb": _iamb,
    "cmb": _cmb,
    "mb-by-mb": _mb_by_mb,
    "pcd-by-pcd": _pcd_by_pcd,
    "mi-mcf": _mi_mcf,
    "mutual-information": _mutual_information,
    "lift": _lift,
    "l1-logistic": _l1_logistic,
}
"""How to run each of `METHODS`."""


def find_boundaries(
    data: EventDataset,
    method: str = "iamb",
    config: BaselineConfig | None = None,
    progress: OnProgress | None = None,
    deadline: Deadline = NEVER,
) -> LabelGraph:
    """Find the boundary of every label by a classical method on event presence.

    Adjusted event types are in every condition set and in no boundary. Whatever the method, `Levels` then
    settles which threshold of a scale and which level of a family a boundary names.

    The most frequent labels come first. Labels not reached before the deadline are not in the graph, and a
    warning names them.

    >>> from eventcargo.events import EventSequence
    >>> sequences = [EventSequence(f"{i:03}", ("P01", "U02") if i % 2 else ("U02",), (0.0,) * (1 + i % 2),
    ...                            ("brake",) if i % 2 else ()) for i in range(100)]
    >>> find_boundaries(EventDataset.from_sequences(sequences)).boundary("brake")
    ['P01']
    """
    check_method(method)
    config = config or BaselineConfig()
    support = dict(zip(data.label_names, data.support.tolist(), strict=True))
    if not (len(data) and data.event_names and data.label_names):
        return LabelGraph.from_boundaries({label: [] for label in support}, support)
    blocks = list(_blocks(data, method, config))
    names = [block.task.data.label_names[label] for block in blocks for label in block.labels]
    edges, n_done = list[dict[str, object]](), 0
    alternatives = dict[str, dict[str, dict[str, float]]]()
    solved = _in_order(blocks, config.workers)
    while n_done < len(names) and not deadline.is_over:
        block, boundaries = next(solved)
        task = block.task
        for label, boundary in zip(block.labels, boundaries, strict=True):
            settled = _settled(task, label, boundary)
            edges += _edges(task, label, settled.boundary)
            gains = named_gains(settled.alternatives, data.event_names, len(task.targets[label].rows))
            alternatives[task.data.label_names[label]] = gains
        n_done += len(block.labels)
        if progress is not None:
            progress("baseline", n_done, len(names), f"labels by {method}")
    warn_of_left_out(f"no boundary was found by {method}", names[n_done:], len(names))
    reached = {label: support[label] for label in sorted(names[:n_done])}
    graph = LabelGraph.from_edges(pl.DataFrame(edges, schema=EDGE_SCHEMA), reached)
    return graph.with_kinds(data.kinds.families, alternatives)


def _blocks(data: EventDataset, method: str, config: BaselineConfig) -> Iterator[_Block]:
    """The labels in blocks, the most frequent first; studies by their most frequent label."""
    for study in sorted(data.studies(), key=lambda study: -int(study.support.max())):
        task = _task(study, config)
        solve = SOLVERS[method](task) if len(study) else _nothing
        order = np.argsort(-study.support, kind="stable").tolist()
        for at in range(0, len(order), BLOCK_LABELS):
            yield _Block(task, solve, order[at : at + BLOCK_LABELS])


def _task(data: EventDataset, config: BaselineConfig) -> _Task:
    kinds = data.kinds.numbered(data.event_names)
    test = IndependenceTest(
        data.presence(), config.dof, config.min_rows_per_dof, data.groups, adjusted=kinds.adjusted
    )
    targets = [Target(rows) for rows in data.positives()]
    alpha = config.alpha / len(data.event_names) if config.correct else config.alpha
    return _Task(data, kinds, test, targets, alpha, config)


def _in_order(blocks: Sequence[_Block], workers: int) -> Iterator[tuple[_Block, list[list[int]]]]:
    """Each block with its boundaries."""
    n_workers = workers or os.cpu_count() or 1
    with ThreadPoolExecutor(n_workers) as pool:
        futures = [pool.submit(block.boundaries) for block in blocks]
        try:
            for block, future in zip(blocks, futures, strict=True):
                yield block, future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _settled(task: _Task, label: int, boundary: list[int]) -> Settled:
    """The boundary with one threshold for each scale and one level for each family."""
    if not (task.kinds.families or task.kinds.scales):
        return Settled(boundary)
    return Levels(task.test, task.targets[label].rows, task.kinds, task.config.alpha).settle(boundary)


def _edges(task: _Task, label: int, boundary: Sequence[int]) -> Iterator[dict[str, object]]:
    for member in boundary:
        statistics = edge_statistics(task.test, task.targets[label], boundary, member)
        yield {
            "label": task.data.label_names[label],
            "event": task.data.event_names[member],
            "sign": statistics.sign,
            "support": len(task.targets[label].rows),
            "strength": statistics.strength,
            "effect": statistics.effect,
            "p_value": statistics.p_value,
        }
