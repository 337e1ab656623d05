import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from eventcargo import ConfigError, EventCargoWarning
from eventcargo.batches import Batch, Batches
from eventcargo.models.density import DensityModel
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot import prefix
from eventcargo.oneshot.config import PrefixConfig
from eventcargo.oneshot.contexts import Contexts
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.thresholds import RelativeThreshold, StaticThreshold
from eventcargo.simulation.exact import ExactConfig, ExactProcess
from eventcargo.vocabulary import SPECIAL, UNK

Floats = NDArray[np.float64]
FIRST = len(SPECIAL)
N_LABELS = 6


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=100)


@pytest.fixture(scope="module")
def oracle(process: ExactProcess) -> Oracle:
    return Oracle(process)


@pytest.fixture(scope="module")
def batch(process: ExactProcess, oracle: Oracle) -> Batch:
    """Twelve sequences of 3 to 20 events, of several lengths."""
    return Batches(process.sample(12, seed=101).data, oracle.vocabulary, oracle.max_length).take(
        np.arange(12)
    )


@pytest.fixture(scope="module")
def transformer(oracle: Oracle) -> Transformer:
    """A network with random heads and an explicit term that also looks at the end."""
    size = len(oracle.vocabulary)
    keys = {"presence": np.array([5, 7]), "lateness": np.array([6 * 256 + 2])}
    draw = torch.Generator().manual_seed(1)
    weights = torch.randn(3, N_LABELS, generator=draw)
    term = LinearTerm(size, 4, keys, weights, torch.zeros(N_LABELS))
    model = Transformer(transformer_size("tiny"), oracle.vocabulary, oracle.label_names, linear=term).eval()
    for head in (model.label_head, model.end_head):
        torch.nn.init.normal_(head.weight, std=0.3, generator=draw)
    return model


def _score(
    model: DensityModel,
    batch: Batch,
    config: PrefixConfig,
    wanted: NDArray[np.bool_] | None = None,
    **given: Any,
) -> EventScores:
    everything = np.ones((len(batch.ids), N_LABELS), bool)
    seeds = given.pop("seeds", 50 + np.arange(len(batch.ids)))
    return PrefixTest(config, **given).score(model, batch, everything if wanted is None else wanted, seeds)


def _kl(p: Floats, q: Floats) -> Floats:
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def _events(batch: Batch, row: int) -> NDArray[np.int64]:
    return batch.ids[row, 1 : batch.lengths[row] - 1] - FIRST


OBSERVED = PrefixConfig(context=2, particles=0)
FIXED = PrefixConfig(context=2, particles=6, top_p=1.0, error=0.0)


def test_without_particles_strength_is_the_exact_divergence(
    process: ExactProcess, oracle: Oracle, batch: Batch
) -> None:
    scores = _score(oracle, batch, OBSERVED)
    for row in range(len(batch.ids)):
        exposed = process.label_posteriors(_events(batch, row))  # (positions, labels), BOS first
        expected = _kl(exposed[3:], exposed[2:-1]).T.ravel()
        assert np.allclose(scores.strength[scores.rows == row], expected, atol=1e-6)


def test_without_particles_effect_is_the_exact_change(
    process: ExactProcess, oracle: Oracle, batch: Batch
) -> None:
    scores = _score(oracle, batch, OBSERVED)
    exposed = process.label_posteriors(_events(batch, 0))
    assert np.allclose(scores.effect[scores.rows == 0], (exposed[3:] - exposed[2:-1]).T.ravel(), atol=1e-6)


def test_without_particles_there_is_no_spread_and_no_draw(oracle: Oracle, batch: Batch) -> None:
    scores = _score(oracle, batch, OBSERVED)
    assert not scores.effect_sd.any()
    assert not scores.particles.any()


def test_events_after_the_context_are_scored_and_marks_are_not(oracle: Oracle, batch: Batch) -> None:
    scores = _score(oracle, batch, FIXED)
    longest = int(batch.lengths.argmax())
    found = scores.positions[(scores.rows == longest) & (scores.labels == 0)]
    assert found.tolist() == list(range(3, batch.lengths[longest] - 1))


def test_the_scored_mask_is_what_is_scored(oracle: Oracle, batch: Batch) -> None:
    scores = _score(oracle, batch, FIXED)
    where = np.zeros(batch.ids.shape, bool)
    where[scores.rows, scores.positions] = True
    assert (PrefixTest(FIXED).scored(batch) == where).all()


def test_without_context_the_first_event_is_scored(
    process: ExactProcess, oracle: Oracle, batch: Batch
) -> None:
    scores = _score(oracle, batch, PrefixConfig(context=0, particles=0))
    exposed = process.label_posteriors(_events(batch, 0))
    assert scores.positions[0] == 1
    assert scores.strength[0] == pytest.approx(_kl(exposed[1, :1], exposed[0, :1])[0], abs=1e-6)


def test_sequences_within_the_context_are_not_scored(oracle: Oracle, batch: Batch) -> None:
    scores = _score(oracle, batch, replace(FIXED, context=8))
    assert set(scores.rows) == set(np.flatnonzero(batch.lengths - 2 > 8).tolist())


def test_sequences_too_short_for_an_edge_are_counted() -> None:
    test = PrefixTest(PrefixConfig(context=15), RelativeThreshold(2.75))
    with pytest.warns(EventCargoWarning, match="2 of 4 sequences have fewer than 25 events"):
        test.report_short(np.array([3, 24, 25, 90]))


def test_sequences_long_enough_are_not_reported() -> None:
    with warnings.catch_warnings(record=True) as told:
        PrefixTest(PrefixConfig(context=15), StaticThreshold(0.1)).report_short(np.array([16, 90]))
    assert told == []


@pytest.mark.parametrize("particles", [0, 6])
def test_a_batch_with_nothing_to_score_gives_no_scores(
    transformer: Transformer, batch: Batch, particles: int
) -> None:
    assert len(_score(transformer, batch, replace(FIXED, context=20, particles=particles))) == 0


def test_only_wanted_labels_are_scored_in_order(oracle: Oracle, batch: Batch) -> None:
    wanted = np.zeros((len(batch.ids), N_LABELS), bool)
    wanted[3, [1, 4]] = wanted[5, 2] = True
    scores = _score(oracle, batch, FIXED, wanted)
    pairs = list(dict.fromkeys(zip(scores.rows.tolist(), scores.labels.tolist(), strict=True)))
    assert pairs == [(row, label) for row, label in ((3, 1), (3, 4), (5, 2)) if batch.lengths[row] > 4]


def test_labels_wanted_beside_a_label_change_nothing(oracle: Oracle, batch: Batch) -> None:
    wanted = np.random.default_rng(6).random((len(batch.ids), N_LABELS)) < 0.4
    whole = _score(oracle, batch, FIXED)
    expected = whole.strength[wanted[whole.rows, whole.labels]]
    assert np.allclose(_score(oracle, batch, FIXED, wanted).strength, expected)


def test_sequences_of_no_wanted_label_are_not_computed(oracle: Oracle, batch: Batch) -> None:
    unknown = batch.rows(np.arange(len(batch.ids)))
    unknown.ids[0, 1] = UNK  # which the oracle refuses
    wanted = np.ones((len(batch.ids), N_LABELS), bool)
    wanted[0] = False
    assert set(_score(oracle, unknown, FIXED, wanted).rows) == set(np.flatnonzero(batch.lengths > 4)) - {0}


def _particles_by_hand(process: ExactProcess, oracle: Oracle, batch: Batch, row: int) -> Floats:
    """P(label | prefix) of every particle: (particles, positions, labels)."""
    seeds = 50 + np.arange(len(batch.ids))
    drawn = Contexts(oracle, batch, np.array([row]), seeds, FIXED).draw(row, FIXED.particles) - FIRST
    observed = _events(batch, row)
    return np.stack([process.label_posteriors(np.concatenate([of, observed[2:]])) for of in drawn])


def test_scores_are_means_over_particles(process: ExactProcess, oracle: Oracle, batch: Batch) -> None:
    row = int(batch.lengths.argmax())
    scores = _score(oracle, batch, FIXED)
    of_row = scores.take(scores.rows == row)
    exposed = _particles_by_hand(process, oracle, batch, row)
    after, before = exposed[:, 3:], exposed[:, 2:-1]
    assert np.allclose(of_row.strength, _kl(after, before).mean(axis=0).T.ravel(), atol=1e-6)
    assert np.allclose(of_row.effect, (after - before).mean(axis=0).T.ravel(), atol=1e-6)


def test_spread_is_the_deviation_of_the_effect_over_particles(
    process: ExactProcess, oracle: Oracle, batch: Batch
) -> None:
    row = int(batch.lengths.argmax())
    scores = _score(oracle, batch, replace(FIXED, tokens=50))  # particles come in parts
    exposed = _particles_by_hand(process, oracle, batch, row)
    expected = (exposed[:, 3:] - exposed[:, 2:-1]).std(axis=0, ddof=1).T.ravel()
    assert np.allclose(scores.effect_sd[scores.rows == row], expected, atol=1e-6)


def test_events_after_the_context_are_never_redrawn(
    process: ExactProcess, oracle: Oracle, batch: Batch
) -> None:
    # the divergence at the last event depends on the last two events and the label's automaton alone
    scores = _score(oracle, batch, replace(FIXED, top_k=1))
    row = int(batch.lengths.argmax())
    observed = _events(batch, row)
    drawn = [int(process.first.argmax()), int(process.following[observed[0]].argmax())]
    exposed = process.label_posteriors([*drawn, *observed[2:]])
    assert np.allclose(
        scores.strength[scores.rows == row], _kl(exposed[3:], exposed[2:-1]).T.ravel(), atol=1e-6
    )


@pytest.mark.parametrize("config", [OBSERVED, FIXED, replace(FIXED, particles=32, first_round=4, error=0.1)])
def test_what_stands_beside_a_sequence_changes_nothing(
    transformer: Transformer, batch: Batch, config: PrefixConfig
) -> None:
    whole, row = _score(transformer, batch, config), int(np.argsort(batch.lengths)[len(batch.ids) // 2])
    alone = batch.rows(np.array([row]), int(batch.lengths[row]))
    found = _score(transformer, alone, config, seeds=np.array([50 + row]))
    assert np.allclose(found.strength, whole.strength[whole.rows == row], rtol=1e-4, atol=1e-9)
    assert (found.particles == whole.particles[whole.rows == row]).all()


@pytest.mark.parametrize("tokens", [1, 64, 300])
def test_the_size_of_passes_changes_nothing(transformer: Transformer, batch: Batch, tokens: int) -> None:
    whole, parts = (_score(transformer, batch, replace(FIXED, tokens=n)) for n in (10_000, tokens))
    assert np.allclose(whole.strength, parts.strength, rtol=1e-4, atol=1e-9)


def test_the_number_of_draws_held_at_once_changes_nothing(
    oracle: Oracle, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _score(oracle, batch, FIXED)
    monkeypatch.setattr(prefix, "DRAWS_AT_ONCE", 100)
    assert np.allclose(_score(oracle, batch, FIXED).strength, whole.strength)


def test_a_term_that_looks_at_the_end_sees_the_end_only(transformer: Transformer, batch: Batch) -> None:
    """Posteriors before the end are those of the whole batch: particles keep their EOS."""
    scores = _score(transformer, batch, OBSERVED)
    labels = transformer.densities(batch, labels_at=batch.mask).labels
    assert labels is not None
    exposed = np.zeros((*batch.ids.shape, N_LABELS))
    exposed[batch.mask] = torch.sigmoid(labels.double()).detach().numpy()
    at = scores.rows, scores.positions, scores.labels
    before = scores.rows, scores.positions - 1, scores.labels
    assert np.allclose(scores.strength, _kl(exposed[at], exposed[before]), atol=1e-6)


def test_the_same_seed_gives_the_same_scores(oracle: Oracle, batch: Batch) -> None:
    assert (_score(oracle, batch, FIXED).strength == _score(oracle, batch, FIXED).strength).all()


def test_another_seed_gives_other_scores(oracle: Oracle, batch: Batch) -> None:
    other = _score(oracle, batch, FIXED, seeds=np.arange(len(batch.ids)))
    assert (_score(oracle, batch, FIXED).strength != other.strength).any()


ADAPTIVE = PrefixConfig(context=2, particles=64, first_round=4, error=0.05, top_p=1.0)


def test_rounds_add_up_to_the_particles() -> None:
    assert replace(ADAPTIVE, particles=68).rounds == (4, 4, 8, 16, 32, 4)


def test_without_error_all_particles_are_drawn_at_once() -> None:
    assert replace(ADAPTIVE, error=0.0).rounds == (64,)


def test_no_more_is_drawn_once_every_pair_is_settled(oracle: Oracle, batch: Batch) -> None:
    assert (_score(oracle, batch, ADAPTIVE, threshold=StaticThreshold(1e3)).particles == 4).all()


def test_all_is_drawn_while_a_decision_is_open(oracle: Oracle, batch: Batch) -> None:
    scores = _score(oracle, batch, replace(ADAPTIVE, error=1e-300), threshold=StaticThreshold(0.001))
    assert set(scores.particles.tolist()) == {64}


def test_a_sequence_whose_particles_agree_is_settled_at_once(oracle: Oracle, batch: Batch) -> None:
    assert (_score(oracle, batch, replace(ADAPTIVE, top_k=1)).particles == 4).all()


def test_adaptive_scores_are_means_over_all_rounds(oracle: Oracle, batch: Batch) -> None:
    """Rounds drawn by hand give the same means as the test that drew them one after the other."""
    config, row = replace(ADAPTIVE, particles=16), int(batch.lengths.argmax())
    scores = _score(oracle, batch, config, threshold=RelativeThreshold(1.0, floor=0.0))
    of_row = scores.take(scores.rows == row)
    seeds = 50 + np.arange(len(batch.ids))
    contexts = Contexts(oracle, batch, np.array([row]), seeds, config)
    drawn = np.concatenate([contexts.draw(row, n, done) for n, done in ((4, 0), (4, 4), (8, 8))])
    used = batch.rows(np.full(int(of_row.particles[0]), row))
    used.ids[:, 1:3] = drawn[: len(used.ids)]
    expected = _score(oracle, used, replace(OBSERVED))
    means = expected.strength.reshape(len(used.ids), -1).mean(axis=0)
    assert np.allclose(of_row.strength, means, atol=1e-9)


def test_stopping_early_decides_as_many_particles_do(process: ExactProcess, oracle: Oracle) -> None:
    """Sequences that were left early have no more wrong decisions, on average, than were allowed."""
    data = process.sample(12, seed=102).data
    batch = Batches(data, oracle.vocabulary, oracle.max_length).take(np.arange(12))
    limit, config = StaticThreshold(0.02), replace(ADAPTIVE, particles=128, error=0.4)
    early = _score(oracle, batch, config, threshold=limit)
    many = _score(oracle, batch, replace(config, particles=400, error=0.0), threshold=limit)
    left = early.particles < 128
    n_left = len(np.unique(early.rows[left]))
    assert n_left > 4
    assert (limit.keep(early) != limit.keep(many))[left].sum() <= 0.4 * n_left


def test_stratified_draws_vary_less(oracle: Oracle, batch: Batch) -> None:
    """Over many seeds, the variance of the strength is below that of independent draws."""
    row = np.array([int(batch.lengths.argmax())])
    many = batch.rows(np.repeat(row, 60))
    variances = []
    for draws in ("stratified", "independent"):
        config = replace(FIXED, draws=draws, particles=16)
        found = _score(oracle, many, config, seeds=np.arange(60)).strength.reshape(60, -1)
        variances.append(found.var(axis=0).sum())
    assert variances[0] < 0.6 * variances[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"particles": -1}, "particles=-1"),
        ({"first_round": 1}, "first_round=1"),
        ({"tokens": 0}, "tokens=0"),
        ({"error": float("inf")}, "error=inf"),
        ({"error": -0.1}, "error=-0.1"),
        ({"context": 0}, "nothing to redraw for particles=64"),
        ({"top_p": 2.0}, "top_p=2.0"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PrefixConfig(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"particles": 0, "context": 0}, {"first_round": 2}, {"tokens": 1}, {"error": 0.0}, {"particles": 1}],
)
def test_settings_on_the_edge_are_allowed(settings: dict[str, Any]) -> None:
    assert PrefixConfig(**settings)


def test_particles_carry_no_labels(process: ExactProcess, batch: Batch) -> None:
    """Labels of every particle would be copied for nothing: hundreds of numbers for each."""
    widths: set[int] = set()

    class Noting(Oracle):
        def densities(self, batch: Batch, **where: Any) -> Any:
            widths.add(batch.labels.shape[1])
            return super().densities(batch, **where)

    _score(Noting(process), batch, ADAPTIVE)
    assert widths == {0}
