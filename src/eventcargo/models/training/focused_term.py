"""The focused networks of a training run: read from the run's folder if stored there, otherwise fitted."""

import time

from eventcargo.deadline import Deadline
from eventcargo.engines.engine import Engine
from eventcargo.events import EventDataset
from eventcargo.models.focused.fit import fit_focused
from eventcargo.models.focused.term import FocusedTerm
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.training.checkpoint import RunFolder
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.distributed import ProcessGroup
from eventcargo.progress import OnProgress
from eventcargo.vocabulary import Vocabulary

SHARE = 0.5
"""Largest share of the time left after the linear term for the focused networks."""


def run_focused(
    data: EventDataset,
    vocabulary: Vocabulary,
    max_length: int,
    config: TrainConfig,
    linear: LinearTerm,
    folder: RunFolder | None,
    group: ProcessGroup,
    progress: OnProgress | None,
    deadline: Deadline,
    engine: Engine,
) -> tuple[FocusedTerm | None, float]:
    """The focused networks of the training sequences, the same in all processes, and their seconds."""
    stored = folder.read_term(folder.focused) if folder else None
    if stored is None:
        began, tensors, is_cut = time.monotonic(), None, False
        if group.is_main:
            end = Deadline.after(SHARE * min(config.time_limit, deadline.left))
            known = data.select(data.label_rows.lengths > 0) if config.unlabelled else data
            focused = fit_focused(
                known,
                vocabulary,
                max_length,
                linear,
                None,
                config.seed,
                progress,
                end,
                engine,
            )
            tensors = {} if focused is None else focused.to_tensors()
            is_cut = end.is_over
        shared = group.broadcast_tensors(tensors)
        stored = group.broadcast(time.monotonic() - began)[0], shared
        if folder is not None and group.is_main:
            folder.write_term(folder.focused, *stored, is_cut)
    seconds, tensors = stored
    return FocusedTerm.from_tensors(tensors) if tensors else None, seconds
