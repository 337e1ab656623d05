"""Extract: write the edges of every sequence of a data set to a folder, shard by shard.

Each shard is written as soon as it is done. A run that was stopped or killed resumes with the missing shards,
and writes the same bytes as an uninterrupted run.
"""

import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from eventcargo.batches import report_cuts
from eventcargo.deadline import NEVER, Deadline
from eventcargo.edges import POLARITIES, EdgeFolder, EdgeTable
from eventcargo.errors import DataError, EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.files import atomic_file, read_document, write_document
from eventcargo.knowledge import Knowledge
from eventcargo.models.density import DensityModel, check_labels, check_values, walk
from eventcargo.oneshot.cases import Cases, select_cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import BLOCK, Flags, blocks, configured_tests, sequence_seeds
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.thresholds import fit_pooled_threshold
from eventcargo.oneshot.workers import Task, WorkerPool
from eventcargo.progress import OnProgress

THRESHOLD = "eventcargo-threshold", 1
"""Format and version of the file of the pooled threshold."""

POOLED = 500
"""Sequences to which the pooled threshold is fitted."""

FREE = ("workers", "max_memory")
"""Settings that change how the result is computed, but not the result."""


SELECTING = 0.4
"""Largest share of the time for selecting the cases."""


def extract(
    model: DensityModel,
    data: EventDataset,
    out: str | Path,
    config: ExtractConfig | None = None,
    *,
    knowledge: Knowledge | None = None,
    resume: bool = False,
    progress: OnProgress | None = None,
    deadline: Deadline = NEVER,
) -> EdgeFolder:
    """The folder with the edges of all sequences; an existing one is continued only with `resume=True`.

    Pairs of a label and an event type that `knowledge` excludes are not tested, and neither are event types
    that the data adjust for. Sequences not reached before
    the deadline are not tested either, with a warning; under a deadline, shards run in random order.

    >>> import tempfile
    >>> from eventcargo import EdgeTable
    >>> from eventcargo.models import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = process.sample(50, seed=1).data
    ...     edges = EdgeTable.read(extract(Oracle(process), data, folder + "/edges").folder).edges
    >>> edges.filter(label="L000")["event"].unique().sort().to_list()
    ['E00000', 'E00001']
    """
    config = config or ExtractConfig()
    if not data.label_names:
        raise DataError("the data have no labels, against which phase 1 tests events; read them with labels")
    check_labels(model, data)
    check_values(model, data)
    allowed = allowed_pairs(knowledge, model, data)
    report_cuts(data, model.max_length)
    size = -(-config.shard // BLOCK) * BLOCK
    folder = EdgeFolder.create(Path(out), _plan(model, data, config, size, knowledge), resume)
    seeds = sequence_seeds(data, config.seed)
    cases = _cases(folder, model, data, config, seeds, progress, allowed, deadline.share(SELECTING))
    pooled = _pooled_threshold(folder, model, data, config, seeds) if config.pools else None
    _report_short(config, data, pooled)
    _run(model, Task(data, cases, seeds, size, config, pooled, allowed, deadline), folder, progress)
    return folder


def _run(model: DensityModel, task: Task, folder: EdgeFolder, progress: OnProgress | None) -> None:
    """Score the missing shards; those not reached before the deadline are written empty, as not tested."""
    left, total = folder.missing(), len(task.data)
    if task.deadline != NEVER:
        left = np.random.default_rng(task.config.seed).permutation(left).tolist()
    done = total - sum(task.length(number) for number in left)
    with WorkerPool(model, task, folder) as pool:
        for number in pool.run(left):
            done += task.length(number)
            if progress is not None:
                progress("testing", done, total, "sequences")
            if task.deadline.is_over:
                break
    late = folder.missing()
    for number in late:
        folder.write(number, EdgeTable.join([]))
    if late:
        n_late = sum(map(task.length, late))
        warnings.warn(
            f"{n_late:,} of {counted(total, 'sequence')} {'was' if n_late == 1 else 'were'} not tested "
            "within the time limit; the tested shards are a random choice; allow more time",
            EventCargoWarning,
            stacklevel=3,
        )


def allowed_pairs(knowledge: Knowledge | None, model: DensityModel, data: EventDataset) -> Flags | None:
    """Which pairs of a label and an event type may be edges, (labels, V); None: all.

    Names are resolved against data and model together, so event types too rare for the model are known too.
    Event types that the data adjust for are in no edge; the model reads them, which is the adjustment.
    """
    if knowledge is None and not data.kinds.adjusted:
        return None
    vocabulary = model.vocabulary
    events = sorted({*data.event_names, *vocabulary.event_names})
    resolved = (knowledge or Knowledge()).resolve(list(model.label_names), events)
    resolved = resolved.without(data.kinds.adjusted)
    return resolved.table(model.label_names, vocabulary.decode(range(len(vocabulary))))


def _plan(
    model: DensityModel, data: EventDataset, config: ExtractConfig, size: int, knowledge: Knowledge | None
) -> dict[str, Any]:
    """Everything the edges depend on."""
    settings = {name: value for name, value in asdict(config).items() if name not in FREE}
    return {
        **settings,
        "shards": -(-len(blocks(data)) // (size // BLOCK)),
        "data": data.fingerprint,
        "model": model.fingerprint,
        "labels": list(model.label_names),
        "untrusted": list(model.untrusted),
        "knowledge": None if knowledge is None else knowledge.fingerprint,
    }


def _cases(
    folder: EdgeFolder,
    model: DensityModel,
    data: EventDataset,
    config: ExtractConfig,
    seeds: Any,
    progress: OnProgress | None,
    allowed: Flags | None,
    deadline: Deadline,
) -> Cases:
    """The cases to test; stored in the folder, so that they are selected only once."""
    path, shape = folder.folder / "cases.parquet", (len(data), len(model.label_names))
    if not path.exists():
        cases = select_cases(model, data, config, seeds, progress, allowed=allowed, deadline=deadline)
        _write_cases(path, cases)
    table = pl.read_parquet(path)
    return Cases(**{name: _matrix(table.filter(polarity=name), shape) for name in POLARITIES})


def _pooled_threshold(
    folder: EdgeFolder, model: DensityModel, data: EventDataset, config: ExtractConfig, seeds: Any
) -> float:
    """The pooled threshold, fitted to some sequences with labels; stored in the folder."""
    path = folder.folder / "threshold.json"
    if not path.exists():
        rows = np.flatnonzero(data.label_rows.lengths > 0)
        rows = np.sort(rows[np.argsort(seeds[rows], kind="stable")[:POOLED]])
        threshold = fit_pooled_threshold(
            _prefix_scores(model, data.select(rows), config, seeds[rows])
        ).threshold
        write_document(path, *THRESHOLD, {"threshold": threshold})
    return float(read_document(path, *THRESHOLD, "extract the edges again")["threshold"])


def _prefix_scores(
    model: DensityModel, data: EventDataset, config: ExtractConfig, seeds: Any
) -> Iterator[EventScores]:
    """Scores of all events of some sequences, computed with all particles."""
    test = PrefixTest(replace(config.prefix, error=0.0))
    for rows, batch in walk(model, data, tokens=4_096):
        yield test.score(model, batch, batch.labels > 0, seeds[rows])


def _report_short(config: ExtractConfig, data: EventDataset, pooled: float | None) -> None:
    for configured_test in configured_tests(config, pooled):
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
