"""`find_boundaries`: run a baseline on all labels of a data set and return one LabelGraph.

Labels are independent: a small block of them is a unit of work, and the results are joined in the order of
blocks, so that it does not matter who does which.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

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
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import Work, moment, read_unit, write_unit
from eventcargo.event_kinds import NumberedKinds
from eventcargo.events import EventDataset
from eventcargo.graphs import EDGE_SCHEMA, LabelGraph
from eventcargo.progress import OnProgress
from eventcargo.shared_data import share_data, shared_data
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
    engine: Engine | None = None,
) -> LabelGraph:
    """Find the boundary of every label by a classical method on event presence.

    Adjusted event types are in every condition set and in no boundary. Whatever the method, `Levels` then
    settles which threshold of a scale and which level of a family a boundary names.

    The most frequent labels come first. Labels not reached before the deadline are not in the graph, and a
    warning names them. The `engine` works on blocks of labels: by default, processes on this machine.

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
    with engine_or(engine, config.workers) as where:
        found = _found(Blocks(data, method, config), where, progress, deadline)
    edges = [edge for one in found for edge in one["edges"]]
    reached = {label: support[label] for label in sorted(one["label"] for one in found)}
    graph = LabelGraph.from_edges(pl.DataFrame(edges, schema=EDGE_SCHEMA), reached)
    return graph.with_kinds(data.kinds.families, {one["label"]: one["alternatives"] for one in found})


def _found(
    blocks: "Blocks", engine: Engine, progress: OnProgress | None, deadline: Deadline
) -> list[dict[str, Any]]:
    """What was found for each label that was reached before the deadline, in the order of blocks."""
    data, method, config = blocks.data, blocks.method, blocks.config
    names, units = [blocks.names(unit) for unit in range(len(blocks))], range(len(blocks))
    settings = {name: value for name, value in asdict(config).items() if name != "workers"}
    plan = {**settings, "method": method, "data": data.fingerprint}
    n_labels = sum(map(len, names))
    with engine.workspace("baseline", plan) as place:
        work = BlockWork(place, data.fingerprint, method, config, ends=moment(deadline))
        done = n_labels - sum(len(names[unit]) for unit in work.missing(units))
        with work.held(blocks, deadline):
            for unit in engine.run(work, units):
                done += len(names[unit])
                if deadline.is_over:
                    break
                if progress is not None:
                    progress("baseline", done, n_labels, f"labels by {method}")
        late = work.missing(units)
        warn_of_left_out(
            f"no boundary was found by {method}", [name for unit in late for name in names[unit]], n_labels
        )
        reached = (unit for unit in units if unit not in late)
        return [one for unit in reached for one in read_unit(work.path(unit))["labels"]]


class Blocks:
    """The labels of a data set in blocks, the most frequent first; studies by their most frequent label."""

    def __init__(self, data: EventDataset, method: str, config: BaselineConfig) -> None:
        self.data, self.method, self.config = data, method, config
        self._studies = sorted(data.studies(), key=lambda study: -int(study.support.max()))

    @cached_property
    def _blocks(self) -> list[tuple[int, list[int]]]:
        """The study of each block, and its labels."""
        orders = [np.argsort(-study.support, kind="stable").tolist() for study in self._studies]
        return [
            (study, order[at : at + BLOCK_LABELS])
            for study, order in enumerate(orders)
            for at in range(0, len(order), BLOCK_LABELS)
        ]

    @cached_property
    def _solvers(self) -> "dict[int, tuple[_Task, Solve]]":
        """The studies that were asked for."""
        return {}

    def __len__(self) -> int:
        return len(self._blocks)

    def names(self, block: int) -> list[str]:
        """The labels of a block."""
        study, labels = self._blocks[block]
        return [self._studies[study].label_names[label] for label in labels]

    def find(self, block: int) -> list[dict[str, Any]]:
        """Edges and alternatives of each label of a block."""
        study, labels = self._blocks[block]
        if study not in self._solvers:
            task = _task(self._studies[study], self.config)
            self._solvers[study] = task, SOLVERS[self.method](task) if len(task.data) else _nothing
        task, solve = self._solvers[study]
        boundaries = solve(labels)
        return [_described(task, *each) for each in zip(labels, boundaries, strict=True)]


def _described(task: _Task, label: int, boundary: list[int]) -> dict[str, Any]:
    """The name, the edges and the alternatives of a label."""
    settled = _settled(task, label, boundary)
    gains = named_gains(settled.alternatives, task.data.event_names, len(task.targets[label].rows))
    edges = list(_edges(task, label, settled.boundary))
    return {"label": task.data.label_names[label], "edges": edges, "alternatives": gains}


@dataclass(frozen=True)
class BlockWork(Work[Blocks]):
    """Find the boundaries of blocks of labels; a block whose turn comes after the deadline is left out."""

    data: str
    """the fingerprint of the data"""
    method: str
    config: BaselineConfig

    def save(self, state: Blocks, folder: Path) -> None:  # noqa: ARG002 (the data are all there is)
        share_data(state.data, self.folder.parent)

    def open(self, folder: Path) -> Blocks:  # noqa: ARG002
        return Blocks(shared_data(self.data, self.folder.parent), self.method, self.config)

    def do(self, state: Blocks, unit: int) -> None:
        if not self.deadline.is_over:
            write_unit(self.path(unit), {"labels": state.find(unit)})

    def path(self, unit: int) -> Path:
        return self.folder / f"block-{unit:05}.json"


def _task(data: EventDataset, config: BaselineConfig) -> _Task:
    kinds = data.kinds.numbered(data.event_names)
    test = IndependenceTest(
        data.incidence, config.dof, config.min_rows_per_dof, data.groups, adjusted=kinds.adjusted
    )
    targets = [Target(rows) for rows in data.positives()]
    alpha = config.alpha / len(data.event_names) if config.correct else config.alpha
    return _Task(data, kinds, test, targets, alpha, config)


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
