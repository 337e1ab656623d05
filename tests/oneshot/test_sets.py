from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from eventcargo import EdgeTable, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.edges import voting
from eventcargo.event_kinds import EventKinds
from eventcargo.features import N_BUCKETS
from eventcargo.fusion.vote_store import run_votes
from eventcargo.models.calibration import Calibration
from eventcargo.models.density import DensityModel, HidingChanges, end_logits
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.oneshot.score_shard import BLOCK
from eventcargo.oneshot.scores import bernoulli_kl
from eventcargo.oneshot.sets import NONE, EventSets
from eventcargo.oneshot.total import TotalTest, minimal_sets
from eventcargo.simulation.exact import ExactConfig, ExactProcess
from eventcargo.vocabulary import SPECIAL

THRESHOLD = 0.2
NAMES = "abcdefgh"
SHAPE = TransformerConfig(width=16, layers=1, heads=2, feedforward=16, max_length=32)
FIRST = len(SPECIAL)
WINDOW = 16
"""Longer than the sequences, because a forward pass takes several hidden event types for one."""
Sets = dict[tuple[int, int], dict[frozenset[int], tuple[float, float]]]
"""By row and label, for each set its strength and effect."""


def model_of(
    keys: dict[str, np.ndarray],
    weights: np.ndarray,
    bias: np.ndarray,
    slope: float = 1.0,
    gate: float = 0.0,
    kinds: EventKinds | None = None,
) -> Transformer:
    """A model whose labels are the linear term alone, unless the gate is open."""
    vocabulary, n_labels = Vocabulary(tuple(NAMES), kinds or EventKinds()), len(bias)
    term = LinearTerm(
        len(vocabulary), WINDOW, keys, torch.tensor(weights, dtype=torch.float32), torch.tensor(bias).float()
    )
    labels = tuple(f"L{number}" for number in range(n_labels))
    torch.manual_seed(0)
    model = Transformer(SHAPE, vocabulary, labels, linear=term).eval()
    model.calibrate(Calibration(np.full(n_labels, gate), np.full(n_labels, slope), np.full(n_labels, slope)))
    return model


def by_presence(bias: float, kinds: EventKinds | None = None, **weights: float) -> Transformer:
    """One label, a sum over the event types present."""
    ids = np.array([FIRST + NAMES.index(name) for name in sorted(weights)])
    own = np.array([[weights[name]] for name in sorted(weights)])
    return model_of({"presence": ids}, own, np.array([bias]), kinds=kinds)


def random_model(seed: int, gate: float = 0.0) -> Transformer:
    """Five labels with random weights on presence, second occurrences and pairs of event types."""
    rng, size = np.random.default_rng(seed), FIRST + len(NAMES)
    ids = np.arange(FIRST, size)
    pairs = np.sort(rng.choice([a * size + b for a in ids for b in ids if a != b], 25, replace=False))
    keys = {"presence": ids, "count": ids * N_BUCKETS + 1, "adjacent": pairs, "ordered": pairs}
    n_keys = sum(map(len, keys.values()))
    weights = rng.normal(0, 2.5, (n_keys, 5)) * (rng.random((n_keys, 5)) < 0.5)
    return model_of(keys, weights, rng.normal(0, 2, 5), slope=1.3, gate=gate)


def batch_of(model: DensityModel, *sequences: str) -> Batch:
    made = [
        EventSequence(str(at), tuple(text), tuple(map(float, range(len(text)))), ())
        for at, text in enumerate(sequences)
    ]
    return Batches(EventDataset.from_sequences(made), model.vocabulary, model.max_length).take(
        np.arange(len(made))
    )


def random_batch(model: DensityModel, seed: int, n: int = 40) -> Batch:
    rng = np.random.default_rng(seed)
    return batch_of(model, *("".join(rng.choice(list(NAMES), rng.integers(1, 10))) for _ in range(n)))


def everything(model: DensityModel, batch: Batch) -> np.ndarray:
    return np.ones((len(batch.ids), len(model.label_names)), bool)


def collected(sets: EventSets) -> Sets:
    made: Sets = {}
    for at in range(len(sets)):
        members = frozenset(sets.ids[at][sets.ids[at] != NONE].tolist())
        own = made.setdefault((int(sets.rows[at]), int(sets.labels[at])), {})
        assert members not in own
        own[members] = float(sets.strength[at]), float(sets.effect[at])
    return made


def kl(after: float, before: float) -> float:
    return float(bernoulli_kl(torch.tensor(after), torch.tensor(before)))


def searched(model: DensityModel, batch: Batch, max_size: int = 3, max_types: int = 99) -> Sets:
    """All minimal sets, by hiding every set of event types of each sequence in a batch of its own."""
    columns, made = np.arange(len(model.label_names)), Sets()
    for row in range(len(batch.ids)):
        one = batch.rows(np.array([row]))
        types = sorted(set(one.ids[0].tolist()) & set(range(FIRST, len(model.vocabulary))))
        if len(types) > max_types:
            continue
        chosen = [frozenset(each) for size in range(max_size + 1) for each in combinations(types, size)]
        copies = batch.rows(np.full(len(chosen), row))
        where = np.stack([np.isin(one.ids[0], sorted(each)) for each in chosen])
        logits = dict(zip(chosen, end_logits(model, copies.hide(where), columns), strict=True))
        for label in columns.tolist():
            own = {each: float(values[label]) for each, values in logits.items()}
            sets = {each: told(own, each) for each in chosen if each and is_minimal(own, each)}
            if sets:
                made[row, label] = sets
    return made


def is_minimal(logits: dict[frozenset[int], float], hidden: frozenset[int]) -> bool:
    whole, without = logits[frozenset()], logits[hidden]
    if (whole >= 0) == (without >= 0) or kl(whole, without) <= THRESHOLD:
        return False
    parts = [each for each in logits if each and each < hidden]
    alone = [kl(logits[hidden - {member}], without) for member in hidden]
    return all(kl(whole, logits[part]) <= THRESHOLD for part in parts) and min(alone) > THRESHOLD


def told(logits: dict[frozenset[int], float], hidden: frozenset[int]) -> tuple[float, float]:
    whole, without = logits[frozenset()], logits[hidden]
    effect = torch.tensor(whole).sigmoid() - torch.tensor(without).sigmoid()
    return kl(whole, without), float(effect)


def same(found: Sets, expected: Sets) -> None:
    assert {at: set(sets) for at, sets in found.items()} == {at: set(sets) for at, sets in expected.items()}
    for at, sets in expected.items():
        for members, values in sets.items():
            assert found[at][members] == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_sums_find_the_sets_of_a_search_over_all_subsets(seed: int) -> None:
    model = random_model(seed)
    batch = random_batch(model, seed)
    expected = searched(model, batch)
    assert {len(members) for sets in expected.values() for members in sets} >= {1, 2}
    same(collected(minimal_sets(model, batch, everything(model, batch), THRESHOLD)), expected)


def test_the_random_models_have_sets_of_three() -> None:
    sizes = []
    for seed in range(6):
        model = random_model(seed)
        batch = random_batch(model, seed)
        sizes += minimal_sets(model, batch, everything(model, batch), THRESHOLD).sizes.tolist()
    assert sizes.count(2) > 20
    assert sizes.count(3) > 2


@pytest.mark.parametrize("seed", range(4))
def test_passes_find_the_sets_of_short_sequences_that_no_type_decides_alone(seed: int) -> None:
    process = ExactProcess.from_config(ExactConfig(length_max=5), seed=100 + seed)
    model, data = Oracle(process), process.sample(200, seed=seed).data
    batch = Batches(data, model.vocabulary, model.max_length).take(np.arange(len(data)))
    expected = searched(model, batch)
    assert any(len(members) == 2 for sets in expected.values() for members in sets)
    same(collected(minimal_sets(model, batch, everything(model, batch), THRESHOLD)), expected)


def test_passes_use_what_the_network_adds() -> None:
    model = random_model(0, gate=1.0)
    noise = np.random.default_rng(0).normal(0, 0.3, tuple(model.end_head.weight.shape))
    model.end_head.weight.data += model.end_head.weight.new_tensor(noise)
    assert not model.linear_labels.any()
    batch = random_batch(model, 1, n=60)
    few = replace(batch, ids=np.where(batch.ids >= FIRST + 5, 3, batch.ids))  # at most five known types
    expected = searched(model, few)
    alone = {at for at, sets in expected.items() if any(len(members) == 1 for members in sets)}
    expected = {
        at: {members: told for members, told in sets.items() if at not in alone or len(members) == 1}
        for at, sets in expected.items()
    }
    assert any(len(members) > 1 for sets in expected.values() for members in sets)
    same(collected(minimal_sets(model, few, everything(model, few), THRESHOLD)), expected)


def test_either_of_two_is_a_set_and_neither_alone() -> None:
    model = by_presence(-4.0, a=8.0, b=8.0)
    sets = minimal_sets(model, batch := batch_of(model, "abc"), everything(model, batch), THRESHOLD)
    assert sets.ids.tolist() == [[FIRST, FIRST + 1, NONE]]
    assert sets.effect == pytest.approx(1 / (1 + np.exp(-12)) - 1 / (1 + np.exp(4)), abs=1e-6)
    assert sets.others_hidden[0, :2] == pytest.approx([4.0, 4.0])


def test_a_feature_about_two_types_is_taken_once() -> None:
    """Weights that two event types share cancel what one of them alone would take."""
    size = FIRST + len(NAMES)
    keys = {"presence": np.array([FIRST, FIRST + 1]), "adjacent": np.array([FIRST * size + FIRST + 1])}
    model = model_of(keys, np.array([[8.0], [8.0], [-8.0]]), np.array([-4.0]))
    batch = batch_of(model, "ab")
    changes = model.hiding_changes(batch)
    assert changes is not None
    assert changes.taken.tolist() == [0.0, 0.0]
    sets = minimal_sets(model, batch, everything(model, batch), THRESHOLD)
    assert sets.ids.tolist() == [[FIRST, FIRST + 1, NONE]]
    assert (sets.whole.tolist(), sets.without.tolist()) == ([4.0], [-4.0])


def test_what_held_a_label_off_is_a_set_too() -> None:
    model = by_presence(-4.0, a=8.0, b=-12.0, c=-12.0)
    sets = minimal_sets(model, batch := batch_of(model, "abc"), everything(model, batch), THRESHOLD)
    assert sets.ids.tolist() == [[FIRST + 1, FIRST + 2, NONE]]
    assert sets.effect[0] < -0.9


def test_small_effects_that_add_up_are_no_set() -> None:
    model = by_presence(-0.9, a=0.8, b=0.8, c=0.8)
    sets = minimal_sets(model, batch := batch_of(model, "abc"), everything(model, batch), THRESHOLD)
    assert len(sets) == 0


def test_a_family_and_its_member_are_no_set() -> None:
    kinds = EventKinds(families={"a": ("b",)})
    model = by_presence(-4.0, kinds, a=8.0, b=8.0, c=8.0)
    together = minimal_sets(model, batch := batch_of(model, "ab"), everything(model, batch), THRESHOLD)
    others = minimal_sets(model, batch := batch_of(model, "bc"), everything(model, batch), THRESHOLD)
    assert (len(together), len(others)) == (0, 1)


def test_only_event_types_that_may_be_causes_are_members() -> None:
    model = by_presence(-4.0, a=8.0, b=8.0)
    allowed = np.ones((1, len(model.vocabulary)), bool)
    allowed[0, FIRST] = False
    sets = minimal_sets(model, batch := batch_of(model, "ab"), everything(model, batch), THRESHOLD, allowed)
    assert len(sets) == 0


def test_stronger_sets_come_first() -> None:
    model = by_presence(-9.0, a=6.5, b=6.0, c=12.5)
    sets = minimal_sets(model, batch := batch_of(model, "abc"), everything(model, batch), THRESHOLD)
    assert sets.ids.tolist() == [[FIRST, FIRST + 2, NONE], [FIRST + 1, FIRST + 2, NONE]]
    assert sets.strength[0] > sets.strength[1]


def test_a_member_is_scored_with_the_others_hidden() -> None:
    model = by_presence(-4.0, a=8.0, b=7.0)
    batch = batch_of(model, "xab")
    scores = TotalTest(sets_above=THRESHOLD).score(model, batch, everything(model, batch))
    assert scores.positions.tolist() == [2, 3]
    assert scores.strength == pytest.approx([kl(4.0, -4.0), kl(3.0, -4.0)], abs=1e-6)
    assert scores.effect == pytest.approx(torch.tensor([4.0, 3.0]).sigmoid() - torch.tensor(-4.0).sigmoid())
    assert scores.others is not None
    assert scores.others.tolist() == [[FIRST + 1, NONE], [FIRST, NONE]]


def test_a_type_that_is_an_edge_alone_stays_one() -> None:
    model = by_presence(-4.0, a=8.0, b=8.0, c=-6.0)
    batch = batch_of(model, "a", "ab", "ac")
    scores = TotalTest(sets_above=THRESHOLD).score(model, batch, everything(model, batch))
    plain = TotalTest().score(model, batch, everything(model, batch))
    assert scores.others is not None
    alone = scores.others[:, 0] == NONE
    assert scores.rows[~alone].tolist() == [1, 1]
    assert scores.strength[alone].tolist() == plain.strength[alone].tolist()


def short_data(n: int) -> EventDataset:
    rng = np.random.default_rng(7)
    texts = ["".join(rng.choice(list(NAMES), rng.integers(1, 9))) for _ in range(n)]
    return EventDataset.from_sequences(
        [
            EventSequence(f"s{at:04}", tuple(text), tuple(map(float, range(len(text)))), labels_of(text))
            for at, text in enumerate(texts)
        ]
    )


def labels_of(text: str) -> tuple[str, ...]:
    holds = {"L0": "a" in text or "b" in text, "L1": "c" in text and "d" in text, "L2": "e" in text}
    return tuple(label for label, is_true in holds.items() if is_true)


def either(gate: float) -> Transformer:
    """L0 is a or b; L1 is c and d; L2 is e and neither f nor g."""
    ids = np.arange(FIRST, FIRST + 7)
    weights = np.array(
        [[8, 0, 0], [7, 0, 0], [0, 4, 0], [0, 4, 0], [0, 0, 8], [0, 0, -12], [0, 0, -12]], np.float64
    )
    model = model_of({"presence": ids}, weights, np.array([-4.0, -6.0, -4.0]))
    model.calibrate(Calibration(np.array([0.0, 0.0, gate]), np.ones(3), np.ones(3)))
    return model


def edges_of(folder: Path) -> pl.DataFrame:
    return EdgeTable.read(folder).edges


@pytest.mark.parametrize("gate", [0.0, 1.0])
def test_members_are_edges_that_name_the_others(tmp_path: Path, gate: float) -> None:
    data = short_data(300)
    extract(either(gate), data, tmp_path / "edges", ExtractConfig(workers=1))
    edges = edges_of(tmp_path / "edges")
    both = {one.id for one in data if {"a", "b"} <= set(one.events)}
    members = edges.filter(pl.col("others").list.len() > 0, label="L0")
    assert set(members["sequence"]) == both
    assert set(members.select("event", pl.col("others").list.first()).rows()) == {("a", "b"), ("b", "a")}
    assert edges.filter(pl.col("others").list.len() == 0, label="L0")["sequence"].is_in(list(both)).sum() == 0
    absent = edges.filter(pl.col("others").list.len() > 0, label="L2")
    assert set(absent["event"]) == {"f", "g"}
    assert (absent["effect"] < 0).all()


@pytest.mark.parametrize("changed", [{"shard": BLOCK}, {"shard": 10_000}, {"workers": 2}])
@pytest.mark.parametrize("gate", [0.0, 1.0])
def test_sets_do_not_depend_on_shards_and_workers(
    tmp_path: Path, gate: float, changed: dict[str, int]
) -> None:
    data, model = short_data(700), either(gate)
    extract(model, data, tmp_path / "whole", ExtractConfig(workers=1))
    extract(model, data, tmp_path / "other", ExtractConfig(**{"workers": 1, **changed}))  # type: ignore[arg-type]
    whole, other = edges_of(tmp_path / "whole"), edges_of(tmp_path / "other")
    assert whole["others"].list.len().sum() > 0
    assert whole.equals(other)


def test_what_stands_beside_a_sequence_does_not_change_its_sets() -> None:
    model = random_model(2)
    batch = random_batch(model, 2)
    together = minimal_sets(model, batch, everything(model, batch), THRESHOLD)
    for row in range(len(batch.ids)):
        alone = minimal_sets(model, one := batch.rows(np.array([row])), everything(model, one), THRESHOLD)
        own = together.take(together.rows == row)
        assert own.ids.tolist() == alone.ids.tolist()
        assert own.strength.tolist() == alone.strength.tolist()


def test_a_run_that_was_stopped_resumes_with_the_same_sets(tmp_path: Path) -> None:
    def stop(stage: str, done: float, total: float, message: str) -> None:
        if stage == "testing" and done >= BLOCK:
            raise KeyboardInterrupt

    data, model, config = short_data(700), either(1.0), ExtractConfig(workers=1, shard=BLOCK)
    extract(model, data, tmp_path / "whole", config)
    with pytest.raises(KeyboardInterrupt):
        extract(model, data, tmp_path / "edges", config, progress=stop)
    extract(model, data, tmp_path / "edges", config, resume=True)
    assert edges_of(tmp_path / "whole").equals(edges_of(tmp_path / "edges"))


def test_changes_without_pairs_share_nothing() -> None:
    model = by_presence(-4.0, a=8.0, b=8.0)
    changes = model.hiding_changes(batch_of(model, "ab"))
    assert isinstance(changes, HidingChanges)
    assert changes.shared is None


def test_members_of_sets_that_held_a_label_off_do_not_vote(tmp_path: Path) -> None:
    extract(either(0.0), short_data(300), tmp_path / "edges", ExtractConfig(workers=1))
    edges = edges_of(tmp_path / "edges")
    left_out = edges.join(voting(edges), on=["sequence", "label", "event"], how="anti")
    assert len(left_out) > 0
    assert (left_out["effect"] < 0).all()
    assert (edges.filter(pl.col("others").list.len() > 0)["effect"] > 0).any()
    assert (left_out["others"].list.len() > 0).all()
    counted = sum(int(votes.counts["votes"].sum()) for votes in run_votes(tmp_path).votes.values())
    assert counted == len(edges) - len(left_out)
