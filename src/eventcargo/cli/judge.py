"""`eventcargo judge RUN`: judge for every label of a run whether to trust its boundary, and why not."""

from pathlib import Path
from typing import Annotated

import typer

import eventcargo
import eventcargo.discovery
from eventcargo.cli.data import EVENT, LABEL, LABELS, SEQUENCE_ID, TIME
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.run_data import hold
from eventcargo.cli.source import EVENTS_OF_RUN, data_of
from eventcargo.discovery.run_folder import (
    GRAPH,
    VERDICTS,
    knowledge_of_run,
    warn_of_outdated,
    write_judged,
)
from eventcargo.errors import DataError, counted
from eventcargo.knowledge import Knowledge
from eventcargo.verdicts import LEVELS, JudgeConfig, count_levels, verdict_notes

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
@with_options(JudgeConfig)
def judge(
    run: Annotated[Path, typer.Argument(help="Folder of a run with graph.parquet; verdicts.json is added.")],
    events: EVENTS_OF_RUN = None,
    labels: LABELS = None,
    sequence_id: SEQUENCE_ID = "",
    time: TIME = "",
    event: EVENT = "",
    label: LABEL = "",
    knowledge: Annotated[
        Path | None, typer.Option(help="Prior knowledge, JSON or YAML; default: that of the graph.")
    ] = None,
    as_json: AS_JSON = False,
    config: JudgeConfig = JudgeConfig(),  # noqa: B008 (frozen)
) -> None:
    """Judge for every label whether to trust its boundary, and why not."""
    if not (run / GRAPH).exists():
        raise DataError(f"{run} has no {GRAPH}; run fuse or discover first")
    hold(run)
    loaded = data_of(run, events, labels, sequence_id=sequence_id, time=time, event=event, label=label)
    data = loaded.data
    graph, quality = eventcargo.read_graph(run / GRAPH), eventcargo.discovery.read_quality(run)
    known = knowledge_of_run(run) if knowledge is None else Knowledge.read(knowledge)
    resolved = None if known is None else known.resolve(list(data.label_names), list(data.event_names))
    rules = eventcargo.discovery.read_current_rules(run)
    verdicts = eventcargo.judge(
        data, graph, quality, config, rules=rules, knowledge=resolved, timing=loaded.timing
    )
    write_judged(run, graph, verdicts, data, config)
    warn_of_outdated(run)
    if as_json:
        print_json(verdict_notes(verdicts))
        return
    rows = [
        [name, verdict.level, "; ".join(verdict.reasons), "; ".join(verdict.missing)]
        for name, verdict in verdicts.items()
    ]
    rows.sort(key=lambda row: LEVELS.index(row[1]), reverse=True)
    columns = ["label", "are they real?", "reasons", "is that all?"]
    print_table(f"Verdicts on {counted(len(rows), 'label')}", columns, rows)
    print_lines([f"{count_levels(verdicts)}; written to {run / VERDICTS}."])
