"""The linear term of a training run: read from the run's folder where it is there, otherwise fitted."""

import math
import time
from collections.abc import Callable

from eventcargo.events import EventDataset
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.training.checkpoint import RunFolder
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.distributed import ProcessGroup
from eventcargo.models.training.progress import Progress
from eventcargo.vocabulary import Vocabulary

SHARE = 0.75
"""Share of a run's time the fit may take, if it must: it is worth more than the Transformer's first steps.
Labels whose turn does not come are told from presence alone, or left to the Transformer."""


def run_term(
    data: EventDataset,
    vocabulary: Vocabulary,
    max_length: int,
    config: TrainConfig,
    folder: RunFolder | None,
    group: ProcessGroup,
    progress: Callable[[Progress], None] | None,
) -> tuple[LinearTerm, float]:
    """The linear term of the sequences trained on, the same in all processes, and the seconds it took."""
    found = folder.read_linear() if folder else None
    if found is not None:
        return LinearTerm.from_tensors(found[1]), found[0]
    began, tensors = time.monotonic(), None
    if group.is_main:
        limit = SHARE * config.time_limit
        known = data.select(data.label_rows.lengths > 0) if config.unlabelled else data
        told = _report(progress)
        term = fit_linear(known, vocabulary, max_length, seed=config.seed, progress=told, seconds=limit)
        tensors = term.to_tensors()
    shared = group.broadcast_tensors(tensors)
    seconds = group.broadcast(time.monotonic() - began)[0]
    if folder is not None and group.is_main:
        folder.write_linear(seconds, shared)
    return LinearTerm.from_tensors(shared), seconds


def _report(progress: Callable[[Progress], None] | None) -> Callable[[int, int], None] | None:
    """Labels done, told as the steps of a stage."""
    if progress is None:
        return None
    began, tell = time.monotonic(), progress

    def report(done: int, total: int) -> None:
        left = (time.monotonic() - began) * (total - done) / max(done, 1)
        tell(Progress(done, done / total, math.nan, None, 0.0, left, stage="linear term"))

    return report
