import numpy as np
import pytest

from eventcargo.batches import Batches
from eventcargo.models import Oracle
from eventcargo.models.counts import Counts
from eventcargo.models.density import hidden
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import CasesConfig, PrefixConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import ConfiguredTest, score_shard, sequence_seeds
from eventcargo.oneshot.thresholds import StaticThreshold
from eventcargo.oneshot.total import TotalTest, Types
from eventcargo.simulation.exact import ExactConfig, ExactProcess


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=1)


def test_every_label_has_its_carriers_of_all_sequences(process: ExactProcess) -> None:
    data, model = process.sample(40, seed=2).data, Oracle(process)
    seeds = sequence_seeds(data, 0)
    table = score_shard(
        model,
        data,
        select_cases(model, data, CasesConfig(), seeds),
        [ConfiguredTest(TotalTest(), StaticThreshold(0.2))],
        seeds,
    )
    told = {label: (positives, n) for label, positives, n in table.positives.iter_rows()}
    assert told == {
        label: (count, 40) for label, count in zip(data.label_names, data.support.tolist(), strict=True)
    }


def test_unknown_sequences_do_not_count_among_those_of_a_label(process: ExactProcess) -> None:
    data, model = process.sample(40, seed=2).data, Oracle(process)
    carried = data.label_matrix().toarray() > 0
    data = data.knowing(carried | (np.arange(40) < 10)[:, None])
    seeds = sequence_seeds(data, 0)
    cases = select_cases(model, data, CasesConfig(), seeds)
    table = score_shard(model, data, cases, [ConfiguredTest(TotalTest(), StaticThreshold(0.2))], seeds)
    expected = (carried.sum(axis=0) + (~carried[:10]).sum(axis=0)).tolist()
    assert table.positives["sequences"].to_list() == expected


def entropy(p: float) -> float:
    return float(-p * np.log(p) - (1 - p) * np.log1p(-p))


def test_an_edge_tells_of_the_label_without_its_event(process: ExactProcess) -> None:
    data = process.sample(40, seed=2).data
    model = Counts.fit(data)  # the exact probabilities have the same entropy with and without the event
    batch = Batches(data, model.vocabulary, model.max_length).take(np.arange(3))
    scores = TotalTest().score(model, batch, np.ones((3, 6), bool))
    assert scores.before is not None
    assert scores.entropy is not None
    types, best = Types.of(batch), int(scores.strength.argmax())
    at = np.flatnonzero((types.rows == scores.rows[best]) & (types.positions == scores.positions[best]))
    without = hidden(batch, types.rows[at], types.ids[at, None])
    logits = model.densities(without, labels_at=without.at_end, label_columns=scores.labels[[best]]).labels
    assert logits is not None
    p = float(logits.double().sigmoid())
    assert scores.before[best] == pytest.approx(p)
    assert scores.entropy == pytest.approx([entropy(p) for p in scores.before], abs=1e-9)


def test_the_prefix_test_tells_of_the_label_before_the_event(process: ExactProcess) -> None:
    data, model = process.sample(1, seed=2).data, Oracle(process)
    batch = Batches(data, model.vocabulary, model.max_length).take(np.arange(1))
    wanted = np.ones((1, 6), bool)
    scores = PrefixTest(PrefixConfig(context=0, particles=0)).score(
        model, batch, wanted, np.zeros(1, np.int64)
    )
    assert scores.before is not None
    assert scores.entropy is not None
    follows = np.flatnonzero((np.diff(scores.positions) == 1) & (np.diff(scores.labels) == 0))
    after = scores.before[follows] + scores.effect[follows]
    assert scores.before[follows + 1] == pytest.approx(after)
    assert scores.entropy == pytest.approx([entropy(p) for p in scores.before], abs=1e-9)


def test_the_particles_of_all_rounds_are_in_the_means(process: ExactProcess) -> None:
    data, model = process.sample(1, seed=2).data, Oracle(process)
    batch = Batches(data, model.vocabulary, model.max_length).take(np.arange(1))
    wanted, seeds = np.ones((1, 6), bool), np.zeros(1, np.int64)
    apart = PrefixConfig(context=2, particles=16, first_round=8, error=1e-12, draws="independent")
    scores = PrefixTest(apart).score(model, batch, wanted, seeds)
    assert scores.before is not None
    follows = np.flatnonzero((np.diff(scores.positions) == 1) & (np.diff(scores.labels) == 0))
    assert scores.before[follows + 1] == pytest.approx(scores.before[follows] + scores.effect[follows])
