from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from eventcargo.batches import Batch
from eventcargo.errors import DataError
from eventcargo.models.transformer.config import TransformerConfig, transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.models.transformer.particles import attend_shared
from eventcargo.vocabulary import BOS, EOS, PAD, SPECIAL, Vocabulary

NAMES = tuple("abcdefgh")
N, FIRST, LENGTHS = 3, 4, (12, 9)
SHAPES = {
    "narrow heads": transformer_size("tiny"),
    "wide heads": TransformerConfig(width=64, layers=3, heads=2, feedforward=32, activation="gelu"),
    "one block": replace(transformer_size("tiny"), layers=1, times="additive"),
    "a stack for labels": replace(transformer_size("tiny"), label_layers=2),
    "one block for labels": replace(transformer_size("tiny"), label_layers=1),
}


def particles() -> Batch:
    """Three particles of each of two sequences, with two value columns."""
    rng = np.random.default_rng(0)
    lengths = np.repeat(LENGTHS, N)
    ids = np.repeat(rng.integers(len(SPECIAL), len(SPECIAL) + len(NAMES), (2, 12)), N, axis=0)
    ids[:, 1:FIRST] = rng.integers(len(SPECIAL), len(SPECIAL) + len(NAMES), (2 * N, FIRST - 1))
    ids[:, 0], ids[N:, 9:] = BOS, PAD
    ids[np.arange(2 * N), lengths - 1] = EOS
    times = np.repeat(rng.exponential(size=(2, 12)).cumsum(axis=1), N, axis=0).astype(np.float32)
    values = np.repeat(rng.normal(size=(2, 12, 2)), N, axis=0).astype(np.float32)
    return Batch(ids, times, lengths, np.zeros((2 * N, 0), np.float32), values)


def random_model(shape: TransformerConfig) -> Transformer:
    model = Transformer(shape, Vocabulary(NAMES), ["x", "y", "z"], value_names=["heat", "load"]).eval()
    draw = torch.Generator().manual_seed(2)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=draw)
    return model


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_labels_of_particles_are_those_of_single_sequences(shape: TransformerConfig) -> None:
    model, batch, columns = random_model(shape), particles(), [np.array([0, 2]), np.array([1])]
    where = batch.mask & (np.arange(12) >= FIRST - 1)
    found = model.particle_labels(batch, N, FIRST, where, columns)
    every = model.densities(batch, labels_at=where).labels
    assert every is not None
    expected = torch.split(every, [int(where[:N].sum()), int(where[N:].sum())])
    for part, whole, own in zip(found, expected, columns, strict=True):
        assert torch.allclose(part, whole[:, own], rtol=1e-4, atol=1e-4)


def test_particles_longer_than_the_model_reads_are_refused() -> None:
    model, batch = random_model(replace(transformer_size("tiny"), max_length=11)), particles()
    with pytest.raises(DataError, match="12 positions, the model reads at most 11"):
        model.particle_labels(batch, N, FIRST, batch.mask, [np.array([0])] * 2)


def by_hand(common: torch.Tensor, mine: torch.Tensor) -> torch.Tensor:
    """The attention of every particle as a whole, at shared positions: (S * N, D, R)."""
    whole = torch.cat([mine, common.repeat_interleave(N, dim=1)], dim=3)
    mixed = functional.scaled_dot_product_attention(whole[0], whole[1], whole[2], is_causal=True)
    return mixed[:, :, mine.shape[3] :].transpose(2, 3).flatten(1, 2)


@pytest.mark.parametrize(("scale", "rounding"), [(1.0, 1e-6), (60.0, 1e-3)])
def test_shared_attention_is_that_of_whole_particles(scale: float, rounding: float) -> None:
    """Also with logits whose exponentials would overflow."""
    draw = torch.Generator().manual_seed(1)
    common = torch.randn(3, 2, 4, 7, 8, generator=draw)
    mine = torch.randn(3, 2 * N, 4, 5, 8, generator=draw)
    common[:2] *= scale**0.5
    mine[:2] *= scale**0.5
    found = attend_shared((common[0], common[1], common[2]), (mine[0], mine[1], mine[2]))
    assert torch.allclose(found, by_hand(common, mine), atol=rounding)
