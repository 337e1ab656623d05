"""The graph of a run and its data, for commands that read a finished run; its lock, for those that write."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import eventcargo
from eventcargo.cli import UNTIL_END
from eventcargo.cli.data import Columns
from eventcargo.cli.source import SourceData, data_of, recall, source_of
from eventcargo.discovery.run_folder import GRAPH, is_current
from eventcargo.errors import ConfigError, DataError
from eventcargo.locks import hold_folder

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph


def hold(run: Path, shared: bool = False) -> None:
    """Hold the folder of a run until the command ends; refused if another command writes to it."""
    UNTIL_END.enter_context(hold_folder(run, shared=shared))


def graph_and_data(
    run: Path,
    events: str | None,
    labels: Sequence[str] | None,
    side: str = "",
    fate: str = "is used all the same",
) -> "tuple[LabelGraph, SourceData]":
    """The graph of a run and its data: those it remembers, or those that options name.

    `side` ends the names of these options, as in --events-a. If the graph was made from other data, a warning
    says so and that it `fate`.
    """
    if not (run / GRAPH).exists():
        raise DataError(f"{run} holds no finished run: it has no {GRAPH}; run discover first")
    option = f"-{side}" if side else ""
    if labels and events is None:
        raise ConfigError(f"--labels{option} needs --events{option}; give both or neither")
    loaded = _recalled(run, option) if events is None else _named(run, events, labels)
    is_current(run, GRAPH, loaded.data, fate)
    return eventcargo.read_graph(run / GRAPH), loaded


def _recalled(run: Path, option: str) -> SourceData:
    """The data of a run; refuses data that are gone, naming the options that give them anew."""
    advice = f"name them with --events{option} and --labels{option}"
    if not (run / "data.json").exists():
        raise DataError(f"{run} does not know its data: it has no data.json; {advice}")
    for path in source_of(run).paths:
        if not any(mark in path for mark in "*?[") and not Path(path).exists():
            raise DataError(f"the data of {run} are gone: {path} does not exist; {advice}")
    return recall(run)


def _named(run: Path, events: str, labels: Sequence[str] | None) -> SourceData:
    """Data that options name, with the columns of the run's own."""
    known = source_of(run) if (run / "data.json").exists() else Columns()
    return data_of(run, events, labels, known.sequence_id, known.time, known.event, known.label)
