"""`eventcargo train EVENTS --labels LABELS --out RUN`: train the density models."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo.models.training
from eventcargo.cli.data import EVENTS, LABELS
from eventcargo.cli.elsewhere import FROM, check_elsewhere, read_elsewhere
from eventcargo.cli.options import completing, with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.quality import print_quality
from eventcargo.cli.run_data import hold
from eventcargo.cohort.config import Cohort
from eventcargo.discovery.data_source import Columns, DataSource, remember
from eventcargo.engines.config import EngineConfig, make_engine
from eventcargo.errors import counted
from eventcargo.io.config import ReadConfig
from eventcargo.models.huggingface.config import BackboneConfig
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.interrupt import Interrupted
from eventcargo.models.transformer.config import SIZES, transformer_size
from eventcargo.progress import progress_bars

if TYPE_CHECKING:
    from eventcargo.models.training import Training

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
@with_options(TrainConfig, BackboneConfig, EngineConfig, Columns, Cohort, ReadConfig)
def train(
    events: EVENTS,
    out: Annotated[Path, typer.Option(help="Folder of the run: the checkpoint, and the model in model/.")],
    labels: LABELS = None,
    size: Annotated[
        str,
        typer.Option(help=f"Size of the model: {', '.join(SIZES)}.", autocompletion=completing(list(SIZES))),
    ] = "small",
    max_length: Annotated[
        int, typer.Option(help="Longest sequence, in positions; a longer one loses its first events.")
    ] = 512,
    linear: Annotated[
        bool | None,
        typer.Option(help="Fit a linear term first; default for all sizes except paper."),
    ] = None,
    focused: Annotated[
        bool, typer.Option(help="Give labels that need it a small network on a few event types.")
    ] = True,
    from_: FROM = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in `--out`.")] = False,
    as_json: AS_JSON = False,
    config: TrainConfig = TrainConfig(),  # noqa: B008 (frozen)
    elsewhere: BackboneConfig = BackboneConfig(),  # noqa: B008 (frozen)
    where: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    cohort: Cohort = Cohort(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Train the models of the next event and of the labels."""
    changes = {"focused": focused, **({} if linear is None else {"linear": linear})}
    shape = transformer_size(size, max_length=max_length, **changes)
    source = DataSource.of(events, labels, columns, cohort, reading)
    check_elsewhere(from_, elsewhere, size)
    loaded = source.build()
    if int(os.environ.get("RANK", "0")) == 0:
        hold(out, shared=bool(where.shards))
    try:
        with (
            _processes(config.device),
            progress_bars() as update,
            make_engine(where, out / "work") as engine,
        ):
            training = eventcargo.models.training.Training(
                loaded.data,
                config,
                shape,
                run=out,
                resume=resume or bool(where.shards),
                progress=update,
                engine=engine,
                backbone=read_elsewhere(from_, loaded.data, elsewhere),
            )
            engine.discard()
            if training.is_main:
                remember(out, source, loaded)
            training.run()
    except Interrupted as stop:
        typer.echo(f"{stop} (--resume)", err=True)
        raise typer.Exit(128 + stop.number) from None
    if training.is_main:
        _print_result(training, out, as_json)


def _print_result(training: "Training", out: Path, as_json: bool) -> None:
    state, quality = training.state, training.quality
    if as_json:
        done = {"model": str(out / "model"), "step": state.step, "seconds": round(state.elapsed, 1)}
        print_json({**done, "history": state.history, "quality": asdict(quality) if quality else None})
        return
    names = ["step", "held-out loss", "events", "labels before the end", "labels at the end", "label F1"]
    rows = [[int(held["step"]), *list(held.values())[1:]] for held in state.history]
    print_table(f"{counted(state.step, 'step')} in {state.elapsed:,.0f} s", names, rows)
    if quality is not None:
        print_quality(quality)
    print_lines([f"The best model is in {out / 'model'}."])


@contextmanager
def _processes(device: str) -> Iterator[None]:
    """Join the process group, if the environment shows that torchrun started this process."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    try:
        yield
    finally:
        dist.destroy_process_group()
