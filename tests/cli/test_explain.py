from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from eventcargo import ConfigError, EventDataset, EventSequence, LabelGraph, Vocabulary, write_graph
from eventcargo.cli.explain import _found, _unmoved
from eventcargo.models.calibration import Calibration
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.explain import MOVES, Explanation

from .program import run, run_json


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a model, whose data are remembered."""
    folder = tmp_path_factory.mktemp("explain")
    run("simulate", "chain", folder / "data", "--sequences", "200", "--seed", "100")
    data = (str(folder / "data" / "events.parquet"), "--labels", str(folder / "data" / "labels.parquet"))
    quick = ("--size", "tiny", "--steps", "4", "--checks", "1", "--tokens", "512")
    run("train", *data, "--out", folder / "run", *quick)
    return folder / "run"


@pytest.fixture(scope="module")
def either(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose model says that either of a and b brings the label, and c without d."""
    folder = tmp_path_factory.mktemp("either")
    weights = torch.tensor([[12.0, 0.0], [12.0, 0.0], [0.0, 8.0], [0.0, -12.0]])
    term = LinearTerm(8, 1, {"presence": np.arange(4, 8)}, weights, torch.tensor([-5.0, -4.0]))
    model = Transformer(transformer_size("tiny"), Vocabulary(tuple("abcd")), ("L0", "L1"), linear=term)
    model.calibrate(Calibration(np.zeros(2), np.ones(2), np.ones(2)))
    model.save_pretrained(folder / "model")
    return folder


def test_a_sequence_of_the_data_is_explained_in_a_picture(trained: Path) -> None:
    printed = run("explain", trained, "--sequence", "S000000", "--label", "L000").stdout
    assert "L000: 0." in printed
    assert "the probability after each event" in printed


def test_events_that_change_a_label_are_in_a_table(either: Path) -> None:
    printed = run("explain", either, "--events", "d,a,d", "--label", "L0").stdout
    assert "L0: 0.999" in printed
    assert "without it" in printed
    assert "·▲·" in printed
    assert "together" not in printed


def test_either_of_two_events_is_told_in_words_and_marked(either: Path) -> None:
    printed = " ".join(run("explain", either, "--events", "d,b,a", "--label", "L0").stdout.split())
    assert "No single event changes L0 by more than 0.01 nats. With neither b nor a, L0 would not" in printed
    assert (
        "be expected (1.000 to 0.007): given the rest, either of these two would have been enough." in printed
    )
    assert "△ ▽ only together with others" in printed
    assert "·△△" in printed
    assert "without it" not in printed
    assert "predicted from" not in printed


def test_sets_are_in_the_json(either: Path) -> None:
    told = run_json("explain", either, "--events", "b,a,c,d", "--label", "L0", "--label", "L1")
    (both, alone) = told["sets"]
    assert (both["label"], both["events"]) == ("L0", ["b", "a"])
    assert both["without"] == pytest.approx(0.0067, abs=1e-4)
    assert (alone["label"], alone["events"]) == ("L1", ["d"])
    assert told["in_words"]["L1"] == ["d held L1 off (0.000, without it 0.982)."]


def test_given_events_are_explained(trained: Path) -> None:
    known = run_json("explain", trained, "--sequence", "S000000", "--label", "L000")
    events = ",".join(move["event"] for move in known["moves"])
    times = ",".join(str(move["time"]) for move in known["moves"])
    given = run_json("explain", trained, "--events", events, "--times", times, "--label", "L000")
    assert given["probabilities"] == known["probabilities"]
    assert given["moves"] == known["moves"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "either --sequence"),
        (("--sequence", "S000000", "--events", "A"), "either --sequence"),
        (("--sequence", "S000000", "--times", "1"), "needs --events"),
        (("--sequence", "nobody"), "'nobody'"),
        (("--events", "A,B", "--times", "1"), "1 number for 2 events"),
        (("--events", "A,B", "--times", "1,x"), "'1,x'"),
        (("--events", "A,B", "--times", "2,1"), "not sorted"),
        (("--events", "A", "--label", "L999"), "'L999'"),
    ],
)
def test_bad_arguments_are_told(trained: Path, arguments: tuple[str, ...], said: str) -> None:
    assert said in run("explain", trained, *arguments, code=1).stderr


CUT = EventDataset.from_sequences(
    [
        EventSequence("A@1", ("x",), (0.0,), ()),
        EventSequence("A@2", ("x",), (0.0,), ("bad",)),
        EventSequence("AB@3", ("y",), (0.0,), ("bad",)),
        EventSequence("B@1", ("x",), (0.0,), ()),
        EventSequence("B@2", ("x",), (0.0,), ()),
    ]
)


@pytest.mark.parametrize(("name", "found"), [("A@1", "A@1"), ("A", "A@2"), ("AB", "AB@3")])
def test_a_subject_names_its_sequence_with_an_outcome(name: str, found: str) -> None:
    assert _found(CUT, name).id == found


def test_of_several_sequences_of_a_subject_one_must_be_named() -> None:
    with pytest.raises(ConfigError, match="--sequence B has 2 sequences; name one: B@1, B@2"):
        _found(CUT, "B")


@pytest.mark.parametrize(
    ("probability", "so_far", "said"),
    [
        (0.98, [0.1, 0.9, 0.98], ["predicted from b (position 1) on"]),
        (0.1, [0.1, 0.9, 0.1], []),  # no longer
        (0.98, [0.1, 0.2, 0.3], []),  # only at the end
    ],
)
def test_a_label_that_no_single_event_moves(probability: float, so_far: list[float], said: list[str]) -> None:
    rows = {"label": "bad", "position": range(3), "event": ["a", "b", "c"], "so_far": so_far}
    moves = pl.DataFrame(rows, schema_overrides=MOVES)
    sequence = EventSequence("s", ("a", "b", "c"), (0.0, 1.0, 2.0), ("bad",))
    first, *rest = _unmoved(Explanation(sequence, {"bad": probability}, moves), "bad")
    assert first == "No single event changes bad by more than 0.01 nats."
    assert len(rest) == len(said)
    assert all(words in line for words, line in zip(said, rest, strict=True))


def test_a_run_without_a_model_says_why(tmp_path: Path) -> None:
    write_graph(LabelGraph.from_boundaries({"brake": []}), tmp_path / "graph.parquet")
    said = run("explain", tmp_path, "--events", "A,B", code=1).stderr
    assert "no time to fit a model" in said
    assert "--max-time" in said
