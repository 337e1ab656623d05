import numpy as np
import pytest
import torch

from eventcargo.batches import Batches
from eventcargo.deadline import Deadline
from eventcargo.events import EventDataset
from eventcargo.models.focused.fit import (
    FocusedConfig,
    Survey,
    _Fitted,
    _Trained,
    fit_focused,
    left_over,
    unsure_share,
)
from eventcargo.models.focused.network import FocusedNetwork
from eventcargo.models.focused.term import HELD_FOLD, FocusedTerm
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.linear.term import LinearTerm
from eventcargo.simulation import simulate
from eventcargo.vocabulary import Vocabulary

SMALL = FocusedConfig(candidates=5, width=16, epochs=6)


@pytest.fixture(scope="module")
def made() -> tuple[EventDataset, Vocabulary, LinearTerm]:
    data = simulate("window", sequences=2_500, labels=2, seed=100).data
    vocabulary = Vocabulary.from_dataset(data)
    return data, vocabulary, fit_linear(data, vocabulary, 96)


@pytest.fixture(scope="module")
def focused(made: tuple[EventDataset, Vocabulary, LinearTerm]) -> FocusedTerm:
    data, vocabulary, term = made
    found = fit_focused(data, vocabulary, 96, term, SMALL)
    assert found is not None
    return found


def test_what_no_feature_names_is_learned(
    made: tuple[EventDataset, Vocabulary, LinearTerm], focused: FocusedTerm
) -> None:
    _, vocabulary, term = made
    fresh = simulate("window", sequences=3_500, labels=2, seed=100)
    batch = Batches(fresh.data[2_500:], vocabulary, 96).take(np.arange(1_000))
    linear = term.logits(batch, batch.at_end).numpy()
    assert focused.labels.tolist() == [0, 1]
    for place, label in enumerate(focused.labels):
        logits = focused.logits(batch, place, np.arange(1_000), batch.lengths - 1)
        wrong, before = ((each > 0) != (batch.labels[:, label] > 0) for each in (logits, linear[:, label]))
        assert wrong.mean() < 0.5 * before.mean()


def names_of(focused: FocusedTerm, place: int, vocabulary: Vocabulary) -> set[str]:
    return {vocabulary.decode([at])[0] for at in focused.candidates[place] if at}


def test_candidates_without_influence_are_dropped_and_causes_are_not(
    made: tuple[EventDataset, Vocabulary, LinearTerm], focused: FocusedTerm
) -> None:
    truth = simulate("window", sequences=2_500, labels=2, seed=100).truth
    survey = Survey.of(*made[:2], 96, made[2], SMALL, seed=0)
    assert (survey.candidates > 0).all()
    for place, label in enumerate(focused.labels):
        assert names_of(focused, place, made[1]) == set(truth.boundary(made[0].label_names[label]))


def test_a_network_that_gets_clearly_worse_keeps_its_candidates(
    made: tuple[EventDataset, Vocabulary, LinearTerm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if there were evidence for the first candidate alone, which is one of two causes."""
    first = np.arange(5) == 0
    monkeypatch.setattr("eventcargo.models.focused.fit.shows_evidence", lambda *_: first)
    found = fit_focused(*made[:2], 96, made[2], SMALL)
    assert found is not None
    assert (found.candidates > 0).all()


def test_a_fit_repeats_to_the_bit(
    made: tuple[EventDataset, Vocabulary, LinearTerm], focused: FocusedTerm
) -> None:
    again = fit_focused(*made[:2], 96, made[2], SMALL)
    assert again is not None
    one, other = focused.to_tensors(), again.to_tensors()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_term_is_restored_from_its_tensors(
    made: tuple[EventDataset, Vocabulary, LinearTerm], focused: FocusedTerm
) -> None:
    restored = FocusedTerm.from_tensors(focused.to_tensors())
    batch = Batches(made[0], made[1], 96).take(np.arange(50))
    for place in range(2):
        one, other = (
            term.logits(batch, place, np.arange(50), batch.lengths - 1) for term in (focused, restored)
        )
        assert one.tolist() == other.tolist()


def test_where_the_linear_term_is_sure_nothing_is_trained() -> None:
    data = simulate("ordered", sequences=1_500, seed=100).data
    vocabulary = Vocabulary.from_dataset(data)
    assert fit_focused(data, vocabulary, 96, fit_linear(data, vocabulary, 96)) is None


def test_where_nothing_is_left_over_nothing_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    data = simulate("noisy_or", sequences=1_500, labels=3, seed=100).data
    vocabulary = Vocabulary.from_dataset(data)
    term = fit_linear(data, vocabulary, 96)

    def refuse(*_: object) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr("eventcargo.models.focused.fit._Trained", refuse)
    assert fit_focused(data, vocabulary, 96, term) is None


def test_networks_do_not_learn_from_the_fold_that_judges_them(
    made: tuple[EventDataset, Vocabulary, LinearTerm],
) -> None:
    survey = Survey.of(*made[:2], 96, made[2], SMALL, seed=0)
    trained = _Trained(survey, [0, 1], SMALL)
    for learned, held in zip(trained._learn, trained._held, strict=True):
        assert (survey.fold[learned] != HELD_FOLD).all()
        assert (survey.fold[held] == HELD_FOLD).all()
        assert len(learned) + len(held) == len(made[0])


def test_after_the_deadline_nothing_is_trained(made: tuple[EventDataset, Vocabulary, LinearTerm]) -> None:
    assert fit_focused(*made[:2], 96, made[2], SMALL, deadline=Deadline.after(0.0)) is None


def test_predictions_near_0_and_1_are_sure() -> None:
    y = np.array([True, False] * 50)
    assert unsure_share(np.where(y, 5.0, -5.0), y) == 0
    assert unsure_share(np.zeros(100), y) == pytest.approx(1.0)


def test_scores_of_what_is_left_over_are_standard_normal_without_cause_and_large_with_one() -> None:
    rng = np.random.default_rng(0)
    logits, features = rng.normal(size=4_000), rng.normal(size=(4_000, 200))
    y = rng.random(4_000) < 1 / (1 + np.exp(-logits))
    assert 2.0 < left_over(features, y, logits) < 4.5
    y = rng.random(4_000) < 1 / (1 + np.exp(-logits - features[:, 7]))
    assert left_over(features, y, logits) > 10


@pytest.mark.parametrize(
    ("shown", "ahead", "again"),
    [
        ([True, True], 5.0, False),  # nothing to drop
        ([True, False], 5.0, True),
        ([True, False], -1.0, True),
        ([True, False], -9.0, False),  # the linear term clearly leads
        ([False, False], 5.0, False),  # nothing would be left
    ],
)
def test_a_network_is_fitted_again_only_where_that_may_help(
    shown: list[bool], ahead: float, again: bool
) -> None:
    candidates = np.array([4, 5])
    network: FocusedNetwork = None  # type: ignore[assignment]  # not asked
    fitted = _Fitted(0, candidates, network, np.zeros(0), candidates, ahead, True, np.array(shown))
    assert fitted.may_do_with_fewer == again
