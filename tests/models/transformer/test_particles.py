import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from eventcargo.batches import Batch
from eventcargo.errors import DataError
from eventcargo.models.density import DensityModel
from eventcargo.models.linear.term import LinearTerm
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
    "label queries": replace(transformer_size("tiny"), label_queries=True),
    "a stack and label queries": replace(transformer_size("tiny"), label_layers=1, label_queries=True),
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


COLUMNS = [np.array([0, 2]), np.array([1])]


def compared(model: Transformer) -> tuple[torch.Tensor, torch.Tensor]:
    """Label logits of particles before the end, and the same from single sequences, flat."""
    batch = particles()
    found = model.particle_labels(batch, N, FIRST, COLUMNS)
    every = model.densities(batch, labels_at=batch.mask).labels
    assert every is not None
    rows = torch.split(every, batch.lengths.tolist())
    pairs = [(at, int(label)) for at, own in enumerate(COLUMNS) for label in own]
    expected = [rows[N * at + k][FIRST - 1 : -1, label] for at, label in pairs for k in range(N)]
    real = [found[pair, k, : LENGTHS[at] - FIRST] for pair, (at, _) in enumerate(pairs) for k in range(N)]
    return torch.cat(real), torch.cat(expected)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_labels_of_particles_are_those_of_single_sequences(shape: TransformerConfig) -> None:
    found, expected = compared(random_model(shape))
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-4)


def linear_term(model: Transformer) -> LinearTerm:
    """A random term of features of three families, one of them of the end."""
    size = len(model.vocabulary)
    first = len(SPECIAL)
    keys = {
        "presence": np.arange(first, size),
        "adjacent": np.arange(first * size, size * size, 3),
        "lateness": np.arange(first * 256, size * 256),
    }
    draw = torch.Generator().manual_seed(3)
    weights = torch.randn(sum(map(len, keys.values())), 3, generator=draw)
    return LinearTerm(size, 2, keys, weights, torch.tensor([0.5, -1.0, 2.0]))


@pytest.mark.parametrize("alone", [False, True], ids=["and a network", "alone"])
def test_particles_have_the_linear_term_of_their_own_labels(alone: bool) -> None:
    model = random_model(SHAPES["narrow heads"])
    model.linear = linear_term(model)
    model.prefix_slope.copy_(torch.tensor([0.5, 2.0, 3.0]))
    model.label_cap.copy_(torch.tensor([torch.inf, 1.0, torch.inf]))
    if alone:
        for part in (*model.label_head.parameters(), *model.end_head.parameters()):
            torch.nn.init.zeros_(part)
    found, expected = compared(model)
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-4)


class Plain(DensityModel):
    """A model that gives densities alone."""

    def __init__(self, model: Transformer) -> None:
        self.vocabulary, self.label_names, self.max_length = (
            model.vocabulary,
            model.label_names,
            model.max_length,
        )
        self.densities = model.densities  # type: ignore[method-assign]


def test_models_without_a_way_of_their_own_give_the_same_labels() -> None:
    model = random_model(SHAPES["one block"])
    found, expected = (each.particle_labels(particles(), N, FIRST, COLUMNS) for each in (Plain(model), model))
    assert found.shape == expected.shape == (3, N, max(LENGTHS) - FIRST)
    assert torch.allclose(found[:2], expected[:2], atol=1e-4)
    stop = LENGTHS[1] - FIRST
    assert torch.allclose(found[2, :, :stop], expected[2, :, :stop], atol=1e-4)


def test_particles_longer_than_the_model_reads_are_refused() -> None:
    model, batch = random_model(replace(transformer_size("tiny"), max_length=11)), particles()
    with pytest.raises(DataError, match="12 positions, the model reads at most 11"):
        model.particle_labels(batch, N, FIRST, COLUMNS)


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
