"""Surfaces of what is asked: options in files, requests over HTTP, new tables, tables of a cohort."""

import datetime
import json
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl
import typer
import yaml

from eventcargo import EventDataset, write_events
from eventcargo.cli import app, as_option
from eventcargo.cli.new_data import NewColumns, model_of, read_new
from eventcargo.cli.shared_options import with_shared_options
from eventcargo.cohort.config import Cohort
from eventcargo.errors import ConfigError, arguments_shown_by
from eventcargo.io import ReadConfig
from eventcargo.prediction import explain_all, predict
from eventcargo.service import ServedRun
from eventcargo.service.problems import Problem
from eventcargo.service.sequences import Sent
from eventcargo.service.strict_json import parse_strictly
from eventcargo.simulation import simulate

from tests.reliability.damage import BYTES, TEXT, Rng, damage_file, damage_json
from tests.reliability.plain_reader import Content, content_of, read_plainly
from tests.reliability.surface import Reading, Surface, Ways, in_files

COHORT = Cohort(label_time="when", lookback="90d", controls=1, adjust=("sex",), numeric_value="number")
OPTIONS = {
    "labels": "labels.csv",
    "sequence-id": "007",
    "values": ["mileage", "heat"],
    "discover": {"preset": "fast", "steps": 2, "max-time": "2h", "out": "run", "seed": 7},
    "predict": {"out": "p.csv"},
}
TREES: Ways = (*TEXT, *[damage_json] * 6)


def prepare_asked(home: Path) -> None:
    """Write files of options, a request, new tables for the run, and the tables of a cohort."""
    asked = home / "asked"
    asked.mkdir()
    (asked / "options.json").write_text(json.dumps(OPTIONS))
    (asked / "options.yaml").write_text(yaml.safe_dump(OPTIONS))
    (asked / "options.toml").write_text(_as_toml(OPTIONS))
    new = simulate("chain", sequences=6, labels=2, seed=4).data
    (asked / "request.json").write_text(json.dumps(_as_request(new)))
    for kind in ("csv", "jsonl", "parquet"):
        write_events(new, home / f"new-{kind}", kind)
        for path in (home / f"new-{kind}").glob("labels.*"):
            path.unlink()
    _write_clinic(home / "clinic")


def _as_toml(options: dict[str, Any]) -> str:
    """Options as TOML: a JSON value is one of TOML, too, if it is no object."""
    plain = [f"{key} = {json.dumps(value)}" for key, value in options.items() if not isinstance(value, dict)]
    sections = [
        line
        for key, own in options.items()
        if isinstance(own, dict)
        for line in (f"[{key}]", *(f"{name} = {json.dumps(value)}" for name, value in own.items()))
    ]
    return "\n".join([*plain, *sections]) + "\n"


def _as_request(data: EventDataset) -> list[dict[str, Any]]:
    return [
        {"id": one.id, "events": [{"name": n, "time": t} for n, t in zip(one.events, one.times, strict=True)]}
        for one in data
    ]


def _write_clinic(folder: Path) -> None:
    """Events with numbers, dated outcomes, attributes and families of twelve subjects."""
    folder.mkdir()
    rng, names = np.random.default_rng(8), ["I50.1", "I50.9", "E11", "creatinine"]
    days = pl.Series(rng.integers(0, 200, 120)).cast(pl.Duration("ms")) * 86_400_000
    start = pl.Series([datetime.datetime(2024, 1, 1)] * 120)
    events = pl.DataFrame(
        {
            "sequence_id": [f"p{i % 12}" for i in range(120)],
            "time": (start + days).dt.to_string("%Y-%m-%d"),
            "event": [names[int(k)] for k in rng.integers(4, size=120)],
            "number": rng.integers(1, 9, size=120) / 2,
        }
    )
    events.write_csv(folder / "events.csv")
    when = {"sequence_id": [f"p{i}" for i in range(6)], "label": ["brake", "fuel"] * 3}
    pl.DataFrame({**when, "when": ["2024-06-30"] * 6}).write_csv(folder / "outcomes.csv")
    people = {"sequence_id": [f"p{i}" for i in range(12)], "sex": ["F", "M"] * 6, "age": range(12)}
    pl.DataFrame(people).write_csv(folder / "static.csv")
    above = {"code": ["I50.1", "I50.9", "I50"], "parent": ["I50", "I50", "heart"]}
    pl.DataFrame(above).write_csv(folder / "parents.csv")


def _cohort(folder: Path) -> Content:
    """The sequences that are cut out of the tables of a cohort."""
    static, parents = folder / "static.csv", folder / "parents.csv"
    return content_of(
        COHORT.build(folder / "events.csv", folder / "outcomes.csv", static=static, parents=parents)
    )


def _options(path: Path) -> Any:
    """The options of a command with a file of them, as the command line takes them."""
    program = click.Context(typer.main.get_command(app), info_name="eventcargo")
    command = with_shared_options(typer.main.get_command(import_module("eventcargo.cli.discover").app))
    arguments = ["events.csv", "--config", str(path)]
    try:
        with (
            arguments_shown_by(as_option),  # and no longer, also where making the context fails
            command.make_context("discover", arguments, parent=program) as context,
        ):
            return sorted(context.params.items())
    except Exception as error:
        if not hasattr(error, "exit_code"):
            raise
        raise ConfigError(str(error)) from None  # which the program shows before it ends


def _beside_run(
    name: str, template: str, pattern: str, ways: Ways, read: Callable[[Path, Path], Any], plain: bool = False
) -> Surface:
    """A surface of what is given to a run, which is not damaged itself."""

    def attempt(home: Path, scratch: Path, rng: Rng) -> Reading:
        shutil.copytree(home / template, scratch)
        files = sorted(scratch.glob(pattern))
        path = files[int(rng.integers(len(files)))]
        how = damage_file(path, rng, ways)
        told = (lambda: _plain_request(path)) if plain else None
        return Reading(f"{path.name}: {how}", lambda: read(home / "updated" / "run", path), told)

    def sound(home: Path) -> Any:
        return read(home / "updated" / "run", sorted((home / template).glob(pattern))[0])

    return Surface(name, attempt, sound)


@cache
def _served(run: Path) -> ServedRun:
    return ServedRun.load(run)


def _sent(run: Path, path: Path) -> Content:
    """What the service reads of a request, after it has answered it."""
    served = _served(run)
    try:
        sent = Sent.parse(parse_strictly(path.read_bytes()), served.fields(100, 1_000))
        served.explain(sent)
        return content_of(served.read(sent))
    except Problem as error:
        raise ConfigError(str(error)) from None
    except OSError as error:  # a file that is gone is no request
        raise ConfigError(f"nothing was sent: {error}") from None


def _plain_request(path: Path) -> Content:
    """What a request says."""
    content = json.loads(path.read_bytes())
    rows = [
        {"sequence_id": one["id"], "event": event["name"], "time": event.get("time")}
        for one in (content if isinstance(content, list) else [content])
        for event in one["events"]
    ]
    if all(row["time"] is None for row in rows):
        rows = [{**row, "time": float(at)} for at, row in enumerate(rows)]
    return read_plainly(rows, [])


def _predicted(run: Path, path: Path) -> Any:
    """What a run says of the sequences of a new table."""
    model = model_of(run, "cpu")
    data = read_new(run, str(path), NewColumns(), ReadConfig(), model)
    causes = pl.concat(list(explain_all(model, data, None)))
    return predict(model, data).rows(), causes.rows()


def asked_surfaces() -> Iterable[Surface]:
    """All of them."""
    for ending in ("json", "yaml", "toml"):
        name, ways = f"options.{ending}", TREES if ending == "json" else TEXT
        yield in_files(
            f"options {ending}", "asked", name, ways, lambda folder, name=name: _options(folder / name)
        )
    yield _beside_run("request", "asked", "request.json", TREES, _sent, plain=True)
    for kind in ("csv", "jsonl", "parquet"):
        ways = BYTES if kind == "parquet" else TEXT
        yield _beside_run(f"new table {kind}", f"new-{kind}", "events.*", ways, _predicted)
    yield in_files("cohort tables", "clinic", "*", TEXT, _cohort)
