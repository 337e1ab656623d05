"""The paper's phase 1 as its listing goes, step by step and in plain torch: the reference for ours.

Everything is as there, also what we do otherwise: sequences padded to a fixed width, event probabilities at
all positions, all labels at all positions of all particles, probabilities clamped, the nucleus without the
event type that crosses it, mean and standard deviation over padding as well, edges at or above the threshold.
Two things are not: a token is drawn from the probabilities before it, not after, and arrays are indexed by
position. With `both_heads`, the pass over particles computes the events, too, as one model for both does.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.models.density import DensityModel
from eventcargo.vocabulary import PAD

CLOSEST = 1e-6
"""How near to 0 and 1 a probability may come."""


@dataclass(frozen=True)
class PaperScores:
    """What the procedure gives, by position: B sequences, L positions, Y labels; 0 where none is scored."""

    strength: Tensor  # (B, L, Y)
    effect: Tensor  # (B, L, Y)
    effect_sd: Tensor  # (B, L, Y)
    edges: Tensor  # (B, L, Y)


def padded(batch: Batch, width: int) -> Batch:
    """The same sequences in so many positions."""
    more = ((0, 0), (0, width - batch.ids.shape[1]))
    return Batch(
        np.pad(batch.ids, more, constant_values=PAD),
        np.pad(batch.times, more),
        batch.lengths,
        batch.labels,
        np.pad(batch.values, (*more, (0, 0))),
    )


@torch.inference_mode()
def paper_phase1(
    model: DensityModel,
    batch: Batch,
    contexts: Tensor,
    z_threshold: float = 2.75,
    both_heads: bool = False,
) -> PaperScores:
    """Strengths, effects and edges of padded sequences given redrawn contexts (B, N, context)."""
    B, N, context = contexts.shape
    L, Y = batch.ids.shape[1], len(model.label_names)
    particles = _particles(batch, contexts)
    everywhere = np.ones(particles.ids.shape, bool)
    found = model.densities(particles, labels_at=everywhere, events_at=everywhere if both_heads else None)
    assert found.labels is not None
    labels = torch.sigmoid(found.labels).clamp(CLOSEST, 1 - CLOSEST).view(B, N, L, Y)[:, :, context:]
    p, q = labels[:, :, 1:], labels[:, :, :-1]  # with the event, without it: (B, N, L - context - 1, Y)
    strength = (p * torch.log(p / q) + (1 - p) * torch.log((1 - p) / (1 - q))).mean(dim=1)
    change = p - q
    threshold = strength.mean(dim=1) + z_threshold * strength.std(dim=1)  # (B, Y)
    edges = strength >= threshold[:, None]
    effect_sd = change.std(dim=1) if N > 1 else torch.zeros_like(strength)
    return PaperScores(
        *(_placed(part, context + 1) for part in (strength, change.mean(dim=1), effect_sd, edges))
    )


@torch.inference_mode()
def paper_contexts(
    model: DensityModel, batch: Batch, context: int, n: int, top_k: int, top_p: float, seed: int
) -> Tensor:
    """Contexts for every sequence: (B, N, context), by top-k and then nucleus; events over all positions."""
    B, L = batch.ids.shape
    logits = model.densities(batch, events_at=np.ones((B, L), bool)).events
    assert logits is not None
    chances = torch.softmax(logits, dim=-1).view(B, L, len(model.vocabulary))[:, :context]
    top = torch.topk(chances, min(top_k, len(model.vocabulary)), dim=-1)  # the largest first
    outside = top.values.cumsum(dim=-1) > top_p
    outside[..., 0] = False
    kept = top.values.masked_fill(outside, 0.0) + 1e-8
    generator = torch.Generator(device=kept.device).manual_seed(seed)
    picked = torch.multinomial(
        kept.flatten(0, 1), n, replacement=True, generator=generator
    )  # (B * context, N)
    return top.indices.flatten(0, 1).gather(1, picked).view(B, context, n).transpose(1, 2)


def _particles(batch: Batch, contexts: Tensor) -> Batch:
    """Every sequence N times, with its context replaced."""
    B, N, context = contexts.shape
    rows = np.repeat(np.arange(B), N)
    ids = batch.ids[rows]
    ids[:, 1 : context + 1] = contexts.cpu().numpy().reshape(B * N, context)
    return Batch(ids, batch.times[rows], batch.lengths[rows], batch.labels[rows], batch.values[rows])


def _placed(values: Tensor, first: int) -> Tensor:
    """Values of the scored positions, at their positions."""
    return torch.nn.functional.pad(values, (0, 0, first, 0))
