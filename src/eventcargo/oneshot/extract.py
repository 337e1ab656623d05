"""Extract: a model and a data set go in, a folder with the edges of every sequence comes out, shard by shard.

A shard is written when it is done. A run that was stopped or killed goes on with the shards that are missing,
and its result is that of an uninterrupted one, byte for byte.
"""

import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from eventcargo.batches import report_cuts
from eventcargo.edges import EdgeFolder, EdgeTable
from eventcargo.errors import DataError, EventCargoWarning
from eventcargo.events import EventDataset
from eventcargo.files import atomic_file
from eventcargo.knowledge import Knowledge
from eventcargo.models.density import DensityModel, check_labels, check_values, walk
from eventcargo.models.training.checkpoint import data_fingerprint, model_fingerprint
from eventcargo.oneshot.cases import Cases, select_cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.edge_collector import POLARITIES
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import BLOCK, Flags, sequence_seeds
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.thresholds import fit_pooled_threshold
from eventcargo.oneshot.workers import Task, WorkerPool

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many sequences are done, and how many there are in all."""

POOLED = 500
"""Sequences a pooled cut is fitted to."""

FREE = ("workers", "max_memory")
"""Settings that change how a result is computed, not the result."""


def extract(
    model: DensityModel,
    data: EventDataset,
    out: str | Path,
    config: ExtractConfig | None = None,
    *,
    knowledge: Knowledge | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    seconds: float = math.inf,
) -> EdgeFolder:
    """The edges of all sequences, in a new folder, or in one that was begun before with `resume`.

    Pairs of a label and an event type that `knowledge` does not allow are not tested. Sequences whose turn
    does not come within `seconds` are not tested either, with a warning; shards are then in random order.

    >>> import tempfile
    >>> from eventcargo import EdgeTable
    >>> from eventcargo.models import Oracle
    >>> from eventcargo.simulate.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = process.sample(50, seed=1).data
    ...     edges = EdgeTable.read(extract(Oracle(process), data, folder + "/edges").folder).edges
    >>> edges.filter(label="L000")["event"].unique().sort().to_list()
    ['E00000', 'E00001']
    """
    config, deadline = config or ExtractConfig(), time.monotonic() + seconds
    if not data.label_names:
        raise DataError("the data have no labels; read them with labels, phase 1 tests events against them")
    check_labels(model, data)
    check_values(model, data)
    allowed = _allowed(knowledge, model, data)
    report_cuts(data, model.max_length)
    size = -(-config.shard // BLOCK) * BLOCK
    folder = EdgeFolder.create(Path(out), _plan(model, data, config, size, knowledge), resume)
    seeds = sequence_seeds(data, config.seed)
    cases = _cases(folder, model, data, config, seeds, progress, allowed)
    pooled = _pooled_threshold(folder, model, data, config, seeds) if config.pools else None
    _report_short(config, data, pooled)
    task = Task(data, cases, seeds, size, config, pooled, allowed)
    _run(model, task, folder, progress, deadline)
    return folder


def _run(
    model: DensityModel, task: Task, folder: EdgeFolder, progress: Progress | None, deadline: float
) -> None:
    """Fill the shards that are missing; those that are late are left empty: nothing was tested there."""
    left, total = folder.missing(), len(task.data)
    if deadline < math.inf:
        left = np.random.default_rng(task.config.seed).permutation(left).tolist()
    done = total - sum(task.length(number) for number in left)
    with WorkerPool(model, task, folder) as pool:
        for number in pool.run(left):
            done += task.length(number)
            if progress is not None:
                progress("testing", done, total)
            if time.monotonic() > deadline:
                break
    late = folder.missing()
    for number in late:
        folder.write(number, EdgeTable.join([]))
    if late:
        warnings.warn(
            f"time was up before {sum(map(task.length, late)):,} of {total:,} sequences were tested; "
            "the others were taken in random order; give more time",
            EventCargoWarning,
            stacklevel=3,
        )


def _allowed(knowledge: Knowledge | None, model: DensityModel, data: EventDataset) -> Flags | None:
    """Which pairs of a label and an event type of the model may be edges, (labels, V); None: all.

    Names are looked for in the data and in the model: event types too rare for a model are not unknown.
    """
    if knowledge is None:
        return None
    vocabulary = model.vocabulary
    events = sorted({*data.event_names, *vocabulary.event_names})
    resolved = knowledge.resolve(list(model.label_names), events)
    return resolved.table(model.label_names, vocabulary.decode(range(len(vocabulary))))


def _plan(
    model: DensityModel, data: EventDataset, config: ExtractConfig, size: int, knowledge: Knowledge | None
) -> dict[str, Any]:
    """Everything the edges follow from."""
    settings = {name: value for name, value in asdict(config).items() if name not in FREE}
    return {
        **settings,
        "shards": -(-len(data) // size),
        "data": data_fingerprint(data),
        "model": model_fingerprint(model),
        "labels": list(model.label_names),
        "untrusted": list(getattr(model, "untrusted", ())),
        "knowledge": None if knowledge is None else knowledge.fingerprint,
    }


def _cases(
    folder: EdgeFolder,
    model: DensityModel,
    data: EventDataset,
    config: ExtractConfig,
    seeds: Any,
    progress: Progress | None,
    allowed: Flags | None,
) -> Cases:
    """What is tested; kept in the folder, so that it is found out once."""
    path, shape = folder.folder / "cases.parquet", (len(data), len(model.label_names))
    if not path.exists():
        told = None if progress is None else (lambda done, total: progress("selecting", done, total))
        found = select_cases(model, data, config, seeds, told, allowed=allowed)
        _write_cases(path, found)
    table = pl.read_parquet(path)
    parts = {name: table.filter(polarity=name) for name in POLARITIES}
    return Cases(**{name: _matrix(part, shape) for name, part in parts.items()})


def _pooled_threshold(
    folder: EdgeFolder, model: DensityModel, data: EventDataset, config: ExtractConfig, seeds: Any
) -> float:
    """The threshold of the pooled cut, from some sequences with labels; kept in the folder."""
    path = folder.folder / "threshold.json"
    if not path.exists():
        rows = np.flatnonzero(data.label_rows.lengths > 0)
        rows = np.sort(rows[np.argsort(seeds[rows], kind="stable")[:POOLED]])
        threshold = fit_pooled_threshold(
            _prefix_scores(model, data.select(rows), config, seeds[rows])
        ).threshold
        with atomic_file(path) as target:
            target.write_text(json.dumps({"threshold": threshold}), "utf-8")
    return float(json.loads(path.read_text("utf-8"))["threshold"])


def _prefix_scores(
    model: DensityModel, data: EventDataset, config: ExtractConfig, seeds: Any
) -> Iterator[EventScores]:
    """Scores of all events of some sequences, with all particles."""
    test = PrefixTest(replace(config.prefix, error=0.0))
    for rows, batch in walk(model, data, tokens=4_096):
        yield test.score(model, batch, batch.labels > 0, seeds[rows])


def _report_short(config: ExtractConfig, data: EventDataset, pooled: float | None) -> None:
    for configured_test in config.configured_tests(pooled):
        if isinstance(configured_test.test, PrefixTest):
            configured_test.test.report_short(data.lengths)


def _write_cases(path: Path, cases: Cases) -> None:
    pairs = {name: getattr(cases, name).nonzero() for name in POLARITIES}
    table = pl.concat(
        pl.DataFrame({"row": rows.astype(np.int64), "label": labels.astype(np.int64)}).with_columns(
            polarity=pl.lit(name)
        )
        for name, (rows, labels) in pairs.items()
    )
    with atomic_file(path) as target:
        table.write_parquet(target)


def _matrix(table: pl.DataFrame, shape: tuple[int, int]) -> sp.csr_array:
    rows, labels = table["row"].to_numpy(), table["label"].to_numpy()
    return sp.csr_array((np.ones(len(rows), np.int8), (rows, labels)), shape=shape)
