"""Pooled evidence against the log-likelihoods of sequences in which an event type is really hidden."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from scipy.special import expit

from eventcargo import EdgeTable, EventDataset, Vocabulary
from eventcargo.batches import Batches
from eventcargo.edges import GRAINS, POOLED, SQUARE_GRAINS
from eventcargo.models.calibration import Calibration
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.linear.folds import N_FOLDS, fold_numbers
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.loading import load_model
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import CasesConfig, ExtractConfig, PrefixConfig
from eventcargo.oneshot.extract import extract
from eventcargo.oneshot.pooled import PooledEvidence
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import BLOCK, ConfiguredTest, blocks, score_shard, sequence_seeds
from eventcargo.oneshot.thresholds import StaticThreshold
from eventcargo.oneshot.total import TotalTest
from eventcargo.vocabulary import UNK

from ..families import drawn
from .conftest import SHAPE

Pair = tuple[str, str]


@pytest.fixture(scope="module")
def data() -> EventDataset:
    """Three labels: of several weak causes, of an order, and of an inhibitor."""
    rng, chances = np.random.default_rng(1), dict.fromkeys("abcdefghijkl", 0.4)
    sequences = []
    for one in drawn(700, chances, lambda events: float(expit(len(events & set("abcdef")) - 3.0))):
        events = one.events
        is_ordered = {"g", "h"} <= set(events) and events.index("g") < events.index("h")
        rates = {"of order": 0.9 if is_ordered else 0.1, "without i": 0.1 if "i" in events else 0.6}
        own = (name for name, rate in rates.items() if rng.random() < rate)
        sequences.append(replace(one, labels=(*one.labels, *own)))
    return EventDataset.from_sequences(sequences)


@pytest.fixture(scope="module")
def model(data: EventDataset) -> Transformer:
    """Labels with slopes of their own; the first is never certain, the second needs the Transformer."""
    vocabulary = Vocabulary.from_dataset(data)
    term = fit_linear(data, vocabulary, SHAPE.max_length, LinearConfig(workers=1, penalties=(2.0,)))
    made = Transformer(SHAPE, vocabulary, data.label_names, linear=term).eval()
    made.calibrate(Calibration(np.array([0.0, 1.0, 0.0]), np.array([1.2, 0.9, 1.0]), np.ones(3)))
    made.label_cap[0] = 0.3
    return made


def pooled_of(
    model: Transformer | Oracle, data: EventDataset, allowed: np.ndarray | None = None
) -> pl.DataFrame:
    """The sums of a shard with all sequences."""
    seeds = sequence_seeds(data, 0)
    tests = [ConfiguredTest(TotalTest(allowed), StaticThreshold(0.2), allowed=allowed)]
    return score_shard(model, data, select_cases(model, data, CasesConfig(), seeds), tests, seeds).pooled


def with_weights(term: LinearTerm, fold: int) -> LinearTerm:
    """A term of doubles with the weights of a fold."""
    own = term.folds[fold]
    tensors = (torch.tensor(each, dtype=torch.float64) for each in (own.weights.toarray(), own.bias))
    return LinearTerm(term.size, term.window, term.keys, *tensors)


def evidence_by_sequence(
    model: Transformer, data: EventDataset
) -> dict[Pair, list[tuple[int, float, float]]]:
    """For each label and event type the sequences that hiding changes, their evidence and their effects."""
    batch = Batches(data, model.vocabulary, model.max_length).take(np.arange(len(data)))
    folds, carried = fold_numbers(data), data.label_matrix().toarray() > 0
    slope, cap = model.end_slope.double().numpy(), model.label_cap.double().numpy()
    found = defaultdict[Pair, list[tuple[int, float, float]]](list)
    assert model.linear is not None
    terms = [with_weights(model.linear, fold) for fold in range(N_FOLDS)]

    def probabilities(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the labels of all sequences, by the weights without their fold; and what was linear."""
        hidden = replace(batch, ids=ids)
        logits = np.stack([term.logits(hidden, batch.at_end).numpy() for term in terms])
        own = logits[folds, np.arange(len(data))]
        return expit(np.minimum(own * slope, cap)), own

    whole, linear = probabilities(batch.ids)
    for kind in np.unique(batch.ids[batch.ids > UNK]):
        without, left = probabilities(np.where(batch.ids == kind, UNK, batch.ids))
        gains = np.log(np.where(carried, whole, 1 - whole)) - np.log(np.where(carried, without, 1 - without))
        for row, label in zip(*np.nonzero(np.abs(linear - left) > 1e-9), strict=True):
            pair = (data.label_names[label], model.vocabulary.decode([kind])[0])
            found[pair].append((row, gains[row, label], (whole - without)[row, label]))
    return found


def expected(found: dict[Pair, list[tuple[int, float, float]]], groups: np.ndarray) -> pl.DataFrame:
    """The table in nats."""
    rows = []
    for (label, event), each in sorted(found.items()):
        by_group = defaultdict[int, float](float)
        for row, evidence, _ in each:
            by_group[int(groups[row])] += evidence
        squares = [
            sum(value**2 for value in values) for values in ([one[1] for one in each], by_group.values())
        ]
        rows.append(
            (label, event, len(each), sum(one[1] for one in each), sum(one[2] for one in each), *squares)
        )
    return pl.DataFrame(rows, schema=list(POOLED), orient="row")


def in_nats(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("evidence", "effect") / GRAINS, pl.col("squares", "group_squares") / SQUARE_GRAINS
    )


def check(found: pl.DataFrame, direct: pl.DataFrame) -> None:
    assert len(found) > 20
    assert_frame_equal(
        in_nats(found), direct, check_dtypes=False, check_exact=False, rel_tol=1e-4, abs_tol=5e-3
    )


def test_evidence_is_what_hiding_costs_by_weights_that_have_not_seen_the_sequence(
    model: Transformer, data: EventDataset
) -> None:
    direct = expected(evidence_by_sequence(model, data), np.arange(len(data)))
    found = pooled_of(model, data)
    assert dict(found.schema) == POOLED
    check(found, direct)
    evidence = in_nats(found)["evidence"].to_numpy()
    assert evidence == pytest.approx(direct["evidence"].to_numpy(), abs=1e-5)
    assert evidence.max() > 50


def test_evidence_is_that_of_sequences_with_and_without_the_label(
    model: Transformer, data: EventDataset
) -> None:
    found, pair = evidence_by_sequence(model, data), ("bad", "a")
    carried = data.label_matrix().toarray()[:, data.label_names.index(pair[0])] > 0
    rows = {
        is_carried: [one for one in found[pair] if carried[one[0]] == is_carried] for is_carried in (0, 1)
    }
    assert all(len(rows[is_carried]) > 5 for is_carried in (0, 1))
    assert sum(one[1] for one in rows[0]) < 0 < sum(one[1] for one in rows[1])  # a promotes it
    (row,) = pooled_of(model, data).filter(label=pair[0], event=pair[1]).iter_rows(named=True)
    assert row["sequences"] == len(rows[0]) + len(rows[1])


def test_without_groups_squares_of_groups_are_those_of_sequences(
    model: Transformer, data: EventDataset
) -> None:
    found = pooled_of(model, data)
    assert found["squares"].to_list() == found["group_squares"].to_list()


@pytest.mark.parametrize("size", [2, 25])
def test_the_evidence_of_a_group_is_squared_as_one(model: Transformer, data: EventDataset, size: int) -> None:
    scattered = np.arange(len(data)) % (len(data) // size)
    grouped = data.in_groups(scattered)
    found = pooled_of(model, grouped)
    check(found, expected(evidence_by_sequence(model, grouped), scattered))
    assert found["squares"].to_list() != found["group_squares"].to_list()


@pytest.mark.parametrize("n_groups", [None, 150])
def test_parts_add_up_to_the_same_whole_numbers(
    model: Transformer, data: EventDataset, n_groups: int | None
) -> None:
    data = data.in_groups(None if n_groups is None else np.arange(len(data)) % n_groups)
    whole = pooled_of(model, data)
    names = data.group_numbers % 3
    parts = [pooled_of(model, data.select(np.flatnonzero(names == part))) for part in range(3)]
    empty = EdgeTable.join([])
    joined = EdgeTable.join([replace(empty, pooled=part) for part in parts[::-1]]).pooled
    assert_frame_equal(joined, whole, check_exact=True)


def test_the_order_of_sequences_changes_nothing(model: Transformer, data: EventDataset) -> None:
    mixed = data.select(np.random.default_rng(0).permutation(len(data)))
    assert_frame_equal(pooled_of(model, mixed), pooled_of(model, data), check_exact=True)


@pytest.mark.parametrize("shard", [BLOCK, 2 * BLOCK, 10_000])
def test_the_size_of_shards_changes_nothing(
    model: Transformer, data: EventDataset, tmp_path: Path, shard: int
) -> None:
    data = data.in_groups(np.random.default_rng(0).zipf(1.6, len(data)) % 150)
    config = ExtractConfig(shard=shard, workers=1, max_cases=5)
    folder = extract(model, data, tmp_path / "edges", config)
    assert (folder.n_shards > 1) == (shard < 10_000)
    assert_frame_equal(EdgeTable.read(folder.folder).pooled, pooled_of(model, data), check_exact=True)


def test_evidence_counts_all_sequences_however_few_are_tested(
    model: Transformer, data: EventDataset, tmp_path: Path
) -> None:
    config = ExtractConfig(workers=1, max_cases=5)
    folder = extract(model, data, tmp_path / "edges", config)
    assert EdgeTable.read(folder.folder).support["sequences"].min() == 5
    assert_frame_equal(EdgeTable.read(folder.folder).pooled, pooled_of(model, data), check_exact=True)


def test_blocks_split_no_group(model: Transformer, data: EventDataset) -> None:
    data = data.in_groups(np.arange(len(data)) % 40)
    assert len(blocks(data)) > 1
    evidence, once = PooledEvidence(model, data, None), PooledEvidence(model, data, None)
    for block in blocks(data):
        evidence.add(block, Batches(data.select(block), model.vocabulary, model.max_length))
    every = np.arange(len(data))
    once.add(every, Batches(data, model.vocabulary, model.max_length))
    names = [pl.Series(each, dtype=pl.String) for each in (model.label_names, _events(model))]
    first, second = (each.table(*names).sort("label", "event") for each in (evidence, once))
    assert_frame_equal(first, second, check_exact=True)


def _events(model: Transformer) -> list[str]:
    return list(model.vocabulary.decode(range(len(model.vocabulary))))


def test_sequences_for_which_a_label_is_not_known_say_nothing_about_it(
    model: Transformer, data: EventDataset
) -> None:
    carried = data.label_matrix().toarray() > 0
    known = carried | (np.random.default_rng(0).random(carried.shape) < 0.5)
    found = evidence_by_sequence(model, data)
    own = {
        pair: [one for one in each if known[one[0], data.label_names.index(pair[0])]]
        for pair, each in found.items()
    }
    assert sum(map(len, own.values())) < 0.9 * sum(map(len, found.values()))
    check(pooled_of(model, data.knowing(known)), expected(own, np.arange(len(data))))


def test_pairs_that_may_not_be_edges_have_no_evidence(model: Transformer, data: EventDataset) -> None:
    whole = pooled_of(model, data)
    allowed = np.random.default_rng(0).random((len(data.label_names), len(model.vocabulary))) < 0.5
    ids = dict(zip(_events(model), range(len(model.vocabulary)), strict=True))
    inside = [
        bool(allowed[data.label_names.index(label), ids[event]])
        for label, event in whole.select("label", "event").iter_rows()
    ]
    assert 0 < sum(inside) < len(inside)
    assert_frame_equal(pooled_of(model, data, allowed), whole.filter(inside), check_exact=True)


def test_evidence_of_a_saved_model_is_the_same_to_the_last_grain(
    model: Transformer, data: EventDataset, tmp_path: Path
) -> None:
    model.save_pretrained(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, Transformer)
    assert_frame_equal(pooled_of(loaded, data), pooled_of(model, data), check_exact=True)


def test_a_model_without_folds_has_no_evidence(
    oracle: Oracle, sampled: EventDataset, model: Transformer, data: EventDataset
) -> None:
    assert model.linear is not None
    bare = Transformer(
        SHAPE, model.vocabulary, model.label_names, linear=replace(model.linear, folds=())
    ).eval()
    assert pooled_of(bare, data).is_empty()
    assert pooled_of(oracle, sampled).is_empty()


def test_the_prefix_test_alone_gives_no_evidence(model: Transformer, data: EventDataset) -> None:
    data, cut = data[:20], StaticThreshold(0.05)
    test = ConfiguredTest(PrefixTest(PrefixConfig(context=2, particles=4), cut), cut, ("present",))
    seeds = sequence_seeds(data, 0)
    cases = select_cases(model, data, CasesConfig(), seeds)
    assert score_shard(model, data, cases, [test], seeds).pooled.is_empty()
    both = [test, ConfiguredTest(TotalTest(), StaticThreshold(0.2))]
    assert len(score_shard(model, data, cases, both, seeds).pooled)


def test_a_label_without_weights_has_no_evidence(data: EventDataset) -> None:
    two = [replace(one, labels=(*one.labels, *(("rare",) if at < 2 else ()))) for at, one in enumerate(data)]
    more = EventDataset.from_sequences(two)
    vocabulary = Vocabulary.from_dataset(more)
    term = fit_linear(more, vocabulary, SHAPE.max_length, LinearConfig(workers=1))
    found = pooled_of(Transformer(SHAPE, vocabulary, more.label_names, linear=term).eval(), more)
    assert sorted(found["label"].unique()) == list(data.label_names)
