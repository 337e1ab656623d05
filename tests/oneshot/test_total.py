from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from eventcargo import EventDataset
from eventcargo.batches import Batch, Batches
from eventcargo.models.counts import Counts
from eventcargo.models.density import DensityModel, end_logits, hidden, walk
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.scores import EventScores, bernoulli_kl
from eventcargo.oneshot.total import TotalTest, Types, reach
from eventcargo.simulation.exact import ExactConfig, ExactProcess
from eventcargo.vocabulary import UNK


def batch_of(model: DensityModel, data: EventDataset, n: int = 40) -> Batch:
    return Batches(data, model.vocabulary, model.max_length).take(np.arange(n))


def all_wanted(model: DensityModel, batch: Batch) -> np.ndarray:
    return np.ones((len(batch.ids), len(model.label_names)), bool)


def by_pair(scores: EventScores, batch: Batch) -> dict[tuple[int, int, int], tuple[float, float]]:
    ids = batch.ids[scores.rows, scores.positions]
    keys = zip(scores.rows.tolist(), scores.labels.tolist(), ids.tolist(), strict=True)
    return dict(zip(keys, zip(scores.strength.tolist(), scores.effect.tolist(), strict=True), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_an_oracle_finds_every_boundary_exactly(seed: int) -> None:
    process = ExactProcess.from_config(ExactConfig(), seed=200 + seed)
    model, simulated = Oracle(process), process.sample(250, seed=seed)
    found: dict[str, set[str]] = {name: set() for name in model.label_names}
    for _, batch in walk(model, simulated.data):
        scores = TotalTest().score(model, batch, all_wanted(model, batch))
        kept = scores.take(scores.strength > 0.2)
        for label, event in zip(kept.labels, batch.ids[kept.rows, kept.positions], strict=True):
            found[model.label_names[label]].add(model.vocabulary.decode([int(event)])[0])
    assert found == {name: set(simulated.truth.boundary(name)) for name in model.label_names}


def test_strength_and_effect_are_known_by_hand(oracle: Oracle) -> None:
    """Both literals of an AND hold the label up: from .02 without either to .98."""
    ids = np.array([[1, 4, 5, 2]])
    batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([4]), np.ones((1, 6), np.float32))
    wanted = np.arange(6)[None] == 0
    scores = TotalTest().score(oracle, batch, wanted)
    expected = 0.98 * np.log(0.98 / 0.02) + 0.02 * np.log(0.02 / 0.98)
    assert scores.positions.tolist() == [1, 2]
    assert scores.strength == pytest.approx(expected, rel=1e-4)
    assert scores.effect == pytest.approx(0.96, rel=1e-4)


def test_an_event_that_holds_a_label_down_has_a_negative_effect(oracle: Oracle) -> None:
    ids = np.array([[1, 8, 9, 2]])  # event types 4 and 5: the rule is 4 and not 5
    batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([4]), np.zeros((1, 6), np.float32))
    scores = TotalTest().score(oracle, batch, np.arange(6)[None] == 2)
    effects = {
        int(batch.ids[0, at]): effect for at, effect in zip(scores.positions, scores.effect, strict=True)
    }
    assert effects[9] == pytest.approx(-0.96, rel=1e-4)
    assert effects[8] == pytest.approx(0.0, abs=1e-6)


def test_all_occurrences_of_a_type_are_hidden_at_once(oracle: Oracle) -> None:
    ids = np.array([[1, 4, 5, 4, 2]])
    batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([5]), np.ones((1, 6), np.float32))
    scores = TotalTest().score(oracle, batch, np.arange(6)[None] == 0)
    assert scores.positions.tolist() == [1, 2]  # a repeated type is told by its first occurrence
    assert scores.effect == pytest.approx(0.96, rel=1e-4)


def test_sums_give_what_forward_passes_give(fitted: Transformer, chain: EventDataset) -> None:
    batch = batch_of(fitted, chain)
    wanted = all_wanted(fitted, batch) & fitted.linear_labels
    summed = by_pair(TotalTest().score(fitted, batch, wanted), batch)
    fitted.gate.fill_(1.0)  # all labels now need passes; without its head the Transformer adds nothing
    head = fitted.end_head.weight.data.clone()
    fitted.end_head.weight.data.zero_()
    passed = by_pair(TotalTest().score(fitted, batch, wanted), batch)
    fitted.end_head.weight.data.copy_(head)
    fitted.gate.copy_(torch.tensor([0.0, 1.0, 0.0]))
    assert len(summed) > 50
    for key, values in passed.items():
        assert summed.get(key, (0.0, 0.0)) == pytest.approx(values, abs=1e-4)


def test_a_label_that_is_never_expected_is_moved_by_nothing_above_its_cap(
    fitted: Transformer, chain: EventDataset
) -> None:
    model, batch = deepcopy(fitted), batch_of(fitted, chain)
    model.never_predict(np.array([0]), rate=1e-9)
    scores = TotalTest().score(model, batch, np.arange(3) == np.zeros((len(batch.ids), 1)))
    assert len(scores)
    assert scores.strength.max() < 1e-6


def test_strength_is_the_divergence_of_the_whole_from_what_is_left(
    fitted: Transformer, chain: EventDataset
) -> None:
    batch, label = batch_of(fitted, chain, 3), np.array([0])
    types = Types.of(batch)
    copies = hidden(batch, types.rows, types.ids[:, None])
    whole, left = end_logits(fitted, batch, label), end_logits(fitted, copies, label)
    expected = bernoulli_kl(torch.from_numpy(whole[types.rows]), torch.from_numpy(left)).numpy()[:, 0]
    found = by_pair(TotalTest().score(fitted, batch, all_wanted(fitted, batch)), batch)
    pairs = zip(types.rows.tolist(), types.ids.tolist(), strict=True)
    assert [found.get((row, 0, kind), (0.0, 0.0))[0] for row, kind in pairs] == pytest.approx(
        expected, abs=1e-4
    )


def test_labels_that_need_the_transformer_get_it(fitted: Transformer, chain: EventDataset) -> None:
    batch = batch_of(fitted, chain, 5)
    assert fitted.linear_labels.tolist() == [True, False, True]
    scores = TotalTest().score(fitted, batch, all_wanted(fitted, batch))
    types = Types.of(batch)
    assert (scores.labels == 1).sum() == len(types.rows)  # a pass for every type, and hardly any is 0
    assert (scores.strength[scores.labels == 1] > 0).mean() > 0.9


def test_other_models_have_no_explicit_labels(oracle: Oracle) -> None:
    assert not oracle.linear_labels.any()


@pytest.mark.parametrize("labels", [[0], [1], [0, 2]])
def test_only_wanted_labels_are_scored(fitted: Transformer, chain: EventDataset, labels: list[int]) -> None:
    batch = batch_of(fitted, chain, 10)
    wanted = np.zeros((10, 3), bool)
    wanted[3:5, labels] = True
    scores = TotalTest().score(fitted, batch, wanted)
    assert set(scores.labels.tolist()) == set(labels)
    assert set(scores.rows.tolist()) <= {3, 4}


def test_scores_are_sorted(fitted: Transformer, chain: EventDataset) -> None:
    scores = TotalTest().score(fitted, batch := batch_of(fitted, chain, 10), all_wanted(fitted, batch))
    order = np.lexsort((scores.positions, scores.labels, scores.rows))
    assert np.array_equal(order, np.arange(len(order)))


def test_what_stands_beside_a_sequence_changes_nothing(fitted: Transformer, chain: EventDataset) -> None:
    batch = batch_of(fitted, chain, 20)
    together = by_pair(TotalTest().score(fitted, batch, all_wanted(fitted, batch)), batch)
    alone_batch = Batches(chain, fitted.vocabulary, fitted.max_length).take(np.array([7]))
    alone = by_pair(TotalTest().score(fitted, alone_batch, all_wanted(fitted, alone_batch)), alone_batch)
    for (_, label, kind), values in alone.items():
        assert together[7, label, kind] == pytest.approx(values, abs=1e-5)


def test_models_of_counts_can_be_asked(chain: EventDataset) -> None:
    model = Counts.fit(chain)
    batch = batch_of(model, chain, 5)
    scores = TotalTest().score(model, batch, all_wanted(model, batch))
    assert len(scores) == 3 * len(Types.of(batch).rows)


def test_no_wanted_label_gives_no_scores(fitted: Transformer, chain: EventDataset) -> None:
    batch = batch_of(fitted, chain, 5)
    assert len(TotalTest().score(fitted, batch, np.zeros((5, 3), bool))) == 0


def test_a_hidden_type_is_unknown_in_its_own_copy_only() -> None:
    ids = np.array([[1, 4, 5, 4, 2], [1, 5, 2, 0, 0]])
    batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([5, 3]), np.zeros((2, 0), np.float32))
    types = Types.of(batch)
    found = hidden(batch, types.rows, types.ids[:, None])
    assert found.ids.tolist() == [[1, UNK, 5, UNK, 2], [1, 4, UNK, 4, 2], [1, UNK, 2, 0, 0]]
    assert found.lengths.tolist() == [5, 5, 3]


def test_copies_are_as_wide_as_they_need_to_be() -> None:
    ids = np.array([[1, 4, 5, 4, 2], [1, 5, 2, 0, 0]])
    batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([5, 3]), np.zeros((2, 0), np.float32))
    types = Types.of(batch)
    assert hidden(batch, types.rows[2:3], types.ids[2:3, None]).ids.tolist() == [[1, UNK, 2]]


def test_what_is_unknown_is_not_hidden() -> None:
    ids = np.array([[1, UNK, 4, 2]])
    batch = Batch(ids, np.zeros(ids.shape, np.float32), np.array([4]), np.zeros((1, 0), np.float32))
    assert Types.of(batch).ids.tolist() == [4]


def test_reach_is_the_highest_logit_with_one_type_hidden(fitted: Transformer, chain: EventDataset) -> None:
    batch = batch_of(fitted, chain, 12)
    found = reach(fitted, batch)
    for label in np.flatnonzero(fitted.linear_labels):
        for row in range(12):
            one = replace(
                batch,
                **{
                    name: getattr(batch, name)[[row]]
                    for name in ("ids", "times", "lengths", "labels", "values")
                },
            )
            types = Types.of(one)
            copies = hidden(one, types.rows, types.ids[:, None])
            logits = [
                fitted.densities(part, labels_at=part.at_end, label_columns=np.array([label])).labels
                for part in (one, copies)
            ]
            highest = max(float(part.detach().max()) for part in logits if part is not None)
            assert found[row, label] == pytest.approx(highest, abs=1e-3)


def test_reach_without_an_explicit_term_is_the_logit(oracle: Oracle, sampled: EventDataset) -> None:
    batch = batch_of(oracle, sampled, 5)
    logits = oracle.densities(batch, labels_at=batch.at_end).labels
    assert logits is not None
    assert reach(oracle, batch) == pytest.approx(logits.double().numpy())
