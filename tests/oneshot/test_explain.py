import numpy as np
import pytest

from eventcargo.errors import ConfigError, DataError, EventCargoWarning
from eventcargo.events import EventDataset, EventSequence
from eventcargo.models import Oracle
from eventcargo.models.density import label_probabilities
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
