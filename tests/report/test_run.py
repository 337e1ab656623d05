"""From the files of a run to what a person sees: every figure is counted again from the tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eventcargo import EventDataset, read_events, read_graph, write_events
from eventcargo.discovery import DiscoverConfig, discover, load_run_model, read_report_input
from eventcargo.errors import EventCargoWarning
from eventcargo.prediction import predict
from eventcargo.report import write_report
from eventcargo.simulation import simulate

Open = Callable[..., Any]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, addresses: dict[str, str]) -> Path:
    """A folder with tables and a run on them, whose page can be opened as `run`."""
    folder = tmp_path_factory.mktemp("run")
    knobs = {"sequences": 400, "event_types": 60, "labels": 3, "max_boundary": 3}
    data = simulate("fleet", **knobs, length_mean=20, length_min=5, seed=100).data
    write_events(data, folder / "tables")
    discover(tables(folder), folder / "run", DiscoverConfig(preset="fast", steps=2))
    addresses["run"] = (folder / "run" / "report.html").as_uri()
    return folder


def tables(folder: Path) -> EventDataset:
    return read_events(folder / "tables" / "events.parquet", labels=folder / "tables" / "labels.parquet")


def test_a_cause_is_counted_as_in_the_tables(run: Path, opened: Open) -> None:
    label, event = read_graph(run / "run" / "graph.parquet").edges.select("label", "event").row(0)
    events, labels = (
        pl.read_parquet(run / "tables" / "events.parquet"),
        pl.read_parquet(run / "tables" / "labels.parquet"),
    )
    having = set(events.filter(event=event)["sequence_id"])
    carrying = set(labels.filter(label=label)["sequence_id"])
    page = opened("run", f"#label={label}")
    counts = page.locator(".forest-table .counts").first.inner_text()
    n = events["sequence_id"].n_unique()
    assert f"{len(having & carrying)} of {len(having)} with it" in counts
    assert f"{len(carrying - having)} of {n - len(having)} without" in counts


def test_the_odds_are_those_of_the_graph(run: Path, opened: Open) -> None:
    edges = read_graph(run / "run" / "graph.parquet").edges
    label = edges["label"][0]
    page = opened("run", f"#label={label}")
    own = edges.filter(label=label)
    shown = page.locator(".forest-table .odds").all_inner_texts()
    assert len(shown) == len(own)
    assert sum("(" in text for text in shown) == own["odds_low"].count()


def test_the_curve_ends_at_the_probability_of_the_whole_sequence(run: Path, opened: Open) -> None:
    data = tables(run)
    model = load_run_model(run / "run")
    assert model is not None
    page = opened("run", f"#label={data.label_names[0]}")
    heads = page.locator(".sequence-head").all_inner_texts()
    assert len(heads) >= 2
    for head in heads[:3]:
        name = head.split()[0]
        (whole,) = predict(model, data.select([name]))[data.label_names[0]]
        shown = head.split("\u2192")[1].strip()
        near = float(shown.strip("<> %").rstrip(" %"))
        assert near == pytest.approx(100 * whole, abs=1)


def test_the_page_says_the_day_of_the_run(run: Path, opened: Open) -> None:
    made = np.datetime64(int((run / "run" / "graph.parquet").stat().st_mtime), "s")
    assert str(made)[:10] in opened("run").locator("#run-line").inner_text()


def test_a_run_whose_model_reads_other_labels_is_shown_without_curves(
    run: Path, opened: Open, tmp_path: Path, addresses: dict[str, str]
) -> None:
    other = tables(run).without_labels()
    with pytest.warns(EventCargoWarning):
        content = read_report_input(run / "run", other)
    write_report(tmp_path / "report.html", content)
    addresses["other"] = (tmp_path / "report.html").as_uri()
    assert opened("other", "#label=L000").locator(".curve").count() == 0
    assert opened("run", "#label=L000").locator(".curve").count() > 0
