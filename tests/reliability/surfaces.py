"""Surfaces: everything the package reads from outside, with sound content, damage and a reading of each."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import eventcargo
from eventcargo import EventDataset, Knowledge, Vocabulary, read_events, read_graph, read_meds, write_events
from eventcargo.cohort.config import Cohort, read_cohort, write_cohort
from eventcargo.discovery import DiscoverConfig
from eventcargo.discovery.data_source import source_of
from eventcargo.discovery.results import read_results
from eventcargo.discovery.run_folder import RunManifest
from eventcargo.edges import EdgeTable
from eventcargo.files import write_document
from eventcargo.fusion import FuseConfig
from eventcargo.fusion.vote_store import read_votes
from eventcargo.io import ReadConfig, read_meds_splits
from eventcargo.models import Counts
from eventcargo.models.loading import load_model
from eventcargo.quality import Quality
from eventcargo.rules import read_rules
from eventcargo.simulation import simulate
from eventcargo.verdicts import read_verdicts

from tests.reliability.asked_surfaces import asked_surfaces, prepare_asked
from tests.reliability.damage import (
    BYTES,
    ODD_VALUES,
    TEXT,
    Rng,
    change_tree,
    damage_json,
)
from tests.reliability.elsewhere_surfaces import elsewhere_surfaces
from tests.reliability.odd_columns import odd_arrow, odd_pandas, odd_polars
from tests.reliability.plain_reader import Content, content_of, read_plainly, rows_of
from tests.reliability.run_surfaces import prepare_runs, run_surfaces
from tests.reliability.surface import FORGED, JSON, Reading, Surface, Ways, in_files


def prepare(home: Path) -> None:
    """Write the sound content of all surfaces below a folder."""
    from tests.reliability.elsewhere_models import prepare_elsewhere  # loads transformers, for seconds

    data, timed = small_data(), small_data(dates=True)
    for kind in ("csv", "jsonl", "parquet"):
        write_events(data, home / kind, kind)
        write_events(timed, home / f"dates-{kind}", kind)
    _text_variants(home)
    simulated = simulate("chain", sequences=300, labels=2, seed=3).data
    simulated.save(home / "saved")
    with_values().save(home / "saved-values")
    eventcargo.discover(simulated, home / "run", DiscoverConfig(preset="fast", steps=2))
    write_events(data, home / "run-data", "csv")
    write_document(home / "run" / "data.json", "eventcargo-data", 1, {"events": str(home / "run-data")})
    write_cohort(home / "run" / "cohort.json", Cohort(lookback="30d"), {"line": "cut"})
    Counts.fit(simulated).save_pretrained(home / "counts")
    _write_knowledge(home / "knowledge")
    _write_meds(home / "meds")
    prepare_elsewhere(home)
    prepare_runs(home)
    prepare_asked(home)
    (home / "graphs").mkdir()
    for ending in ("csv", "json", "parquet"):
        eventcargo.write_graph(
            read_graph(home / "run" / "graph.parquet"), home / "graphs" / f"graph.{ending}"
        )


def small_data(dates: bool = False) -> EventDataset:
    """Twelve sequences with names that need quotes, letters beyond ASCII and equal times."""
    rng = np.random.default_rng(5)
    names = ["P01", "U02", "brake, front", 'disk 5"', "Überdruck", "x;y", "7"]
    start = 1.7e9 if dates else 0.0
    return EventDataset.from_sequences(
        [
            eventcargo.EventSequence(
                f"car{i:02}",
                tuple(names[int(k)] for k in rng.integers(len(names), size=4)),
                tuple((start + np.sort(rng.integers(0, 10_000, size=4))).tolist()),
                ("brake",) if i % 3 == 0 else (("fuel", "oil") if i % 3 == 1 else ()),
            )
            for i in range(12)
        ],
        "datetime" if dates else "number",
    )


def with_values() -> EventDataset:
    """The same with values and groups."""
    rows = [
        eventcargo.EventSequence(one.id, one.events, one.times, one.labels, tuple((t, -t) for t in one.times))
        for one in small_data()
    ]
    return EventDataset.from_sequences(rows, value_names=("mileage", "heat")).in_groups(list(range(12)))


def _text_variants(home: Path) -> None:
    """Tabs, semicolons, gzip and wide labels."""
    for name in ("tsv", "semicolon", "csv.gz", "jsonl.gz", "wide"):
        (home / name).mkdir()
    for table in ("events", "labels"):
        frame = pl.read_csv(home / "csv" / f"{table}.csv", infer_schema=False)
        frame.write_csv(home / "tsv" / f"{table}.tsv", separator="\t")
        frame.write_csv(home / "semicolon" / f"{table}.csv", separator=";")
        for kind in ("csv", "jsonl"):
            packed = home / f"{kind}.gz" / f"{table}.{kind}.gz"
            packed.write_bytes(_gzipped((home / kind / f"{table}.{kind}").read_bytes()))
    shutil.copy(home / "csv" / "events.csv", home / "wide" / "events.csv")
    marks = pl.read_csv(home / "csv" / "labels.csv").with_columns(flag=pl.lit(1))
    wide = marks.pivot(on="label", index="sequence_id", values="flag").fill_null(0)
    wide.write_csv(home / "wide" / "labels.csv")


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


KNOWLEDGE = {
    "required": {"brake": ["P01"]},
    "forbidden": {"*": ["U*", "re:x.?y"]},
    "allowed": {"fuel": ["P01", "7"]},
    "tiers": [{"events": ["P*"]}, {"labels": ["brake"], "events": ["U02"]}],
}

BOMBS = {
    "backtracking.json": json.dumps({"forbidden": {"*": ["re:(a+)+$", "re:(x+x+)+y", "re:(.*)*b"]}}),
    "aliases.yaml": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20))
    + "required: {brake: *u}\n",
    "merges.yaml": "a: &a {x: y}\n"
    + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} {{<<: [{','.join(['*' + chr(97 + i)] * 9)}]}}\n" for i in range(20)
    ),
    "itself.yaml": "required: &a {brake: *a}\n",
    "dates.yaml": "required: {2024-01-01: [P01]}\nforbidden: {brake: [2024-99-99]}\n",
    "keys.yaml": "? [a, b]\n: c\nrequired: {? {a: b} : P01}\n",
    "tags.yaml": "required: {brake: !!bool maybe}\ntiers: !!timestamp never\nallowed: !!map x\n",
    "deep.yaml": "[" * 20_000,
    "deep.json": '{"required":' * 50_000,
    "digits.json": f'{{"required": {{"brake": {"7" * 5_000}}}}}',
    "digits.yaml": f"required: {{brake: {'7' * 5_000}}}",
    "surrogate.json": '{"required": {"brake": ["\\ud800", "re:\\ud800"]}}',
    "repeat.json": json.dumps({"forbidden": {"*": ["re:((a{900}){900}){900}", "*" * 3_000 + "x"]}}),
}
"""Knowledge made to take all time or memory."""


def _write_knowledge(folder: Path) -> None:
    folder.mkdir()
    (folder / "known.json").write_text(json.dumps(KNOWLEDGE))
    text = (
        "required:\n  brake: [P01]\nforbidden:\n  '*': &u ['U*', 're:x.?y']\nallowed:\n  fuel: [P01, '7']\n"
    )
    (folder / "known.yaml").write_text(
        text + "tiers:\n- events: ['P*']\n- {labels: [brake], events: [U02]}\n"
    )
    for name, content in BOMBS.items():
        (folder / name).write_text(content)


def _write_meds(root: Path) -> None:
    (root / "data").mkdir(parents=True)
    (root / "metadata").mkdir()
    (root / "labels").mkdir()
    rng = np.random.default_rng(2)
    subjects = np.repeat(np.arange(10), 5)
    times = pa.array((1.7e15 + rng.integers(0, 10**12, 50)).astype(np.int64)).cast(pa.timestamp("us"))
    codes = pa.array([f"CODE//{k}" for k in rng.integers(6, size=50)])
    numbers = pa.array(rng.random(50).astype(np.float32))
    rows = pa.table({"subject_id": subjects, "time": times, "code": codes, "numeric_value": numbers})
    pa.parquet.write_table(rows, root / "data" / "0.parquet")
    task = {
        "subject_id": np.arange(10),
        "prediction_time": pa.array([1_702_000_000_000_000] * 10).cast(pa.timestamp("us")),
        "boolean_value": np.arange(10) % 2 == 0,
    }
    pa.parquet.write_table(pa.table(task), root / "labels" / "task.parquet")
    splits = pa.table({"subject_id": np.arange(10), "split": ["train"] * 7 + ["held_out"] * 3})
    pa.parquet.write_table(splits, root / "metadata" / "subject_splits.parquet")


def _read_tables(folder: Path) -> Content:
    return content_of(read_events(folder))


def _read_plainly(folder: Path) -> Content:
    """What the two tables of a folder say."""
    tables = {path.name.split(".")[0]: path for path in sorted(folder.iterdir())}
    return read_plainly(rows_of(tables["events"]), rows_of(tables["labels"]) if "labels" in tables else [])


def _read_dropping(folder: Path) -> Content:
    return content_of(read_events(folder, reading=ReadConfig(on_bad_row="drop"), unknown_labels="drop"))


TABLES = ("csv", "jsonl", "parquet", "dates-csv", "dates-jsonl", "dates-parquet", "tsv", "semicolon")
TABLES_AND_MORE = (*TABLES, "csv.gz", "jsonl.gz", "wide")


def _table_surfaces() -> Iterable[Surface]:
    for template in TABLES_AND_MORE:
        is_text = "parquet" not in template and "gz" not in template
        ways: Ways = TEXT if is_text else BYTES
        yield in_files(f"table {template}", template, "*", ways, _read_tables, _read_plainly)
        yield in_files(f"table {template}, dropping", template, "*", ways, _read_dropping)


def _in_memory(
    name: str,
    make: Callable[[Path, str], Any],
    odd: Callable[[Any, Rng], tuple[Any, str]],
    plain: bool = True,
) -> Surface:
    """A surface of frames: a column of events or labels is odd."""

    def attempt(home: Path, scratch: Path, rng: Rng) -> Reading:
        template = ["csv", "wide"][int(rng.integers(2))]
        tables = {table: make(home / template, table) for table in ("events", "labels")}
        which = ["events", "labels"][int(rng.integers(2))]
        tables[which], how = odd(tables[which], rng)
        values = ["mileage"] if which == "events" and rng.random() < 0.3 else []

        def read() -> Content:
            return content_of(read_events(tables["events"], tables["labels"], values=values))

        def read_rows() -> Content:
            return read_plainly(_rows(tables["events"]), _rows(tables["labels"]))

        return Reading(f"{which}: {how}", read, read_rows if plain else None)

    def sound(home: Path) -> Content:
        return content_of(read_events(make(home / "csv", "events"), make(home / "csv", "labels")))

    return Surface(name, attempt, sound)


def _rows(table: Any) -> list[dict[str, Any]]:
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    return list(table.to_dicts() if isinstance(table, pl.DataFrame) else table.to_pylist())


def _polars(folder: Path, table: str) -> pl.DataFrame:
    frame = pl.read_csv(folder / f"{table}.csv", schema_overrides={"event": pl.String})
    return frame.with_columns(mileage=pl.lit(1.5)) if table == "events" else frame


def _pandas(folder: Path, table: str) -> pd.DataFrame:
    return pd.DataFrame(_polars(folder, table).to_dict(as_series=False))


def _config(home: Path, scratch: Path, rng: Rng) -> Reading:
    """A setting of the wrong kind."""

    kinds: list[Any] = [ReadConfig, Cohort, DiscoverConfig, FuseConfig]
    kind = kinds[int(rng.integers(len(kinds)))]
    names = [one.name for one in fields(kind)]
    name, value = names[int(rng.integers(len(names)))], ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
    return Reading(f"{kind.__name__}.{name}", lambda: kind(**{name: value}) and None)


def _pairs(home: Path, scratch: Path, rng: Rng) -> Reading:
    """A list of pairs with an odd value in it."""

    pairs = change_tree([[[[0.0, "a"], [1.0, "b"]], ["x"]], [[[2.0, "b"]], []]], rng)
    return Reading("pairs", lambda: content_of(read_events(pairs)))


def _knowledge(path: Path) -> Any:
    known = Knowledge.read(path)
    names = sorted(small_data().event_names)
    resolved = known.resolve(["brake", "fuel", "oil"], [*names, "a" * 40 + "!", "x" * 40])
    return resolved.allowed.tolist(), sorted(resolved.required)


def _bomb(home: Path, scratch: Path, rng: Rng) -> Reading:
    name = list(BOMBS)[int(rng.integers(len(BOMBS)))]
    return Reading(name, lambda: _knowledge(home / "knowledge" / name))


def _gzip_bomb(home: Path, scratch: Path, rng: Rng) -> Reading:
    """A few kilobytes that unpack to gigabytes."""
    scratch.mkdir()
    ending = ["csv", "jsonl", "tsv"][int(rng.integers(3))]
    block = [b"\x00", b"\n", b"a,b,c\n", b'"', b" "][int(rng.integers(5))]
    path = scratch / f"events.{ending}.gz"
    path.write_bytes(_gzipped(b"sequence_id,event,time\n") + _gzipped(block * (2**24 // len(block))) * 2**8)
    return Reading(f"{ending}, {block!r}", lambda: content_of(read_events(path)))


def _shape(home: Path, scratch: Path, rng: Rng) -> Reading:
    """Tables of odd shapes: very wide, very long lines, very many keys or distinct bad values."""
    scratch.mkdir()
    shapes = list(SHAPES)
    name = shapes[int(rng.integers(len(shapes)))]
    path = scratch / f"events.{name.split()[0]}"
    path.write_text(SHAPES[name](), "utf-8")
    return Reading(name, lambda: content_of(read_events(path)) and None)


def _nothing(home: Path) -> None:
    return None


def _rows_of_keys(n: int) -> str:
    return "".join(json.dumps({"sequence_id": "a", "event": "b", f"k{i}": 1}) + "\n" for i in range(n))


def _late_misfit(n: int) -> str:
    rows = [{"sequence_id": "a", "event": "b", "time": None} for _ in range(n)]
    return "".join(json.dumps(row) + "\n" for row in [*rows, {"sequence_id": "a", "event": "b", "time": [1]}])


SHAPES: dict[str, Callable[[], str]] = {
    "csv wide": lambda: ",".join(f"c{i}" for i in range(60_000)) + "\n" + ",".join("1" * 60_000) + "\n",
    "csv same columns": lambda: ",".join(["event"] * 60_000) + "\n" + ",".join("1" * 60_000) + "\n",
    "csv long field": lambda: "sequence_id,event,time\na," + "x" * 40_000_000 + ",1\n",
    "csv open quote": lambda: 'sequence_id,event,time\na,"b,1\n' + "a,b,1\n" * 300_000,
    "csv many broken rows": lambda: "sequence_id,event,time\n" + "a,b\n" * 200_000,
    "csv bad moments": lambda: (
        "sequence_id,event,time\n"
        + "".join(
            f"a,b,2023-02-30T{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}.{i}\n" for i in range(200_000)
        )
    ),
    "csv odd moments": lambda: (
        "sequence_id,event,time\na,b,2023-02-01\n"
        + "".join(f"a,b,2023-02-01T{i}:{i}.{i}\n" for i in range(200_000))
    ),
    "csv blank lines": lambda: "sequence_id,event,time\n" + "\n" * 3_000_000,
    "csv no line ends": lambda: "a," * 10_000_000,
    "jsonl many keys": lambda: _rows_of_keys(40_000),
    "jsonl late misfit": lambda: _late_misfit(49_000),
    "jsonl mixed kinds": lambda: "".join(
        json.dumps({"sequence_id": i if i % 2 else [i], "event": "b", "time": i}) + "\n"
        for i in range(49_000)
    ),
    "jsonl one line": lambda: json.dumps({"sequence_id": "a", "event": "b" * 30_000_000, "time": 1}),
    "jsonl nested": lambda: '{"sequence_id": "a", "event": ' + "[" * 100_000 + "]" * 100_000 + "}\n",
    "jsonl distinct": lambda: "".join(
        json.dumps({"sequence_id": f"s{i}", "event": f"e{i}", "time": i}) + "\n" for i in range(100_000)
    ),
}


def _read_run(folder: Path) -> Any:
    """All results of a run, as the report and Python read them."""
    results = read_results(folder, None)
    manifest = RunManifest.read(folder)
    return (
        results.graph.boundaries,
        results.baseline.boundaries,
        {label: None if rule is None else rule.text for label, rule in results.rules.items()},
        results.verdicts,
        None if results.quality is None else results.quality.labels,
        manifest.settings,
        manifest.done,
    )


def _model(folder: Path) -> Any:
    return load_model(folder).fingerprint


def _edges(folder: Path) -> Any:
    table = EdgeTable.read(folder)
    return [getattr(table, name).hash_rows().sum() for name in ("edges", "support", "exposed", "pooled")]


def _votes(folder: Path) -> Any:
    store = read_votes(folder)
    return [votes.table.hash_rows().sum() for votes in store.votes.values()], store.plan, len(store.pooled)


def _saved(folder: Path) -> Any:
    return EventDataset.load(folder).fingerprint


def _own_surfaces() -> Iterable[Surface]:
    """What the package writes itself."""
    for name in ("saved", "saved-values"):
        yield in_files(f"{name} columns", name, "*.[na]*", BYTES, _saved, sealed=True)
        yield in_files(f"{name} header", name, "dataset.json", JSON, _saved, sealed=True)
        yield in_files(f"{name} forged header", name, "dataset.json", FORGED, _saved)
    yield in_files("edges", "run/edges", "*/*", BYTES, _edges, sealed=True)
    yield in_files("edges plan", "run/edges", "plan.json", JSON, _edges, sealed=True)
    yield in_files("edges forged plan", "run/edges", "plan.json", FORGED, _edges)
    yield in_files("votes", "run/votes", "*.parquet", BYTES, _votes, sealed=True)
    yield in_files("votes plan", "run/votes", "plan.json", JSON, _votes, sealed=True)
    yield in_files("votes forged plan", "run/votes", "plan.json", FORGED, _votes)
    for name in ("run/model", "counts"):
        yield in_files(f"model {name}", name, "[cvm]*", BYTES, _model, sealed=True)
        yield in_files(f"model {name} forged", name, "[cv]*.json", FORGED, _model)
    documents: dict[str, Callable[[Path], Any]] = {
        "model/quality.json": lambda folder: Quality.read(folder / "model/quality.json"),
        "rules.json": lambda folder: read_rules(folder / "rules.json"),
        "verdicts.json": lambda folder: read_verdicts(folder / "verdicts.json"),
        "run.json": lambda folder: (RunManifest.read(folder).settings, RunManifest.read(folder).done),
        "model/vocabulary.json": lambda folder: Vocabulary.from_json(folder / "model/vocabulary.json"),
        "data.json": source_of,
        "cohort.json": lambda folder: read_cohort(folder / "cohort.json"),
    }
    for path, read in documents.items():
        yield in_files(path, "run", path, JSON, read, sealed=True)
        yield in_files(f"{path} forged", "run", path, FORGED, read)
    yield in_files("results of a run", "run", "*.[jp]*", BYTES, _read_run, sealed=True, optional=True)
    yield in_files("results of a forged run", "run", "*.json", FORGED, _read_run)
    for ending in ("csv", "json", "parquet"):
        ways: Ways = TEXT if ending == "csv" else JSON if ending == "json" else BYTES
        name = f"graph.{ending}"
        yield in_files(name, "graphs", name, ways, lambda f, name=name: read_graph(f / name).boundaries)


def surfaces() -> list[Surface]:
    """All surfaces."""
    return [
        *_table_surfaces(),
        _in_memory("Arrow", lambda folder, table: _polars(folder, table).to_arrow(), odd_arrow),
        _in_memory("pandas", _pandas, odd_pandas, plain=False),
        _in_memory("polars", _polars, odd_polars),
        Surface("pairs", _pairs, _nothing),
        Surface("settings", _config, _nothing),
        Surface("knowledge bombs", _bomb, _nothing),
        Surface("gzip bombs", _gzip_bomb, _nothing),
        Surface("odd shapes", _shape, _nothing),
        in_files(
            "MEDS", "meds", "**/*.parquet", BYTES, lambda f: content_of(read_meds(f, labels=f / "labels"))
        ),
        in_files("MEDS splits", "meds", "metadata/*", BYTES, read_meds_splits),
        in_files(
            "knowledge JSON",
            "knowledge",
            "known.json",
            (*TEXT, damage_json),
            lambda f: _knowledge(f / "known.json"),
        ),
        in_files("knowledge YAML", "knowledge", "known.yaml", TEXT, lambda f: _knowledge(f / "known.yaml")),
        *_own_surfaces(),
        *elsewhere_surfaces(),
        *run_surfaces(),
        *asked_surfaces(),
    ]
