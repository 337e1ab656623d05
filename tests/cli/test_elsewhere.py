import json
from pathlib import Path

import polars as pl
import pytest

from eventcargo import LabelGraph, read_events, read_graph
from eventcargo.models.huggingface import HuggingFace
from eventcargo.models.loading import load_model

from .program import run, run_json
from tests.models.huggingface.elsewhere import MARKS, learn, llama, other_ids, write_model

QUICK = ("--steps", "4", "--checks", "1", "--tokens", "512")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    """A Llama trained on simulated events with ids in another order, and the arguments of the data."""
    folder = tmp_path_factory.mktemp("elsewhere")
    sizes = ("--sequences", "500", "--labels", "2", "--event-types", "12", "--length-min", "8")
    run("simulate", "chain", folder / "data", *sizes, "--length-max", "16", "--seed", "3")
    tables = [str(folder / "data" / f"{name}.parquet") for name in ("events", "labels")]
    data = read_events(tables[0], labels=tables[1])
    ids = other_ids(data.event_names)
    model = learn(llama(len(MARKS) + len(ids)), data, ids, steps=60)
    write_model(folder / "llama", model, ids)
    (folder / "ids.json").write_text(json.dumps(ids))
    return folder, (tables[0], "--labels", tables[1])


@pytest.fixture(scope="module")
def trained(elsewhere: tuple[Path, tuple[str, ...]]) -> Path:
    folder, data = elsewhere
    run("train", *data, "--out", folder / "run", "--from", folder / "llama", *QUICK)
    return folder / "run"


def _edges(graph: LabelGraph) -> set[tuple[str, str]]:
    return set(graph.edges.select("label", "event").iter_rows())


def test_a_model_trained_elsewhere_finds_the_causes(
    elsewhere: tuple[Path, tuple[str, ...]], trained: Path
) -> None:
    folder, data = elsewhere
    run("extract", trained, *data)
    run("fuse", trained)
    truth = read_graph(folder / "data" / "truth.parquet")
    assert _edges(read_graph(trained / "graph.parquet")) == _edges(truth)


def test_new_sequences_are_predicted_and_explained(
    elsewhere: tuple[Path, tuple[str, ...]], trained: Path, tmp_path: Path
) -> None:
    run("predict", trained, elsewhere[1][0], "--out", tmp_path / "new.parquet")
    table = pl.read_parquet(tmp_path / "new.parquet")
    assert len(table) == 500
    assert {"L000", "L001"} <= set(table.columns)
    assert "L00" in run("explain", trained, "--sequence", table["sequence_id"][0]).stdout


def test_people_are_told_what_the_model_knows(
    elsewhere: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    folder, data = elsewhere
    said = run("train", *data, "--out", tmp_path / "run", "--from", folder / "llama", *QUICK)
    assert "knows 12 of 12 event types and 100.0% of the events; its next-event loss is" in said.stdout
    assert "steps of the head on the model from elsewhere" in said.stdout
    assert "mixed up" not in said.stderr


def test_ids_may_come_from_codes_and_name_the_same_model(
    elsewhere: tuple[Path, tuple[str, ...]], trained: Path, tmp_path: Path
) -> None:
    folder, data = elsewhere
    ids = json.loads((folder / "ids.json").read_text())
    codes = {"code": list(ids), "code/vocab_index": list(ids.values())}
    pl.DataFrame(codes).write_parquet(tmp_path / "codes.parquet")
    given = ("--codes", tmp_path / "codes.parquet", "--unk", "1")
    said = run_json("train", *data, "--out", tmp_path / "run", "--from", folder / "llama", *given, *QUICK)
    assert said["quality"]["training"]["from"]["known_types"] == 12
    assert load_model(tmp_path / "run" / "model").fingerprint == load_model(trained / "model").fingerprint


def test_mixed_up_ids_are_warned_about(elsewhere: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    folder, data = elsewhere
    counts = pl.read_parquet(data[0])["event"].value_counts(sort=True)["event"].to_list()
    ids = json.loads((folder / "ids.json").read_text())
    mixed = dict(zip(counts, [ids[name] for name in reversed(counts)], strict=True))
    (tmp_path / "mixed.json").write_text(json.dumps(mixed))
    given = ("--from", folder / "llama", "--ids", tmp_path / "mixed.json")
    said = run("train", *data, "--out", tmp_path / "run", *given, *QUICK)
    assert "names and ids may be mixed up" in " ".join(said.stderr.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--from", "LLAMA", "--bos", "5"), "; say which token or id it is by --bos, or --bos none"),
        (("--from", "LLAMA", "--bos", "99"), "the id of BOS is 99, but the model has ids 0 to 15"),
        (("--from", "LLAMA", "--size", "tiny"), "--size tiny: the model in LLAMA has a size of its own"),
        (("--from", "LLAMA", "--pretrain", "0.5"), "--pretrain 0.5 trains the next event"),
        (("--from", "none"), "none is no folder; give the folder of a model of transformers"),
        (("--unk", "1"), "--unk 1 is about a model from elsewhere; give its folder by --from"),
        (("--from", "LLAMA", "--min-coverage", "2"), "--min-coverage 2.0: use a number from 0 to 1"),
    ],
)
def test_options_that_cannot_be_are_refused_in_the_words_of_the_command_line(
    elsewhere: tuple[Path, tuple[str, ...]], tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    folder, data = elsewhere
    place = str(folder / "llama")
    given = [place if option == "LLAMA" else option for option in options]
    said = run("train", *data, "--out", tmp_path / "run", *given, *QUICK, code=1).stderr
    assert message.replace("LLAMA", place) in said
    assert not (tmp_path / "run" / "model").exists()


def test_a_plan_counts_the_weights_of_the_model(
    elsewhere: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    folder, data = elsewhere
    plan = ("discover", *data, "--out", tmp_path / "run", "--from", folder / "llama", "--dry-run")
    weights = sum(weight.numel() for weight in llama(16).parameters())
    assert f"steps of the head on a model of {weights:,} weights" in run_json(*plan)["stages"][0]["what"]
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_run_discovers_from_it(elsewhere: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    folder, data = elsewhere
    quick = ("--preset", "fast", "--steps", "2")
    run("discover", *data, "--out", tmp_path / "run", "--from", folder / "llama", *quick)
    assert isinstance(load_model(tmp_path / "run" / "model"), HuggingFace)
    truth = read_graph(folder / "data" / "truth.parquet")
    assert _edges(read_graph(tmp_path / "run" / "graph.parquet")) == _edges(truth)
