"""Particles: states for labels of sequences that differ in their first events alone.

Axes: S sequences, N particles of each, C first positions in which particles differ, R positions after them in
which they do not. What enters at the latter is the same for all particles of a sequence, so that the queries,
keys and values of the first attention, and how these positions attend to one another, are computed once; each
particle adds C keys of its own. From then on everything differs, but the angles of the positions. The result
is that of `Transformer.states`, but for rounding.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eventcargo.batches import Batch
from eventcargo.models.transformer.layers import Block, Timing

if TYPE_CHECKING:
    from eventcargo.models.transformer.model import Transformer

Parts = tuple[Tensor, Tensor, Tensor]
"""Queries, keys and values of an attention."""


def particle_states(
    model: "Transformer", batch: Batch, n: int, first: int, labels_at: NDArray[np.bool_]
) -> Tensor:
    """Normed states of Tf_y where the mask (S * N, L) is true: (positions, D).

    Each `n` successive rows of the batch have the same ids after their `first` positions, and the same times
    and values.
    """
    own, own_timing = model.enter(_part(batch, slice(None), first))  # (S * N, C, D)
    shared, timing = model.enter(_part(batch, slice(None, None, n), None))  # (S, L, D)
    entered = Entered(own, own_timing, shared[:, first:], timing.part(slice(first, None)), timing)
    kept = torch.as_tensor(labels_at, device=own.device)
    if model.memory_norm is None:
        return cast(Tensor, model.label_norm(entered.through(model.blocks, None, kept)))
    memory = model.memory_norm(entered.through(model.blocks, None, None))
    return cast(Tensor, model.label_norm(entered.through(model.label_blocks, memory, kept)))


def own_labels(
    model: "Transformer",
    states: Tensor,
    batch: Batch,
    n: int,
    labels_at: NDArray[np.bool_],
    label_columns: Sequence[NDArray[np.int64]],
) -> list[Tensor]:
    """Logits of each sequence's own labels from states as of `particle_states`: each (positions, labels).

    Sequences of a pass have few labels in common; those of all for each would be many times as many.
    """
    found, stop = list[Tensor](), 0
    for at, columns in enumerate(label_columns):
        rows = slice(at * n, (at + 1) * n)
        start, stop = stop, stop + int(labels_at[rows].sum())
        own = _part(batch, rows, None)
        found.append(model.label_logits(states[start:stop], own, labels_at[rows], columns))
    return found


def _part(batch: Batch, rows: slice, width: int | None) -> Batch:
    """Some rows of a batch in their first `width` positions, or in all."""
    ids, times, values = batch.ids[rows, :width], batch.times[rows, :width], batch.values[rows, :width]
    return Batch(ids, times, np.minimum(batch.lengths[rows], ids.shape[1]), batch.labels[rows], values)


class Entered:
    """What enters a stack of blocks: the particles' own positions, and those that they share."""

    def __init__(
        self, own: Tensor, own_timing: Timing, shared: Tensor, shared_timing: Timing, timing: Timing
    ) -> None:
        self.own, self.own_timing = own, own_timing  # (S * N, C, D)
        self.shared, self.shared_timing = shared, shared_timing  # (S, R, D)
        self.timing = timing  # of all positions

    def through(self, blocks: nn.ModuleList, memory: Tensor | None, kept: Tensor | None) -> Tensor:
        """States after the blocks: (S * N, L, D), or (positions, D) of those that are kept."""
        first = cast(Block, blocks[0])
        x = first.finish(self.begin(first), self.timing, memory, kept if len(blocks) == 1 else None)
        for at in range(1, len(blocks)):
            x = blocks[at](x, self.timing, memory, kept if at == len(blocks) - 1 else None)
        return x

    def begin(self, block: Block) -> Tensor:
        """What entered plus what the self-attention of the first block says of it: (S * N, L, D)."""
        attention, n = block.self_attention, len(self.own) // len(self.shared)
        own, shared = block.self_norm(self.own), block.self_norm(self.shared)
        mine = attention.parts(own, own, self.own_timing)  # each (S * N, H, C, d)
        common = attention.parts(shared, shared, self.shared_timing)  # each (S, H, R, d)
        start = self.own + attention.out(attention.mix(*mine))  # (S * N, C, D)
        mixed = attend_shared(attention.bare(common), attention.bare(mine))  # (S * N, D, R)
        weight = attention.out.weight.T.expand(len(mixed), -1, -1)
        rest = torch.bmm(mixed.transpose(1, 2), weight)  # (S * N, R, D)
        rest.view(-1, n, *self.shared.shape[1:]).add_(self.shared[:, None])
        return torch.cat([start, rest], dim=1)


def attend_shared(common: Parts, mine: Parts) -> Tensor:
    """Causal attention of shared positions on one another and on what is each particle's own: (S * N, D, R).

    Keys come before queries, so that the long axis is the last one; that is several times as fast as
    attention over whole particles. Weights are relative to the largest one of each query.
    """
    S, H, R, d = common[0].shape
    query = (common[0] * d**-0.5).transpose(2, 3)  # (S, H, d, R)
    held, total, top = _among(query, common[1], common[2])
    C, n = mine[1].shape[2], len(mine[1]) // S
    key = mine[1].reshape(S, n, H, C, d).transpose(1, 2).reshape(S * H, n * C, d)
    value = mine[2].reshape(S, n, H, C, d).permute(0, 2, 1, 4, 3).reshape(S * H * n, d, C)
    weights = torch.bmm(key, query.reshape(S * H, d, R)).view(S, H, n, C, R)
    highest = torch.maximum(weights.amax(dim=3), top)  # (S, H, N, R)
    weights.sub_(highest[:, :, :, None]).exp_()
    share = (top - highest).exp_()  # (S, H, N, R)
    found = torch.bmm(value, weights.view(S * H * n, C, R)).view(S, H, n, d, R)
    found.addcmul_(held, share[:, :, :, None])
    total = (total * share).add_(weights.sum(dim=3))  # (S, H, N, R)
    mixed = found.new_empty(S, n, H, d, R)
    torch.div(found.transpose(1, 2), total.transpose(1, 2)[:, :, :, None], out=mixed)
    return mixed.view(S * n, H * d, R)


def _among(query: Tensor, key: Tensor, value: Tensor) -> Parts:
    """Weighted sums of values (S, H, 1, d, R), sums of weights and largest logits (S, H, 1, R)."""
    R = key.shape[2]
    scores = key @ query  # (S, H, R, R): keys, queries
    scores.add_(scores.new_full((R, R), -torch.inf).tril(-1))  # no key after the query
    top = scores.amax(dim=2)  # (S, H, R)
    weights = scores.sub_(top[:, :, None]).exp_()
    held = value.transpose(2, 3) @ weights  # (S, H, d, R)
    return held[:, :, None], weights.sum(dim=2)[:, :, None], top[:, :, None]
