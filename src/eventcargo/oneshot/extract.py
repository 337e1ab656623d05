"""Extract: write the edges of every sequence of a data set to a folder, shard by shard.

Each shard is written as soon as it is done. A run that was stopped or killed resumes with the missing shards,
and writes the same bytes as an uninterrupted run.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo.batches import report_cuts
from eventcargo.deadline import NEVER, Deadline
from eventcargo.edges import EdgeFolder, EdgeTable
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import moment
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, counted
from eventcargo.events import EventDataset
from eventcargo.files import read_document, write_document
from eventcargo.knowledge import Knowledge
from eventcargo.models.density import DensityModel, check_labels, check_values, walk
from eventcargo.oneshot.cases import LIMITS, CaseLimits, Cases, read_cases, select_cases, write_cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import BLOCK, Flags, blocks, configured_tests, sequence_seeds
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.shard_work import Scoring, ShardWork, Task, workers_of
from eventcargo.oneshot.thresholds import fit_pooled_threshold
from eventcargo.progress import OnProgress
from eventcargo.typed import parse_as

PREFIX_THRESHOLD, THRESHOLD = "threshold.json", ("eventcargo-threshold", 1)
"""The file of the pooled threshold, its format and version."""

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
    engine: Engine | None = None,
    like: str | Path | None = None,
) -> EdgeFolder:
    """The folder with the edges of all sequences; an existing one is continued only with `resume=True`.

    Pairs of a label and an event type that `knowledge` excludes are not tested, and neither are event types
    that the data adjust for. Sequences not reached before
    the deadline are not tested either, with a warning; under a deadline, shards run in random order. The
    `engine` does the shards: by default, processes on this machine. With `like`, an earlier folder of edges,
    sequences are chosen by its thresholds: then the edges of two data sets, one after the other, are those of
    both at once.

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
    if like is not None:
        _take_thresholds(Path(like), folder.folder, model, config)
    seeds = sequence_seeds(data, config.seed)
    most_workers = workers_of(model, config, deadline)[0]
    with engine_or(engine, config.workers, folder.folder / "work") as where:

        def select() -> Cases:
            """The cases to test."""
            return select_cases(
                model,
                data,
                config,
                seeds,
                progress,
                allowed=allowed,
                deadline=deadline.share(SELECTING),
                engine=where,
                most_workers=most_workers,
                limits=None if like is None else CaseLimits.read(Path(like), model.label_names),
            )

        cases = _cases(folder, model, (len(data), len(model.label_names)), select)
        pooled = _pooled_threshold(folder, model, data, config, seeds) if config.pools else None
        _report_short(config, data, pooled)
        task = Task(data, cases, size, config, pooled, allowed, deadline)
        _run(where, model, task, folder, progress)
    return folder


def _run(
    engine: Engine, model: DensityModel, task: Task, folder: EdgeFolder, progress: OnProgress | None
) -> None:
    """Score the missing shards; those not reached before the deadline are written empty, as not tested."""
    numbers, total = list(range(folder.n_shards)), len(task.data)
    if task.deadline != NEVER:
        numbers = np.random.default_rng(task.config.seed).permutation(numbers).tolist()
    done = total - sum(map(task.length, folder.missing()))
    with engine.workspace("extract", folder.plan) as place:
        work = _work(place, model, task, folder)
        with work.held(Scoring(model, task), task.deadline):
            for number in engine.run(work, numbers):
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


def _work(place: Path, model: DensityModel, task: Task, folder: EdgeFolder) -> ShardWork:
    most_workers, is_long = workers_of(model, task.config, task.deadline)
    is_on_gpu = model.device.type == "cuda"
    return ShardWork(
        place,
        folder.folder.absolute(),
        task.data.fingerprint,
        task.size,
        task.config,
        task.pooled,
        "cuda" if is_on_gpu else "cpu",
        ends=moment(task.deadline),
        most_workers=most_workers,
        is_long=is_long,
        gpus=float(is_on_gpu),
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
    folder: EdgeFolder, model: DensityModel, shape: tuple[int, int], select: Callable[[], Cases]
) -> Cases:
    """The cases to test; stored in the folder with their thresholds, so that they are selected only once."""
    path = folder.folder / "cases.parquet"
    if not path.exists():
        cases = select()
        assert cases.limits is not None
        cases.limits.write(folder.folder, model.label_names)
        write_cases(path, cases)
    return read_cases(path, shape)


def _take_thresholds(like: Path, folder: Path, model: DensityModel, config: ExtractConfig) -> None:
    """Take the thresholds of an earlier folder of edges; one that has others already is refused."""
    limits = CaseLimits.read(like, model.label_names)
    own = folder / LIMITS
    if own.exists() and own.read_bytes() != (like / LIMITS).read_bytes():
        raise ConfigError(
            f"{folder} was begun with other thresholds than those of {like}; choose a new folder"
        )
    limits.write(folder, model.label_names)
    if config.pools:
        earlier = read_document(like / PREFIX_THRESHOLD, *THRESHOLD, "extract the edges again")
        write_document(folder / PREFIX_THRESHOLD, *THRESHOLD, earlier)


def _pooled_threshold(
    folder: EdgeFolder, model: DensityModel, data: EventDataset, config: ExtractConfig, seeds: Any
) -> float:
    """The pooled threshold, fitted to some sequences with labels; stored in the folder."""
    path = folder.folder / PREFIX_THRESHOLD
    if not path.exists():
        rows = np.flatnonzero(data.label_rows.lengths > 0)
        rows = np.sort(rows[np.argsort(seeds[rows], kind="stable")[:POOLED]])
        threshold = fit_pooled_threshold(
            _prefix_scores(model, data.select(rows), config, seeds[rows])
        ).threshold
        write_document(path, *THRESHOLD, {"threshold": threshold})
    content = read_document(path, *THRESHOLD, "extract the edges again")
    return float(parse_as(float, content.get("threshold"), f"{path}: threshold"))


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
