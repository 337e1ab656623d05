from dataclasses import replace

import numpy as np
import pytest
import torch

from eventcargo import Vocabulary
from eventcargo.errors import ConfigError, DataError, EventCargoWarning
from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset, EventSequence
from eventcargo.models import Oracle
from eventcargo.models.calibration import Calibration
from eventcargo.models.density import label_probabilities
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.training.trainer import TrainConfig, train
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.explain import explain
from eventcargo.simulation import simulate
from eventcargo.simulation.exact import ExactConfig, ExactProcess


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=1)


@pytest.fixture(scope="module")
def data(process: ExactProcess) -> EventDataset:
    return process.sample(100, seed=1).data


@pytest.fixture(scope="module")
def trained() -> tuple[Transformer, EventDataset]:
    data = simulate("chain", sequences=200, seed=100).data
    return train(data, TrainConfig(steps=4, checks=1, tokens=512), transformer_size("tiny")), data


def carrying(data: EventDataset, label: str) -> EventSequence:
    return next(sequence for sequence in data if label in sequence.labels)


def test_the_causes_of_a_label_are_those_of_the_truth(process: ExactProcess, data: EventDataset) -> None:
    sequence, truth = carrying(data, "L000"), process.sample(1, seed=0).truth.boundary("L000")
    causes = explain(Oracle(process), sequence, ["L000"]).causes("L000", min_strength=0.2)
    assert set(causes["event"]) <= set(truth)
    assert len(causes) >= 1


def test_without_and_effect_add_up_to_the_label_s_probability(
    trained: tuple[Transformer, EventDataset],
) -> None:
    model, data = trained
    found = explain(model, data[3], ["L000"])
    whole = label_probabilities(model, data)[3, 0]
    assert found.probabilities["L000"] == pytest.approx(whole, abs=1e-6)
    assert (found.moves["without"] + found.moves["effect"]).to_numpy() == pytest.approx(whole, abs=1e-6)


def test_the_probability_so_far_ignores_what_comes_later(trained: tuple[Transformer, EventDataset]) -> None:
    model, data = trained
    whole = data[3]
    part = EventSequence("part", whole.events[:3], whole.times[:3], ())
    so_far = [explain(model, sequence, ["L000"]).moves["so_far"][:3].to_numpy() for sequence in (whole, part)]
    assert so_far[0] == pytest.approx(so_far[1], abs=1e-6)
    assert len(np.unique(so_far[0])) > 1


def test_hiding_an_event_by_hand_gives_its_probability_without_it(
    trained: tuple[Transformer, EventDataset],
) -> None:
    model, data = trained
    whole = data[3]
    unseen = tuple("never seen" if name == whole.events[2] else name for name in whole.events)
    by_hand = explain(model, EventSequence("hidden", unseen, whole.times, ()), ["L001"])
    move = explain(model, whole, ["L001"]).moves.row(2, named=True)
    assert move["without"] == pytest.approx(by_hand.probabilities["L001"], abs=1e-6)


def test_an_event_type_the_model_does_not_know_has_no_effect_to_tell(
    trained: tuple[Transformer, EventDataset],
) -> None:
    model, data = trained
    known = data[0]
    sequence = EventSequence("odd", ("never seen", *known.events), (known.times[0], *known.times), ())
    moves = explain(model, sequence, ["L000"]).moves
    assert moves["strength"][0] is None
    assert moves["strength"][1:].null_count() == 0


def test_labels_carried_are_explained_without_being_asked_for(
    process: ExactProcess, data: EventDataset
) -> None:
    sequence = next(sequence for sequence in data if sequence.labels)
    assert set(sequence.labels) <= set(explain(Oracle(process), sequence).probabilities)


def test_one_label_is_explained_where_none_is_expected(process: ExactProcess, data: EventDataset) -> None:
    sequence = EventSequence("short", data[0].events[:1], data[0].times[:1], ())
    assert len(explain(Oracle(process), sequence).probabilities) >= 1


def test_positions_of_a_sequence_that_is_cut_are_those_of_the_whole(
    trained: tuple[Transformer, EventDataset],
) -> None:
    model, data = trained
    long = EventSequence("long", data[0].events[:1] * 600, tuple(map(float, range(600))), ())
    with pytest.warns(EventCargoWarning, match="only the last 510"):
        moves = explain(model, long, ["L000"]).moves
    assert (moves["position"][-1], moves["time"][-1]) == (599, 599.0)
    assert moves["position"][0] == 600 - len(moves) > 0


def test_a_type_that_occurs_twice_is_a_cause_once(trained: tuple[Transformer, EventDataset]) -> None:
    model, data = trained
    names = data[0].events[:3]
    found = explain(model, EventSequence("twice", names * 2, (0, 1, 2, 3, 4, 5), ()), ["L000"])
    assert (
        found.causes("L000", min_strength=-1.0)["event"].n_unique()
        == len(found.causes("L000", min_strength=-1.0))
        == 3
    )
    assert found.causes("L000", min_strength=-1.0)["position"].max() == 2


def test_an_unknown_label_is_named(process: ExactProcess, data: EventDataset) -> None:
    with pytest.raises(ConfigError, match="'L999'"):
        explain(Oracle(process), data[0], ["L999"])


def test_a_sequence_without_events_is_refused(process: ExactProcess) -> None:
    with pytest.raises(DataError, match="'empty'"):
        explain(Oracle(process), EventSequence("empty", (), (), ()))


def test_causes_of_a_label_that_was_not_asked_for_are_refused(
    process: ExactProcess, data: EventDataset
) -> None:
    with pytest.raises(KeyError, match="'L001'"):
        explain(Oracle(process), data[0], ["L000"]).causes("L001")


def either_of_two(label: str) -> tuple[Oracle, EventSequence]:
    """A process whose label L001 is `E00002 | E00003`, and a sequence with both."""
    process = ExactProcess.from_config(ExactConfig(), seed=1)
    events = ("E00009", "E00003", "E00002")
    return Oracle(process), EventSequence("both", events, (0.0, 1.0, 2.0), (label,) if label else ())


def test_either_of_two_would_have_been_enough() -> None:
    explanation = explain(*either_of_two("L001"), ["L001"])
    (row,) = explanation.sets.to_dicts()
    assert row["events"] == ["E00003", "E00002"]  # in their order
    assert row["without"] == pytest.approx(0.02, abs=1e-6)
    assert row["effect"] == pytest.approx(0.96, abs=1e-6)
    assert row["strength"] == pytest.approx(0.96 * np.log(49), rel=1e-4)
    assert explanation.causes("L001", min_strength=0.01).is_empty()
    assert explanation.in_words("L001") == [
        "With neither E00003 nor E00002, L001 would not have happened (0.980 to 0.020): given the rest, "
        "either of these two would have been enough."
    ]


def test_a_label_that_did_not_happen_would_not_be_expected() -> None:
    (words,) = explain(*either_of_two(""), ["L001"]).in_words("L001")
    assert "L001 would not be expected" in words


def test_an_event_type_that_decides_alone_is_a_set_of_one(process: ExactProcess) -> None:
    sequence = EventSequence("one", ("E00009", "E00003"), (0.0, 1.0), ("L001",))
    explanation = explain(Oracle(process), sequence, ["L001"])
    assert explanation.sets["events"].to_list() == [["E00003"]]
    assert explanation.in_words("L001") == ["Without E00003, L001 would not have happened (0.980 to 0.020)."]
    assert explanation.in_words("L001", min_size=2) == []


@pytest.mark.parametrize(("labels", "held"), [((), "held L002 off"), (("L002",), "made L002 improbable")])
def test_what_held_a_label_off_is_told(process: ExactProcess, labels: tuple[str, ...], held: str) -> None:
    """L002 is E00004 and not E00005."""
    sequence = EventSequence("held", ("E00004", "E00005"), (0.0, 1.0), labels)
    (words,) = explain(Oracle(process), sequence, ["L002"]).in_words("L002")
    assert words == f"E00005 {held} (0.020, without it 0.980)."


def test_what_the_data_adjust_for_is_in_no_set() -> None:
    model, sequence = either_of_two("L001")
    assert len(explain(model, sequence, ["L001"]).sets) == 1
    model.vocabulary = Vocabulary(model.vocabulary.event_names, EventKinds(adjusted=("E00003",)))
    assert explain(model, sequence, ["L001"]).sets.is_empty()


def test_of_many_sets_the_five_strongest_are_told() -> None:
    """The label is a, or all of b to g: a and any one of the six are a set."""
    names, weights = tuple("abcdefg"), torch.tensor([[20.0]] + [[2.5 + 0.01 * at] for at in range(6)])
    term = LinearTerm(11, 1, {"presence": np.arange(4, 11)}, weights, torch.tensor([-13.0]))
    model = Transformer(transformer_size("tiny"), Vocabulary(names), ("L",), linear=term).eval()
    model.calibrate(Calibration(np.zeros(1), np.ones(1), np.ones(1)))
    explanation = explain(model, EventSequence("s", names, tuple(map(float, range(7))), ()), ["L"])
    assert explanation.sets["events"].to_list() == [["a", name] for name in "gfedc"]


def test_an_explanation_shows_itself_with_its_causes_and_sets(process: ExactProcess) -> None:
    sequence = EventSequence("<b>one", ("E00009", "E00003"), (5.0, 7.5), ("L001",))
    explanation = explain(Oracle(process), sequence, ["L001"])
    assert repr(explanation) == "Explanation of <b>one, 2 events:\n  L001 0.980, moved by E00003"
    html = explanation._repr_html_()
    assert "Explanation of &lt;b&gt;one, 2 events" in html
    assert "L001 has a probability of 0.98, carried by the sequence" in html
    assert "<td class=number>2.5</td>" in html  # since the first event
    html = explain(*either_of_two("L001"), ["L001"])._repr_html_()
    assert "No event type alone moves it." in html
    assert "With neither E00003 nor E00002" in html


def test_an_explanation_of_many_labels_is_cut_with_a_count(process: ExactProcess) -> None:
    one = explain(Oracle(process), EventSequence("one", ("E00009",), (0.0,), ()), ["L001"])
    many = replace(one, probabilities={f"L{at:03}": 0.5 for at in range(25)})
    assert repr(many).endswith("\n  ... and 5 more")
    assert "<p class=faint>and 5 more</p>" in many._repr_html_()
    assert many._repr_html_().count("<details>") == 17
