"""`eventcargo train EVENTS --labels LABELS --out RUN`: the density models of a data set."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import torch
import torch.distributed as dist
import typer
from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

from eventcargo.cli.data import EVENT, EVENTS, LABEL, LABELS, SEQUENCE_ID, TIME, VALUES
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.quality import print_quality
from eventcargo.cli.source import DataSource, remember
from eventcargo.models.training.interrupt import Interrupted
from eventcargo.models.training.trainer import Progress, TrainConfig, Training
from eventcargo.models.transformer.model import PRESETS, preset

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
@with_options(TrainConfig)
def train(
    events: EVENTS,
    out: Annotated[Path, typer.Option(help="Folder of the run: its checkpoint, and the model in model/.")],
    labels: LABELS = None,
    size: Annotated[
        str, typer.Option("--preset", help=f"Size of the model: {', '.join(PRESETS)}.")
    ] = "small",
    max_length: Annotated[
        int, typer.Option(help="Positions of the longest sequence; longer ones are cut.")
    ] = 512,
    linear: Annotated[
        bool | None,
        typer.Option(help="Fit an explicit linear term first; by default all presets but paper do."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    sequence_id: SEQUENCE_ID = "sequence_id",
    time: TIME = "time",
    event: EVENT = "event",
    label: LABEL = "label",
    values: VALUES = None,
    as_json: AS_JSON = False,
    config: TrainConfig = TrainConfig(),  # noqa: B008 (frozen)
) -> None:
    """Train the models of the next event and of the labels."""
    shape = preset(size, max_length=max_length, **({} if linear is None else {"linear": linear}))
    source = DataSource(events, labels, sequence_id, time, event, label, tuple(values or ()))
    data = source.read()
    try:
        with _processes(config.device), _bar() as update:
            training = Training(data, config, shape, run=out, resume=resume, progress=update)
            if training.is_main:
                remember(out, source)
            training.run()
    except Interrupted as stop:
        typer.echo(f"{stop}, with --resume", err=True)
        raise typer.Exit(128 + stop.number) from None
    if training.is_main:
        _print_result(training, out, as_json)


def _print_result(training: Training, out: Path, as_json: bool) -> None:
    state, quality = training.state, training.quality
    if as_json:
        done = {"model": str(out / "model"), "step": state.step, "seconds": round(state.elapsed, 1)}
        print_json({**done, "history": state.history, "quality": asdict(quality) if quality else None})
        return
    names = ["step", "held-out loss", "of events", "of labels before the end", "at the end", "label F1"]
    rows = [[int(held["step"]), *list(held.values())[1:]] for held in state.history]
    print_table(f"{state.step:,} steps in {state.elapsed:,.0f} s", names, rows)
    if quality is not None:
        print_quality(quality)
    print_lines([f"The best model is in {out / 'model'}."])


@contextmanager
def _processes(device: str) -> Iterator[None]:
    """Join the processes torchrun started, if it did; it tells each of them by its environment."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error with what a person wants to know of a run."""
    bar = Bar(
        TextColumn("{task.fields[stage]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    with bar:
        tasks: dict[str, TaskID] = {}

        def update(now: Progress) -> None:
            if now.stage not in tasks:
                tasks[now.stage] = bar.add_task("", total=1.0, stage=now.stage)
            bar.update(tasks[now.stage], completed=now.used, description=now.words)

        yield update
