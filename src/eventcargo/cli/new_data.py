"""New tables through a saved run: read by the run's own columns, cut by its cohort, for its model."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import eventcargo.oneshot
import eventcargo.prediction
from eventcargo.discovery.data_source import new_source
from eventcargo.discovery.run_folder import GRAPH, MODEL, RUN, knowledge_of_run
from eventcargo.errors import ConfigError, DataError
from eventcargo.io.config import ReadConfig
from eventcargo.models.loading import load_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from eventcargo.events import EventDataset
    from eventcargo.models.density import DensityModel


@dataclass(frozen=True, kw_only=True)
class NewColumns:
    """Names of columns of new events, and the tables beside them; empty: those of the run."""

    panel: ClassVar[str] = "Tables"

    sequence_id: str = ""
    """column with the sequence id, or with the subject of a cohort; empty: that of the run"""
    time: str = ""
    """column with the time; empty: that of the run"""
    event: str = ""
    """column with the event type; empty: that of the run"""
    values: tuple[str, ...] = ()
    """numeric column of the events, such as mileage; repeat for more; default: those of the run"""
    static: str = ""
    """table of attributes of subjects: a row per subject; empty: that of the run"""


def model_of(run: Path, device: str) -> "DensityModel":
    """The model of a run; a run without one is refused."""
    if (run / GRAPH).exists() and not (run / MODEL).exists():
        raise ConfigError(f"{run} had no time to fit a model; run discover with a longer --max-time")
    if not (run / MODEL).exists():
        has = "a run that is not finished" if (run / RUN).exists() else "no run"
        raise DataError(f"{run} holds {has}: it has no model/; run discover first")
    return load_model(run / MODEL, device)


def read_new(
    run: Path, events: str, columns: NewColumns, reading: ReadConfig, model: "DensityModel"
) -> "EventDataset":
    """The sequences of a new table; what the options do not name is as in the run's own data.

    Sequences of a cohort whose outcomes are in a table of their own end with the last event of the subject.
    Event types that the model does not know are named in a warning.
    """
    source = new_source(run, events, (), asdict(columns), reading)
    if source.cohort.label_time:
        source = replace(source, cohort=source.cohort.before_outcomes)
    data = source.build(like=model.vocabulary).data.without_labels()
    eventcargo.prediction.warn_of_unknown(eventcargo.prediction.unknown_events(model, data), data)
    return data


def allowed_pairs(run: Path, model: "DensityModel", data: "EventDataset") -> "NDArray[np.bool_] | None":
    """The pairs that may be causes by the run's knowledge, (labels, V); None: all."""
    return eventcargo.oneshot.allowed_pairs(knowledge_of_run(run), model, data)
