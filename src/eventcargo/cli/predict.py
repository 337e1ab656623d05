"""`eventcargo predict RUN EVENTS`: how probable the labels of new sequences are, by the model of a run."""

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo.prediction
from eventcargo.cli.data import EVENTS
from eventcargo.cli.new_data import NewColumns, model_of, read_new
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.errors import counted
from eventcargo.io.config import ReadConfig
from eventcargo.prediction.table_paths import check_table_path
from eventcargo.progress import progress_bars

if TYPE_CHECKING:
    import polars as pl

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

SHOWN = 20
"""Labels and sequences that are printed; the file has all."""


@app.command()
@with_options(NewColumns, ReadConfig)
def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a run with model/.")],
    events: EVENTS,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a row per sequence and a column per label: Parquet, CSV, JSONL."),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    as_json: AS_JSON = False,
    columns: NewColumns = NewColumns(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Tell how probable each label of new sequences is; the table is read and cut as the run's own data."""
    if out is not None:
        check_table_path(out)
    model = model_of(run, device)
    data = read_new(run, events, columns, reading, model)
    began = clock.perf_counter()
    with progress_bars() as progress:
        table = eventcargo.prediction.predict(model, data, progress=progress)
    seconds = clock.perf_counter() - began
    if out is not None:
        list(eventcargo.prediction.write_tables(out, iter([table])))
    if as_json:
        unknown = eventcargo.prediction.unknown_events(model, data)
        print_json({"probabilities": table.to_dicts(), "unknown_events": unknown.to_dicts()})
        return
    _print(table, model.label_names)
    where = "" if out is None else f" Written to {out}."
    pace = len(table) / max(seconds, 1e-9)
    print_lines([f"{counted(len(table), 'sequence')} in {seconds:,.1f} s, {pace:,.0f} a second.{where}"])


def _print(table: "pl.DataFrame", labels: tuple[str, ...]) -> None:
    """The labels that most sequences are expected to have, and where each is most probable."""
    expected = {name: float(table[name].sum()) for name in labels}
    most = sorted(labels, key=lambda name: -expected[name])[:SHOWN]
    rows = []
    for name in most:
        top = (
            table.select("sequence_id", name).sort(name, descending=True).row(0) if len(table) else ("", 0.0)
        )
        rows.append([name, f"{expected[name]:,.1f}", int((table[name] >= 0.5).sum()), *top])
    columns = ["label", "expected", "probably (0.5 or more)", "most probable in", "there"]
    print_table(f"Labels of {counted(len(table), 'sequence')}", columns, rows)
    if len(labels) > SHOWN:
        print_lines([f"... and {len(labels) - SHOWN:,} more labels."])
