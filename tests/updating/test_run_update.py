"""A run takes in a second week: the same as one run over both weeks with the same model."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eventcargo import Cargo, ConfigError, DataError, EventDataset, EventSequence, Knowledge, update
from eventcargo.discovery.data_source import DataSource, added, recall, remember
from eventcargo.discovery.run_folder import RunManifest, write_verified
from eventcargo.drift import find_drift, read_drift
from eventcargo.fusion.fuse import fuse
from eventcargo.fusion.vote_store import VoteStore, write_votes
from eventcargo.io import read_graph, write_events
from eventcargo.models.loading import load_model
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.verification.verify import verify

from ..sealed import edit
from .conftest import Weeks


@pytest.fixture(scope="module")
def updated(weeks: Weeks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = copied(weeks, tmp_path_factory.mktemp("updated"))
    assert update(run, weeks.second, data=weeks.first, workers=1).is_new
    return run


def copied(weeks: Weeks, folder: Path) -> Path:
    return Path(shutil.copytree(weeks.run, folder / "run"))


def content(folder: Path) -> dict[str, bytes]:
    """All files of a run, but for the times that the page and run.json show."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    timed = ("report.html", "run.json", "artefacts.json")
    left = {name: path.read_bytes() for name, path in sorted(files.items()) if name not in timed}
    origins = json.loads((folder / "artefacts.json").read_text("utf-8"))["artefacts"]
    del origins["report.html"]
    return {**left, "origins": json.dumps(origins).encode()}


def test_votes_and_evidence_are_those_of_one_run_over_both_weeks(
    weeks: Weeks, updated: Path, tmp_path: Path
) -> None:
    model = load_model(updated / "model")
    known = Knowledge(forbidden={"L000": "E00001"})
    at_once = extract(
        model,
        weeks.both,
        tmp_path / "edges",
        ExtractConfig(workers=1),
        knowledge=known,
        like=updated / "edges",
    )
    write_votes(VoteStore.of_folder(at_once), tmp_path / "votes")
    files = sorted(path.name for path in (tmp_path / "votes").glob("*.parquet"))
    assert "pooled.parquet" in files
    assert files == sorted(path.name for path in (updated / "votes").glob("*.parquet"))
    for name in files:
        assert (tmp_path / "votes" / name).read_bytes() == (updated / "votes" / name).read_bytes(), name
    resolved = known.resolve(list(weeks.both.label_names), list(weeks.both.event_names))
    fused = fuse(VoteStore.of_folder(at_once), knowledge=resolved)
    assert fused.edges.equals(read_graph(updated / "fused.parquet").edges)
    graph = verify(fused, weeks.both, knowledge=resolved, untrusted=set(model.untrusted))
    assert graph.edges.equals(read_graph(updated / "graph.parquet").edges)
    assert "E00001" not in graph.boundary("L000")


def test_old_sequences_are_not_read_again_for_phase_1(weeks: Weeks, updated: Path) -> None:
    for shard in (weeks.run / "edges").glob("shard-*"):
        for path in shard.iterdir():
            assert path.read_bytes() == (updated / "edges" / shard.name / path.name).read_bytes()


def test_the_run_says_what_was_added(weeks: Weeks, updated: Path) -> None:
    (part,) = added(updated)
    assert (part.sequences, part.data) == (500, weeks.second.fingerprint)
    manifest = RunManifest.read(updated)
    assert manifest.settings["data"] == weeks.both.fingerprint
    assert manifest.updates[0]["sequences"] == 500
    drift = read_drift(updated)
    assert drift is not None
    assert drift.sentence == manifest.updates[0]["drift"]
    assert drift.sentence in (updated / "report.html").read_text("utf-8")
    assert not (updated / "work").exists()


def test_the_report_shows_above_all_else_whether_the_model_is_out_of_date(
    weeks: Weeks, updated: Path, chromium: Any
) -> None:
    drift = read_drift(updated)
    assert drift is not None
    chromium.goto((updated / "report.html").as_uri())
    note = chromium.locator(".hero .run-notes")
    assert (note.inner_text(), note.is_visible()) == (drift.sentence, True)
    chromium.goto((weeks.run / "report.html").as_uri())
    assert chromium.locator(".hero").count() == 1
    assert chromium.locator(".run-notes").count() == 0


def test_the_same_update_again_is_recognised_and_changes_nothing(weeks: Weeks, updated: Path) -> None:
    before = content(updated) | {"run.json": (updated / "run.json").read_bytes()}
    again = update(updated, weeks.second, data=weeks.first)
    assert not again.is_new
    assert again.added["sequences"] == 500
    assert content(updated) | {"run.json": (updated / "run.json").read_bytes()} == before


class Stopped(BaseException):
    """The process would be dead by now."""


@contextmanager
def stopped_before(target: Path) -> Iterator[None]:
    """Stop whatever gives a file or folder this name, before it does."""
    armed = [True]

    def watch(event: str, arguments: Any) -> None:
        if armed[0] and event == "os.rename" and os.fspath(arguments[1]) == str(target):
            raise Stopped

    sys.addaudithook(watch)
    try:
        with pytest.raises(Stopped):
            yield
    finally:
        armed[0] = False


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "added/0001",
        "edges/plan.json",
        "votes",
        "run.json",
        "data.json",
        "graph.parquet",
    ],
)
def test_an_update_that_was_killed_is_completed_to_the_same_bytes(
    weeks: Weeks, updated: Path, tmp_path: Path, name: str
) -> None:
    run = copied(weeks, tmp_path)
    with stopped_before(run / name):
        update(run, weeks.second, data=weeks.first, workers=1)
    assert update(run, weeks.second, data=weeks.first, workers=1).is_new
    assert content(run) == content(updated)


def test_another_update_waits_for_one_that_was_not_finished(weeks: Weeks, tmp_path: Path) -> None:
    run = copied(weeks, tmp_path)
    with stopped_before(run / "votes"):
        update(run, weeks.second, data=weeks.first, workers=1)
    with pytest.raises(ConfigError, match="edges of an update that was not finished; run that update again"):
        update(run, weeks.second[:100], data=weeks.first, workers=1)
    with pytest.raises(ConfigError, match="begun with data="):
        Cargo(preset="fast", steps=2, n_jobs=1).fit(weeks.second, run=run, resume=True)


def test_two_weeks_one_after_the_other_are_both_at_once(weeks: Weeks, updated: Path, tmp_path: Path) -> None:
    run = copied(weeks, tmp_path)
    cargo = Cargo.load(run)
    cargo.update(weeks.second[:300], data=weeks.first)
    cargo.update(weeks.second[300:])
    assert len(cargo.data_) == 1500
    assert [one["sequences"] for one in RunManifest.read(run).updates] == [300, 200]
    trained_on = find_drift(load_model(run / "model"), weeks.first, weeks.second[300:])
    assert read_drift(run) == trained_on  # not against what was added before
    assert cargo.graph_.edges.equals(read_graph(updated / "graph.parquet").edges)
    for path in (updated / "votes").glob("*.parquet"):
        assert (run / "votes" / path.name).read_bytes() == path.read_bytes()


def renamed(
    data: EventDataset, prefix: str, change: Callable[[EventSequence], EventSequence]
) -> EventDataset:
    sequences = [change(EventSequence(f"{prefix}{s.id}", s.events, s.times, s.labels)) for s in data]
    return EventDataset.from_sequences(sequences)


def test_labels_and_event_types_that_the_model_does_not_know_are_named_and_counted(
    weeks: Weeks, tmp_path: Path
) -> None:
    def strange(s: EventSequence) -> EventSequence:
        return EventSequence(s.id, (*s.events[:-1], "NEW"), s.times, (*s.labels, "odd"))

    run = copied(weeks, tmp_path)
    week = renamed(weeks.second[:40], "x", strange)
    labels = pytest.warns(match=r"does not know 1 label of the new sequences: odd \(40\)")
    with labels, pytest.warns(match=r"does not know 1 event type, .*: NEW \(40\)"):
        told = update(run, week, data=weeks.first, workers=1)
    assert told.added["unknown_labels"] == {"odd": 40}
    assert told.added["unknown_events"] == {"NEW": 40}
    assert told.results.graph.labels == ["L000", "L001", "L002"]
    assert "NEW" in told.data.event_names


def test_sequences_of_the_run_are_refused_with_their_number(weeks: Weeks, tmp_path: Path) -> None:
    run = copied(weeks, tmp_path)
    before = content(run)
    with pytest.raises(DataError, match="500 of 500 new sequences are in the data already"):
        update(run, weeks.first[:500], data=weeks.first)
    with pytest.raises(DataError, match="there are no new sequences"):
        update(run, weeks.second[:0], data=weeks.first)
    assert content(run) == before


def test_runs_that_cannot_be_updated_are_refused(weeks: Weeks, tmp_path: Path) -> None:
    run = copied(weeks, tmp_path)
    with pytest.raises(DataError, match="does not remember its data, which were given in Python; give them"):
        update(run, weeks.second)
    with pytest.raises(ConfigError, match="give an EventDataset, the path of a table"):
        update(run, [1])
    config = (run / "model" / "config.json").read_bytes()
    (run / "model" / "config.json").write_bytes(config + b" ")
    with pytest.raises(ConfigError, match="is not the model of this run: its files have changed"):
        update(run, weeks.second, data=weeks.first)
    (run / "model" / "config.json").write_bytes(config)
    (run / "edges" / "limits.json").rename(run / "limits.json")
    with pytest.raises(DataError, match="written by an earlier release; extract the edges again"):
        update(run, weeks.second, data=weeks.first)
    edit(run / "run.json", version=2)
    with pytest.raises(DataError, match="has version 2 of another release"):
        update(run, weeks.second, data=weeks.first)
    with pytest.raises(DataError, match="holds no run"):
        update(tmp_path / "nothing", weeks.second)


def test_a_run_that_was_fused_again_with_other_knowledge_is_refused(weeks: Weeks, tmp_path: Path) -> None:
    run = copied(weeks, tmp_path)
    graph, other = read_graph(run / "graph.parquet"), Knowledge(forbidden={"L001": "E00001"})
    write_verified(run, graph, weeks.first, knowledge=other)
    with pytest.raises(ConfigError, match="has another knowledge now than its edges were found with"):
        update(run, weeks.second, data=weeks.first, workers=1)


def test_sequences_of_known_subjects_count_from_where_the_run_ended() -> None:
    from eventcargo.updating.new_sequences import _early

    def cut(*names: str) -> EventDataset:
        data = EventDataset.from_sequences([EventSequence(name, ("a",), (0.0,), ()) for name in names])
        return data.in_groups(np.arange(len(names)))

    old, new = cut("car1@5", "car2@9"), cut("car1@8", "car1@9.5", "car2@9", "car3@1")
    assert _early(new, old, {"car1", "car2"}).tolist() == [True, False, True, False]
    assert _early(new, old.in_groups(None), {"car1", "car2"}).tolist() == [False] * 4


def test_tables_are_read_as_those_of_the_run(weeks: Weeks, updated: Path, tmp_path: Path) -> None:
    run = copied(weeks, tmp_path)
    for name, data in (("first", weeks.first), ("second", weeks.second)):
        write_events(data, tmp_path / name, format="csv")
    names = {"sequence_id": "car", "event": "code"}
    renamed_tables(tmp_path / "first", names)
    renamed_tables(tmp_path / "second", names)
    first = str(tmp_path / "first" / "events.csv")
    labels = str(tmp_path / "first" / "labels.csv")
    remember(run, DataSource(first, (labels,), **names))
    week = tmp_path / "second"
    with pytest.raises(ConfigError, match="labels= is missing: an update counts"):
        update(run, week / "events.csv")
    wide = pl.DataFrame({"car": weeks.second.sequence_ids.to_pylist(), "L000": 0, "L001": 1})
    wide.write_csv(tmp_path / "wide.csv")
    with pytest.raises(DataError, match=r"wide\.csv has no column for 1 label of the run: L002; add the"):
        update(run, week / "events.csv", tmp_path / "wide.csv", workers=1)
    told = update(run, week / "events.csv", week / "labels.csv", workers=1)
    assert told.data.fingerprint == weeks.both.fingerprint
    assert recall(run).data.fingerprint == weeks.both.fingerprint
    (part,) = added(run)
    assert part.events == str(week / "events.csv")
    for path in (updated / "votes").glob("*.parquet"):
        assert (run / "votes" / path.name).read_bytes() == path.read_bytes()


def renamed_tables(folder: Path, names: dict[str, str]) -> None:
    """Tables with other names of columns."""
    for path in folder.glob("*.csv"):
        pl.read_csv(path).rename(names, strict=False).write_csv(path)
