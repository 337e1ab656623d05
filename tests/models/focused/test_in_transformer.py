"""A Transformer with focused networks answers all questions of a `DensityModel` consistently."""

from pathlib import Path

import numpy as np
import pytest
import torch

from eventcargo.batches import Batches
from eventcargo.events import EventDataset
from eventcargo.models.calibration import Calibration
from eventcargo.models.density import DensityModel, end_logits
from eventcargo.models.focused.fit import FocusedConfig, fit_focused
from eventcargo.models.focused.term import HELD_FOLD
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.total import TotalTest, Types
from eventcargo.simulation import simulate
from eventcargo.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return simulate("window", sequences=2_500, labels=2, seed=100).data


@pytest.fixture(scope="module")
def model(data: EventDataset) -> Transformer:
    """A model of whose two labels the second has an open gate."""
    vocabulary = Vocabulary.from_dataset(data)
    linear = fit_linear(data, vocabulary, 96)
    focused = fit_focused(data, vocabulary, 96, linear, FocusedConfig(candidates=5, width=16, epochs=6))
    assert focused is not None
    assert focused.labels.tolist() == [0, 1]
    made = Transformer(
        transformer_size("tiny", max_length=96), vocabulary, data.label_names, linear=linear, focused=focused
    ).eval()
    made.calibrate(Calibration(np.array([0.0, 1.0]), np.array([1.0, 0.7]), np.array([1.0, 0.5])))
    return made


def test_a_shut_gate_leaves_the_linear_term(model: Transformer, data: EventDataset) -> None:
    batch = Batches(data, model.vocabulary, 96).take(np.arange(40))
    found, term = end_logits(model, batch, np.arange(2)), model.linear.logits(batch, batch.at_end).numpy()  # type: ignore[union-attr]
    np.testing.assert_allclose(found[:, 0], term[:, 0], rtol=1e-5)
    assert not np.allclose(found[:, 1], 0.7 * term[:, 1], atol=0.1)
    assert model.linear_labels.tolist() == [True, False]


def test_hiding_by_projection_is_hiding_in_the_sequence(model: Transformer, data: EventDataset) -> None:
    batch = Batches(data, model.vocabulary, 96).take(np.arange(12))
    types = Types.of(batch)
    labels = np.arange(len(types.ids)) % 2
    pairs = np.stack([types.ids, np.roll(types.ids, 1)], axis=1)
    for ids in (types.ids[:, None], pairs):
        found = model.hidden_logits(batch, types.rows, ids, labels)
        expected = DensityModel.hidden_logits(model, batch, types.rows, ids, labels)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_event_types_that_do_not_matter_change_nothing(model: Transformer, data: EventDataset) -> None:
    batch = Batches(data, model.vocabulary, 96).take(np.arange(12))
    types, matters = Types.of(batch), model.hiding_matters(np.array([1]))
    assert matters is not None
    candidates = model.focused.candidates[1]  # type: ignore[union-attr]
    assert np.flatnonzero(matters[0]).tolist() == sorted(candidates[candidates > 0])
    labels = np.ones(len(types.ids), np.int64)
    without = DensityModel.hidden_logits(model, batch, types.rows, types.ids[:, None], labels)
    whole = end_logits(model, batch, np.array([1]))[types.rows, 0]
    changed = np.abs(without - whole) > 1e-4
    assert not changed[~matters[0, types.ids]].any()
    assert changed.any()


def test_the_total_test_scores_the_candidates(model: Transformer, data: EventDataset) -> None:
    batch = Batches(data, model.vocabulary, 96).take(np.arange(12))
    scores = TotalTest().score(model, batch, np.ones((12, 2), bool))
    own = scores.labels == 1
    ids = batch.ids[scores.rows[own], scores.positions[own]]
    assert set(ids.tolist()) <= set(model.focused.candidates[1].tolist())  # type: ignore[union-attr]
    assert scores.strength[own].max() > 0.1


def test_before_the_end_the_label_is_that_of_the_prefix(model: Transformer, data: EventDataset) -> None:
    batch = Batches(data, model.vocabulary, 96).take(np.arange(6))
    at = np.zeros(batch.ids.shape, bool)
    at[:, 10] = True
    found = model.densities(batch, labels_at=at, label_columns=np.array([1])).labels
    assert found is not None
    logits = model.focused.logits(batch, 1, np.arange(6), np.full(6, 10))  # type: ignore[union-attr]
    np.testing.assert_allclose(found[:, 0].detach().numpy(), 0.5 * logits, atol=1e-4)


def test_particles_have_the_labels_of_their_prefixes(model: Transformer, data: EventDataset) -> None:
    rows = np.repeat(np.arange(2), 3)
    batch = Batches(data, model.vocabulary, 96).take(rows)
    columns = [np.array([0, 1]), np.array([1])]
    found = model.particle_labels(batch, 3, 4, columns)
    expected = DensityModel.particle_labels(model, batch, 3, 4, columns)
    for pair, sequence in enumerate([0, 0, 1]):
        length = int(batch.lengths[3 * sequence]) - 1 - 3
        np.testing.assert_allclose(
            found[pair, :, :length], expected[pair, :, :length].detach().numpy(), atol=1e-4
        )


def test_evidence_comes_from_the_fold_that_the_networks_left_out(
    model: Transformer, data: EventDataset
) -> None:
    batch = Batches(data, model.vocabulary, 96).take(np.arange(20))
    for fold in range(HELD_FOLD + 1):
        changes = model.fold_changes(batch, fold)
        assert changes is not None
        assert (changes.labels == 1).any() == (fold == HELD_FOLD)
        assert (changes.labels == 0).any()
    assert changes is not None
    own = changes.labels == 1
    labels = np.ones(int(own.sum()), np.int64)
    without = model.hidden_logits(batch, changes.rows[own], changes.ids[own, None], labels)
    expected = changes.slope[1] * (changes.logits[changes.rows[own], 1] - changes.taken[own])
    np.testing.assert_allclose(without, expected, atol=1e-4)
    order = np.lexsort((changes.ids, changes.labels, changes.rows))
    assert (order == np.arange(len(order))).all()


def test_a_saved_model_answers_the_same(model: Transformer, data: EventDataset, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path / "model")
    loaded = Transformer.from_pretrained(tmp_path / "model")
    batch = Batches(data, model.vocabulary, 96).take(np.arange(6))
    one, other = (end_logits(each, batch, np.arange(2)) for each in (model, loaded))
    assert one.tolist() == other.tolist()
    assert loaded.fingerprint == model.fingerprint
    with torch.no_grad():
        loaded.focused.network.bias += 1  # type: ignore[union-attr]
    assert loaded.fingerprint != model.fingerprint
