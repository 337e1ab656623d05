"""Weights without a fold: those of a fit on the other sequences, kept with the term."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import load_file, save_file
from scipy.special import expit

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batches
from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.linear.folds import N_FOLDS, Fold, fold_numbers
from eventcargo.models.linear.hiding import Hiding
from eventcargo.models.linear.lasso import Fit, Lasso, base_fit
from eventcargo.models.linear.term import LinearTerm
from eventcargo.simulation import simulate

from ...families import drawn

LENGTH, PENALTY = 64, 4.0
ONE_PENALTY = LinearConfig(workers=1, penalties=(PENALTY,))


def fitted(data: EventDataset, config: LinearConfig = ONE_PENALTY) -> LinearTerm:
    return fit_linear(data, Vocabulary.from_dataset(data), LENGTH, config)


@pytest.fixture(scope="module")
def data() -> EventDataset:
    """Two labels of presence and of a before b; no event type is ubiquitous."""
    chances = dict.fromkeys("abcdefgh", 0.5)
    one = drawn(1500, chances, lambda events: expit(3.0 * ("a" in events) - 2.0 * ("b" in events) - 1.0))
    rng = np.random.default_rng(1)
    sequences = []
    for each in one:
        is_ordered = {"a", "b"} <= set(each.events) and each.events.index("a") < each.events.index("b")
        rate = 0.9 if is_ordered else 0.4 if "c" in each.events else 0.05
        also = ("worse",) if rng.random() < rate else ()
        sequences.append(replace(each, labels=(*each.labels, *also)))
    return EventDataset.from_sequences(sequences)


@pytest.fixture(scope="module")
def term(data: EventDataset) -> LinearTerm:
    return fitted(data)


def features(term: LinearTerm, data: EventDataset) -> np.ndarray:
    """Which feature of a term holds in which sequence."""
    batch = Batches(data, Vocabulary.from_dataset(data), LENGTH).take(np.arange(len(data)))
    moments = term.moments(batch)
    X = np.zeros((len(data), term.n_features))
    X[moments.rows, moments.keys] = 1.0
    return X


def refitted(term: LinearTerm, data: EventDataset, rows: np.ndarray, label: int) -> Fit:
    """A fit of one label on some sequences, with the features that have a weight for it."""
    used = np.flatnonzero(term.weights[:, label].numpy())
    X, y = Columns.of(features(term, data)[rows][:, used]), data.label_matrix().toarray()[rows, label]
    lasso = Lasso(X, y.astype(float))
    fit = lasso.reweight(PENALTY, lasso.fit(PENALTY, base_fit(len(used), int(y.sum()), len(y))))
    weights = np.zeros(term.n_features)
    weights[used] = fit.weights
    return Fit(weights, fit.bias)


@pytest.mark.parametrize("fold", range(N_FOLDS))
@pytest.mark.parametrize("label", [0, 1])
def test_weights_of_a_fold_are_those_of_a_fit_without_its_sequences(
    data: EventDataset, term: LinearTerm, fold: int, label: int
) -> None:
    found, others = term.folds[fold], fold_numbers(data) != fold
    expected = refitted(term, data, np.flatnonzero(others), label)
    weights = found.weights.toarray()[:, label]
    assert weights == pytest.approx(expected.weights, abs=0.01)
    assert found.bias[label] == pytest.approx(expected.bias, abs=0.01)
    assert np.abs(weights).max() > 1
    # with the fold, the fit is another one
    whole = term.weights[:, label].numpy()
    assert np.abs(whole - weights).max() > 0.03


def test_folds_have_weights_of_order_too(term: LinearTerm) -> None:
    assert any(len(keys) for family, keys in term.keys.items() if family != "presence")


def test_a_fold_has_no_weight_where_the_term_has_none(term: LinearTerm) -> None:
    for fold in term.folds:
        assert fold.weights.shape == tuple(term.weights.shape)
        assert not fold.weights.toarray()[term.weights.numpy() == 0].any()


def test_folds_are_saved_and_loaded_with_their_term(term: LinearTerm, tmp_path: Path) -> None:
    save_file(term.to_tensors(), tmp_path / "term.safetensors")
    loaded = LinearTerm.from_tensors(load_file(tmp_path / "term.safetensors"))
    assert len(loaded.folds) == N_FOLDS
    for one, other in zip(term.folds, loaded.folds, strict=True):
        assert np.array_equal(other.weights.toarray(), one.weights.toarray())
        assert np.array_equal(other.bias, one.bias)


def test_a_term_without_folds_is_loaded_without(term: LinearTerm) -> None:
    tensors = {name: tensor for name, tensor in term.to_tensors().items() if not name.startswith("fold.")}
    assert LinearTerm.from_tensors(tensors).folds == ()


def test_a_label_that_is_not_fitted_has_no_weights_and_no_bias_in_a_fold() -> None:
    made = simulate("chain", sequences=300, labels=1, event_types=20, seed=1).data
    sequences = [
        EventSequence(one.id, one.events, one.times, (*one.labels, *(("rare",) if at < 2 else ())))
        for at, one in enumerate(made)
    ]
    data = EventDataset.from_sequences(sequences)
    term, rare = fitted(data), data.label_names.index("rare")
    for fold in term.folds:
        assert not fold.weights.toarray()[:, rare].any()
        assert np.isnan(fold.bias).tolist() == [name == "rare" for name in data.label_names]
    again = LinearTerm.from_tensors(term.to_tensors())
    assert all(np.isnan(fold.bias[rare]) for fold in again.folds)


def test_a_label_is_fitted_on_the_sequences_for_which_it_is_known(data: EventDataset) -> None:
    carried = data.label_matrix().toarray() > 0
    known = carried | (np.random.default_rng(0).random(carried.shape) < 0.7)
    term = fitted(data.knowing(known))
    for label in range(2):
        rows = np.flatnonzero(known[:, label] & (fold_numbers(data) != 3))
        expected = refitted(term, data, rows, label)
        assert term.folds[3].weights.toarray()[:, label] == pytest.approx(expected.weights, abs=0.01)


def test_changes_of_a_fold_are_those_of_a_term_with_its_weights(data: EventDataset, term: LinearTerm) -> None:
    batch = Batches(data[:40], Vocabulary.from_dataset(data), LENGTH).take(np.arange(40))
    fold = term.folds[1]
    weights, bias = torch.tensor(fold.weights.toarray()), torch.tensor(fold.bias)
    expected = Hiding(LinearTerm(term.size, term.window, term.keys, weights, bias)).changes(batch)
    found = Hiding(term, 1).changes(batch)
    assert found.logits == pytest.approx(expected.logits)
    for name in ("rows", "labels", "ids", "taken"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name))
    assert found.logits != pytest.approx(Hiding(term).changes(batch).logits, abs=0.01)


def named(*names: str) -> EventDataset:
    return EventDataset.from_sequences([EventSequence(name, (), (), ()) for name in names])


def test_the_fold_of_a_sequence_depends_on_its_id_alone() -> None:
    many = named(*(f"{at:03}" for at in range(200)))
    numbers = fold_numbers(many)
    alone = [int(fold_numbers(named(f"{at:03}"))[0]) for at in range(200)]
    assert numbers.tolist() == alone
    assert fold_numbers(many.select(np.arange(199, -1, -1))).tolist() == alone[::-1]


def test_folds_are_of_about_the_same_size() -> None:
    numbers = fold_numbers(named(*(f"{at:04}" for at in range(2000))))
    assert (np.abs(np.bincount(numbers, minlength=N_FOLDS) - 400) < 80).all()


def test_sequences_of_a_group_are_in_one_fold_by_the_group_alone() -> None:
    groups = np.repeat(np.arange(40), 5)
    numbers = fold_numbers(named(*(f"{at:03}" for at in range(200))).in_groups(groups))
    assert all(len(np.unique(numbers[groups == group])) == 1 for group in range(40))
    assert len(np.unique(numbers)) == N_FOLDS
    renamed = named(*(f"other {at:03}" for at in range(200))).in_groups(groups)
    assert np.array_equal(fold_numbers(renamed), numbers)


def test_groups_leave_a_fold_together() -> None:
    made = simulate("chain", sequences=400, labels=1, event_types=20, seed=2).data
    data = made.in_groups(np.arange(400) // 4)
    term = fitted(data, LinearConfig(workers=1, penalties=(PENALTY,), families=("presence",)))
    rows = np.flatnonzero(fold_numbers(data) != 0)
    assert term.folds[0].weights.toarray()[:, 0] == pytest.approx(
        refitted(term, data, rows, 0).weights, abs=0.05
    )


def test_weights_keep_their_places_as_tensors() -> None:
    weights = np.array([[0.0, 2.5], [0.0, 0.0], [-1.5, 0.0]])
    fold = Fold(sp.csr_array(weights), np.array([0.5, np.nan]))
    again = Fold.from_tensors(fold.to_tensors(), (3, 2))
    assert np.array_equal(again.weights.toarray(), weights)
    assert again.bias[0] == 0.5
    assert np.isnan(again.bias[1])
