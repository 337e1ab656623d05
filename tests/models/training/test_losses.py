from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.errors import ConfigError
from eventcargo.models.training.losses import (
    LossConfig,
    Sampler,
    draw_targets,
    event_loss,
    hide_types,
    joint_loss,
    label_loss,
)
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.vocabulary import BOS, EOS, PAD, UNK

NAMES = tuple(f"e{i}" for i in range(40))
NOTHING = np.zeros(0, np.int64)


@pytest.fixture
def batch() -> Batch:
    """Six sequences of one to six events; every other one has a label."""
    sequences = [
        EventSequence(
            f"s{i}", NAMES[i : 2 * i + 1], tuple(map(float, range(i + 1))), ("odd",) if i % 2 else ()
        )
        for i in range(6)
    ]
    return Batches(EventDataset.from_sequences(sequences), Vocabulary(NAMES), 16).take(np.arange(6))


@pytest.fixture
def model() -> Transformer:
    return Transformer(TransformerConfig(width=16, layers=1, heads=2), Vocabulary(NAMES), ["odd"]).eval()


def test_an_unknown_label_adds_nothing_to_the_loss_and_its_gradient(batch: Batch, model: Transformer) -> None:
    config, rng = LossConfig(event_weight=0.0, prefix_share=1.0), np.random.default_rng(0)
    targets = draw_targets(batch, config, rng)
    known = np.array([[True], [True], [False], [True], [False], [False]])
    flipped = np.where(known, batch.labels, 1 - batch.labels)
    losses = []
    for labels in (batch.labels, flipped):
        part = replace(batch, labels=labels, known=known)
        losses.append(joint_loss(model, part, targets, config, None, NOTHING))
    assert losses[0].item() == losses[1].item() > 0
    model.zero_grad()
    nothing = replace(batch, known=np.zeros_like(known))
    joint_loss(model, nothing, targets, config, None, NOTHING).backward()
    assert all(each.grad is None or not each.grad.any() for each in model.parameters())


def test_parts_of_a_batch_keep_what_is_known(batch: Batch, model: Transformer) -> None:
    known = np.array([[True], [True], [False], [True], [False], [False]])
    whole, config = replace(batch, known=known), LossConfig(event_weight=0.0, prefix_share=1.0)
    targets = draw_targets(batch, config, np.random.default_rng(0))
    parts = [
        joint_loss(model, whole.rows(which), targets.rows(which), config, None, NOTHING).item()
        for which in (slice(0, 2), slice(2, 6))
    ]
    assert sum(parts) == pytest.approx(
        joint_loss(model, whole, targets, config, None, NOTHING).item(), rel=1e-5
    )


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ({"event_share": 1.1}, "event_share=1.1"),
        ({"prefix_share": -0.1}, "prefix_share=-0.1"),
        ({"end_weight": 1.1}, "end_weight=1.1"),
        ({"event_weight": -1.0}, "event_weight=-1.0"),
        ({"sampled": -1}, "sampled=-1"),
        ({"pos_weight": 0.0}, "pos_weight=0.0"),
    ],
)
def test_settings_outside_are_refused(refused: dict[str, Any], shown: str) -> None:
    with pytest.raises(ConfigError, match=shown):
        LossConfig(**refused)


def test_the_edges_are_allowed() -> None:
    taken = LossConfig(event_share=0.0, prefix_share=1.0, end_weight=1.0, event_weight=0.0, sampled=0)
    assert (taken.event_share, taken.prefix_share, taken.end_weight, taken.sampled) == (0.0, 1.0, 1.0, 0)


def test_weights_sum_to_one_over_the_batch(batch: Batch) -> None:
    targets = draw_targets(batch, LossConfig(), np.random.default_rng(0))
    assert targets.event_weights.sum() == pytest.approx(1)
    assert targets.label_weights.sum() == pytest.approx(1)
    assert targets.label_weights[batch.at_end].sum() == pytest.approx(0.5)


def test_next_events_are_asked_only_where_one_follows(batch: Batch) -> None:
    targets = draw_targets(batch, LossConfig(event_share=1.0), np.random.default_rng(0))
    assert np.array_equal(targets.events_at, batch.mask & ~batch.at_end)


def test_only_a_share_of_positions_is_asked(batch: Batch) -> None:
    config = LossConfig(event_share=0.0, prefix_share=0.0)
    targets = draw_targets(batch, config, np.random.default_rng(0))
    assert not targets.events_at.any()
    assert np.array_equal(targets.labels_at, batch.at_end)


def test_labels_count_more_near_the_end(batch: Batch) -> None:
    weights = draw_targets(batch, LossConfig(prefix_share=1.0), np.random.default_rng(0)).label_weights[5]
    assert (np.diff(weights[:7]) > 0).all()


def test_sequences_of_unknown_labels_train_no_label(batch: Batch) -> None:
    rng = np.random.default_rng(0)
    targets = draw_targets(batch, LossConfig(unlabelled=True, event_share=1.0), rng)
    assert not targets.labels_at[::2].any()
    assert targets.labels_at[1::2].any()
    assert targets.events_at[::2].any()


def test_sequences_without_labels_are_examples_by_default(batch: Batch) -> None:
    targets = draw_targets(batch, LossConfig(), np.random.default_rng(0))
    assert targets.labels_at[::2].any()


def test_pos_weight_multiplies_the_loss_of_present_labels_only() -> None:
    logits, labels = torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])
    plain, weighted = label_loss(logits, labels, 1.0), label_loss(logits, labels, 3.0)
    assert plain.item() == pytest.approx(2 * np.log(2))
    assert weighted.item() == pytest.approx(4 * np.log(2))


@pytest.mark.parametrize("tied", [True, False])
def test_the_sampled_softmax_is_the_full_one_on_average(tied: bool) -> None:
    model = Transformer(TransformerConfig(width=16, layers=1, heads=2, tied=tied), Vocabulary(NAMES), ["odd"])
    states = torch.randn(200, 16, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(200) % 40 + 4
    rates = np.arange(1.0, 45.0)
    sampler, rng = Sampler(rates / rates.sum(), 2000), np.random.default_rng(0)
    with torch.no_grad():
        full = event_loss(model, states, targets, None, NOTHING)
        drawn = [event_loss(model, states, targets, sampler, sampler.draw(rng)) for _ in range(5)]
    assert torch.stack(drawn).mean().item() == pytest.approx(full.mean().item(), abs=0.02)
    assert torch.allclose(torch.stack(drawn).mean(0), full, atol=0.1)


def test_pad_and_bos_are_never_drawn() -> None:
    drawn = Sampler(np.full(6, 1 / 6), 1000).draw(np.random.default_rng(0))
    assert set(drawn.tolist()) == set(range(6)) - {PAD, BOS}


def test_parts_of_a_batch_sum_to_its_loss(model: Transformer, batch: Batch) -> None:
    config = LossConfig(event_share=1.0, prefix_share=1.0)
    targets = draw_targets(batch, config, np.random.default_rng(0))
    whole = joint_loss(model, batch, targets, config, None, NOTHING)
    parts = [slice(k, None, 3) for k in range(3)]
    summed = sum(
        joint_loss(model, batch.rows(part), targets.rows(part), config, None, NOTHING) for part in parts
    )
    assert torch.as_tensor(summed).item() == pytest.approx(whole.item(), rel=1e-5)


def test_the_loss_at_the_beginning_is_that_of_the_rates(batch: Batch, model: Transformer) -> None:
    config = LossConfig(event_weight=0.0)
    targets = draw_targets(batch, config, np.random.default_rng(0))
    assert joint_loss(model, batch, targets, config, None, NOTHING).item() == pytest.approx(np.log(2))


def hidden_in(share: float, seed: int = 0) -> tuple[Batch, Batch]:
    ids = np.tile([BOS, 4, 5, 4, 6, EOS, PAD], (400, 1))
    times, lengths = np.zeros(ids.shape, np.float32), np.full(400, 6)
    batch = Batch(ids, times, lengths, np.zeros((400, 0), np.float32))
    return batch, hide_types(batch, share, np.random.default_rng(seed))


def test_all_occurrences_of_an_event_type_are_hidden_together() -> None:
    _, found = hidden_in(0.5)
    assert np.array_equal(found.ids[:, 1] == UNK, found.ids[:, 3] == UNK)


def test_a_share_of_event_types_is_hidden_in_every_other_sequence() -> None:
    _, found = hidden_in(0.5)
    changed = (found.ids == UNK).any(axis=1)
    assert 0.35 < changed.mean() < 0.55  # seven eighths of one half
    assert 0.4 < (found.ids[changed][:, [1, 2, 4]] == UNK).mean() < 0.7


def test_only_events_are_hidden() -> None:
    batch, found = hidden_in(1.0)
    assert np.array_equal(found.ids[:, [0, 5, 6]], batch.ids[:, [0, 5, 6]])


def test_nothing_is_hidden_where_no_share_is_asked_for() -> None:
    batch, found = hidden_in(0.0)
    assert np.array_equal(found.ids, batch.ids)


def test_hidden_events_are_still_to_be_predicted() -> None:
    batch, found = hidden_in(1.0)
    targets = draw_targets(batch, LossConfig(), np.random.default_rng(0))
    assert (found.ids == UNK).any()
    assert not (targets.following == UNK).any()
