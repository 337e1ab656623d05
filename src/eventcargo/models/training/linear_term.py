"""The linear term of a training run: read from the run's folder if stored there, otherwise fitted."""

import time

from eventcargo.deadline import Deadline
from eventcargo.engines.engine import Engine
from eventcargo.events import EventDataset
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.linear.term import Effort, LinearTerm
from eventcargo.models.training.checkpoint import RunFolder
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.distributed import ProcessGroup
from eventcargo.progress import OnProgress
from eventcargo.vocabulary import Vocabulary

SHARE = 0.75
"""Largest share of a run's time for the fit, which is worth more than the Transformer's first steps. Labels
not reached in time are fitted on presence alone, or left to the Transformer."""


def run_term(
    data: EventDataset,
    vocabulary: Vocabulary,
    max_length: int,
    config: TrainConfig,
    linear: LinearConfig,
    folder: RunFolder | None,
    group: ProcessGroup,
    progress: OnProgress | None,
    deadline: Deadline,
    engine: Engine,
) -> tuple[LinearTerm, float]:
    """The linear term of the training sequences, the same in all processes, and the seconds it took."""
    stored = folder.read_term(folder.linear) if folder else None
    if stored is not None:
        return LinearTerm.from_tensors(stored[1]), stored[0]
    began, tensors, is_cut = time.monotonic(), None, False
    if group.is_main:
        limit = SHARE * min(config.time_limit, deadline.left)
        known = data.select(data.label_rows.lengths > 0) if config.unlabelled else data
        term = fit_linear(
            known,
            vocabulary,
            max_length,
            linear,
            seed=config.seed,
            progress=progress,
            deadline=Deadline.after(limit),
            engine=engine,
        )
        tensors = term.to_tensors()
        is_cut = term.effort is not None and bool((term.effort < Effort.ALL).any())
    shared = group.broadcast_tensors(tensors)
    seconds = group.broadcast(time.monotonic() - began)[0]
    if folder is not None and group.is_main:
        folder.write_term(folder.linear, seconds, shared, is_cut)
    return LinearTerm.from_tensors(shared), seconds
