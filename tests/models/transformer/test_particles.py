import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

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


def parts(n: int, length: int, scale: float, draw: torch.Generator) -> tuple[torch.Tensor, ...]:
    """Random queries, keys and values of two sequences, `n` particles each: (H, S, N, d, L)."""
    query, key, value = torch.randn(3, 4, 2, n, 8, length, generator=draw)
    ones = torch.ones(4, 2, n, 1, length)
    return query * scale**0.5, key * scale**0.5, torch.cat([value, ones], dim=3)


def by_hand(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Causal attention with powers of two, as (H, d, S, N, L)."""
    logits = query.transpose(3, 4) @ key * math.log(2.0)
    future = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
    weights = logits.masked_fill(future, -torch.inf).softmax(dim=-1)
    return (value[..., :-1, :] @ weights.transpose(3, 4)).permute(0, 3, 1, 2, 4)


SCALES = pytest.mark.parametrize(("scale", "rounding"), [(1.0, 1e-5), (60.0, 1e-3)])
"""With the second, powers of the logits overflow."""


@SCALES
def test_shared_attention_is_that_of_whole_particles(scale: float, rounding: float) -> None:
    draw = torch.Generator().manual_seed(1)
    shared, own = parts(1, 7, scale, draw), parts(N, 5, scale, draw)
    wholes = (
        torch.cat([mine, common.expand(-1, -1, N, -1, -1)], dim=-1)
        for mine, common in zip(own, shared, strict=True)
    )
    expected = by_hand(*wholes)[..., 5:]
    found = attend_shared((shared[0], shared[1], shared[2]), (own[0], own[1], own[2]))
    assert torch.allclose(found, expected, atol=rounding)


MASKS = {
    "one stretch": lambda at, row: (at >= FIRST + 2) & (row >= 0),
    "with a hole": lambda at, row: (at != FIRST + 1) & (row >= 0),
    "not the same for all particles": lambda at, row: at >= FIRST + row % N,
}


@pytest.mark.parametrize("chosen", MASKS.values(), ids=MASKS)
def test_positions_are_read_from_their_own_place(chosen: Callable[..., np.ndarray]) -> None:
    model, batch = random_model(SHAPES["narrow heads"]), particles()
    where = batch.mask & ~batch.at_end & chosen(np.arange(12), np.arange(2 * N)[:, None])
    found = model.particle_labels(batch, N, FIRST, where, [np.array([0, 1, 2])] * 2)
    expected = model.densities(batch, labels_at=where).labels
    assert expected is not None
    assert torch.allclose(torch.cat(found), expected, rtol=1e-4, atol=1e-4)
