"""`eventcargo update RUN EVENTS --labels LABELS`: a run takes in new sequences, with the model it has."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventcargo.updating
from eventcargo.cli.data import EVENTS, LABEL, LABELS
from eventcargo.cli.discover import print_found
from eventcargo.cli.new_data import NewColumns
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.drift.config import DriftConfig
from eventcargo.engines.config import EngineConfig
from eventcargo.errors import ConfigError, counted
from eventcargo.io.config import ReadConfig
from eventcargo.progress import progress_bars
from eventcargo.verdicts import verdict_notes

if TYPE_CHECKING:
    from eventcargo.updating import Updated

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
@with_options(DriftConfig, EngineConfig, NewColumns, ReadConfig)
def update(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run with a model.")],
    events: EVENTS,
    labels: LABELS = None,
    label: LABEL = "",
    max_time: Annotated[
        str, typer.Option(help="Time limit of what follows phase 1, such as 30m; default: that of the run.")
    ] = "",
    workers: Annotated[
        int, typer.Option(help="Worker processes; 0: one per core where that pays.", min=0)
    ] = 0,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    as_json: AS_JSON = False,
    drift: DriftConfig = DriftConfig(),  # noqa: B008 (frozen)
    where: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    columns: NewColumns = NewColumns(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Add new sequences to a run, find its causes again on all data, and tell if its model is out of date."""
    if where.shards:
        raise ConfigError(f"--shards {where.shards}: an update is one invocation; leave it out")
    try:
        with progress_bars() as progress:
            updated = eventcargo.updating.update(
                run,
                events,
                labels,
                max_time=max_time,
                drift=drift,
                device=device,
                workers=workers,
                progress=progress,
                engine=where,
                reading=reading,
                **asdict(columns),
                label=label,
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; finished work is kept in {run}: run the same update again", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json(_content(run, updated))
        return
    count = counted(int(updated.added["sequences"]), "sequence")
    if updated.is_new:
        print_lines([f"Added {count} to {run}."])
    else:
        print_lines([f"{run} has these {count} already; nothing was changed."])
    if updated.drift is not None:
        print_lines([updated.drift.sentence])
    if updated.is_new:
        print_found(updated.results, updated.data, run, None)


def _content(run: Path, updated: "Updated") -> dict[str, Any]:
    results = updated.results
    return {
        "run": str(run),
        "is_new": updated.is_new,
        "sequences": len(updated.data),
        "added": dict(updated.added),
        "drift": None if updated.drift is None else updated.drift.to_dict(),
        "edges": len(results.graph),
        "boundaries": results.graph.boundaries,
        "rules": {label: None if rule is None else rule.text for label, rule in results.rules.items()},
        "verdicts": verdict_notes(results.verdicts),
    }
