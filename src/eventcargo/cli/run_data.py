"""The graph of a run and its data, for commands that read a finished run; its lock, for those that write."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import eventcargo
from eventcargo.cli import HELD
from eventcargo.cli.source import data_of
from eventcargo.discovery.data_source import SourceData, recall
from eventcargo.discovery.run_folder import GRAPH, is_current
from eventcargo.errors import ConfigError, DataError
from eventcargo.locks import hold_folder

if TYPE_CHECKING:
    from eventcargo.graphs import LabelGraph


def hold(run: Path, shared: bool = False) -> None:
    """Hold the folder of a run until the command ends; refused if another command writes to it."""
    HELD.enter_context(hold_folder(run, shared=shared))


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
    advice = f"name them with --events{option} and --labels{option}"
    loaded = recall(run, advice) if events is None else data_of(run, events, labels)
    is_current(run, GRAPH, loaded.data, fate)
    return eventcargo.read_graph(run / GRAPH), loaded
