import itertools
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eventcargo import EdgeTable, EventDataset
from eventcargo.deadline import Deadline
from eventcargo.errors import ConfigError, DataError, EventCargoWarning
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.oneshot.score_shard import BLOCK

from tests.sealed import edit

CONFIG = ExtractConfig(shard=BLOCK, workers=1, particles=4, context=3, test="both", max_cases=30)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """All files of a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole(fitted: Transformer, chain: EventDataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The edges of an uninterrupted run: three shards."""
    folder = tmp_path_factory.mktemp("extract") / "edges"
    extract(fitted, chain, folder, CONFIG)
    return folder


def test_both_tests_are_made(whole: Path) -> None:
    table = EdgeTable.read(whole)
    assert sorted(table.support["test"].unique()) == ["prefix", "total"]
    kinds = table.support.select("test", "polarity").unique().sort("test", "polarity").rows()
    assert kinds == [("prefix", "present"), ("total", "absent"), ("total", "present")]


def test_a_run_stopped_between_shards_ends_with_the_same_bytes(
    fitted: Transformer, chain: EventDataset, whole: Path, tmp_path: Path
) -> None:
    def stop(stage: str, done: float, total: float, message: str) -> None:
        if stage == "testing" and done >= BLOCK:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(fitted, chain, tmp_path / "edges", CONFIG, progress=stop)
    assert len(list((tmp_path / "edges").glob("shard-*"))) == 1
    extract(fitted, chain, tmp_path / "edges", CONFIG, resume=True)
    assert bytes_of(tmp_path / "edges") == bytes_of(whole)


def test_a_resumed_run_counts_what_was_done_before(
    fitted: Transformer, chain: EventDataset, whole: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path / "edges")
    shutil.rmtree(tmp_path / "edges" / "shard-00002")
    told: list[tuple[str, float, float, str]] = []
    extract(fitted, chain, tmp_path / "edges", CONFIG, resume=True, progress=lambda *now: told.append(now))
    assert told == [("testing", 600, 600, "sequences")]


def test_labels_that_the_model_does_not_know_are_refused_first(
    fitted: Transformer, sampled: EventDataset, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="the data have 6 labels, the model 3"):
        extract(fitted, sampled, tmp_path / "edges", CONFIG)
    assert not (tmp_path / "edges").exists()


KILLED = """
from pathlib import Path
from eventcargo.events import EventDataset
from eventcargo.models.loading import load_model
from tests.oneshot.test_extract import CONFIG, extract
home = Path({home!r})
extract(load_model(home / "model"), EventDataset.load(home / "data"), home / "edges", CONFIG)
"""


@pytest.mark.slow
def test_a_run_that_was_killed_ends_with_the_same_bytes(
    fitted: Transformer, chain: EventDataset, whole: Path, tmp_path: Path
) -> None:
    fitted.save_pretrained(tmp_path / "model")
    chain.save(tmp_path / "data")
    root = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", KILLED.format(home=str(tmp_path))], cwd=root)
    while process.poll() is None and not (tmp_path / "edges" / "shard-00000").exists():
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    extract(fitted, chain, tmp_path / "edges", CONFIG, resume=True)
    found = {name: content for name, content in bytes_of(tmp_path / "edges").items() if ".part" not in name}
    assert found == bytes_of(whole)


def tables(folder: Path) -> list[Any]:
    read = EdgeTable.read(folder)
    return [part.to_dict(as_series=False) for part in (read.edges, read.support, read.exposed)]


def test_the_size_of_shards_changes_nothing(
    fitted: Transformer, chain: EventDataset, whole: Path, tmp_path: Path
) -> None:
    extract(fitted, chain, tmp_path / "edges", replace(CONFIG, shard=10_000))
    assert len(list((tmp_path / "edges").glob("shard-*"))) == 1
    assert tables(tmp_path / "edges") == tables(whole)


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(
    fitted: Transformer, chain: EventDataset, whole: Path, tmp_path: Path
) -> None:
    extract(fitted, chain, tmp_path / "edges", replace(CONFIG, workers=2))
    assert bytes_of(tmp_path / "edges") == bytes_of(whole)


def test_the_order_of_input_changes_nothing(oracle: Oracle, sampled: EventDataset, tmp_path: Path) -> None:
    mixed = EventDataset.from_sequences(list(sampled)[::-1])
    config = replace(CONFIG, test="total")
    extract(oracle, sampled, tmp_path / "one", config)
    extract(oracle, mixed, tmp_path / "two", config)
    assert tables(tmp_path / "one") == tables(tmp_path / "two")


def test_edges_are_not_written_over(fitted: Transformer, chain: EventDataset, whole: Path) -> None:
    with pytest.raises(ConfigError, match="exists already"):
        extract(fitted, chain, whole, CONFIG)


@pytest.mark.parametrize(("name", "value"), [("seed", 5), ("threshold", 0.3), ("shard", 512)])
def test_other_settings_are_not_resumed_with(
    fitted: Transformer, chain: EventDataset, whole: Path, name: str, value: float
) -> None:
    with pytest.raises(ConfigError, match=name):
        extract(fitted, chain, whole, replace(CONFIG, **{name: value}), resume=True)  # type: ignore[arg-type]


def test_other_data_are_not_resumed_with(fitted: Transformer, chain: EventDataset, whole: Path) -> None:
    with pytest.raises(ConfigError, match="data="):
        extract(fitted, chain[:-1], whole, CONFIG, resume=True)


def test_another_model_is_not_resumed_with(
    fitted: Transformer, chain: EventDataset, whole: Path, tmp_path: Path
) -> None:
    fitted.save_pretrained(tmp_path)
    other = Transformer.from_pretrained(tmp_path)
    other.end_slope.mul_(1.5)
    with pytest.raises(ConfigError, match="model="):
        extract(other, chain, whole, CONFIG, resume=True)


def test_a_finished_folder_may_be_resumed(fitted: Transformer, chain: EventDataset, whole: Path) -> None:
    before = bytes_of(whole)
    extract(fitted, chain, whole, replace(CONFIG, workers=2), resume=True)
    assert bytes_of(whole) == before


def test_labels_not_to_be_trusted_are_told(fitted: Transformer, chain: EventDataset, tmp_path: Path) -> None:
    fitted.mark_untrusted([1])
    folder = extract(fitted, chain, tmp_path / "edges", replace(CONFIG, test="total"))
    fitted.mark_untrusted([])
    assert folder.plan["untrusted"] == [chain.label_names[1]]


def test_data_without_labels_are_refused(fitted: Transformer, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no labels"):
        extract(fitted, EventDataset.from_sequences([]), tmp_path / "edges", CONFIG)
    assert not (tmp_path / "edges").exists()


def test_cut_sequences_are_counted_once(chain: EventDataset, fitted: Transformer, tmp_path: Path) -> None:
    fitted.save_pretrained(tmp_path / "model")
    short = Transformer.from_pretrained(tmp_path / "model")
    short.max_length = 20
    with pytest.warns(EventCargoWarning, match="longer than 18 events") as told:
        extract(short, chain, tmp_path / "edges", replace(CONFIG, test="total"))
    assert len(told) == 1


def test_the_paper_looks_at_prefixes_only(oracle: Oracle, sampled: EventDataset, tmp_path: Path) -> None:
    with pytest.warns(EventCargoWarning, match="can have no edge"):
        extract(oracle, sampled[:60], tmp_path / "edges", ExtractConfig(paper=True, workers=1))
    assert EdgeTable.read(tmp_path / "edges").support["test"].unique().to_list() == ["prefix"]


def test_a_pooled_threshold_is_fitted_once_and_used(
    fitted: Transformer, chain: EventDataset, tmp_path: Path
) -> None:
    config = replace(CONFIG, test="prefix", threshold_kind="pooled")
    extract(fitted, chain, tmp_path / "edges", config)
    threshold = json.loads((tmp_path / "edges" / "threshold.json").read_text())["threshold"]
    strengths = EdgeTable.read(tmp_path / "edges").edges["strength"]
    assert 0 < threshold < strengths.min()
    before = bytes_of(tmp_path / "edges")
    extract(fitted, chain, tmp_path / "edges", config, resume=True)
    assert bytes_of(tmp_path / "edges") == before


@pytest.mark.parametrize(("odd", "shown"), [(None, "None"), ("1.5", "'1.5'"), ([], r"\[\]")])
def test_a_pooled_threshold_that_is_no_number_is_refused_with_it(
    fitted: Transformer, chain: EventDataset, tmp_path: Path, odd: object, shown: str
) -> None:
    config = replace(CONFIG, test="prefix", threshold_kind="pooled")
    extract(fitted, chain[:40], tmp_path / "edges", config)
    edit(tmp_path / "edges" / "threshold.json", threshold=odd)
    with pytest.raises(DataError, match=rf"threshold\.json: threshold is {shown}, not a number"):
        extract(fitted, chain[:40], tmp_path / "edges", config, resume=True)


def test_sequences_too_short_for_the_cut_are_counted(
    oracle: Oracle, sampled: EventDataset, tmp_path: Path
) -> None:
    with pytest.warns(EventCargoWarning, match="can have no edge"):
        extract(oracle, sampled[:30], tmp_path / "edges", replace(CONFIG, test="prefix"))


def test_stages_are_told(fitted: Transformer, chain: EventDataset, tmp_path: Path) -> None:
    told: list[tuple[str, float, float, str]] = []
    extract(
        fitted,
        chain,
        tmp_path / "edges",
        replace(CONFIG, test="total"),
        progress=lambda *now: told.append(now),
    )
    assert told[-1] == ("testing", 600, 600, "sequences")
    assert ("selecting", 600, 600, "sequences") in told
    assert [path.name for path in tmp_path.iterdir()] == ["edges"]


def test_when_time_is_up_what_was_not_tested_is_counted_and_told(
    fitted: Transformer, chain: EventDataset, whole: Path, tmp_path: Path
) -> None:
    brief = Deadline(8, clock=itertools.count(step=0.5).__next__)  # its time passes with every look
    with pytest.warns(EventCargoWarning, match="of 600 sequences were not tested within the time limit"):
        extract(fitted, chain, tmp_path / "edges", CONFIG, deadline=brief)
    tested = EdgeTable.read(tmp_path / "edges").support["sequences"].sum()
    assert 0 < tested < EdgeTable.read(whole).support["sequences"].sum()


def test_cases_without_a_label_are_those_of_the_sequences_looked_at_in_time(
    fitted: Transformer, chain: EventDataset
) -> None:
    seeds = np.arange(600)
    with pytest.warns(EventCargoWarning, match="600 of 600 sequences were not looked at"):
        cases = select_cases(fitted, chain, CONFIG, seeds, deadline=Deadline.after(0))
    assert (cases.present.nnz > 0, cases.absent.nnz) == (True, 0)
