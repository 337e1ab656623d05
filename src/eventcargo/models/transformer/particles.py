"""Particles: label states of sequences that differ only in their first events.

Axes: S sequences, N particles each, C first positions in which particles differ, R later positions that they
share. The input at shared positions is the same for all particles of a sequence, so the queries, keys and
values of the first attention, and how these positions attend to one another, are computed once; each particle
adds C keys of its own. From then on, everything but the rotations differs. The result equals
`Transformer.states` up to rounding.
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

    Every `n` successive rows of the batch share the ids after their `first` positions, and all times and
    values.
    """
    own, own_timing = model.enter(batch.rows(slice(None), first))  # (S * N, C, D)
    shared, timing = model.enter(batch.rows(slice(None, None, n)))  # (S, L, D)
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
    """Logits of each sequence's own labels, from the states of `particle_states`: each (positions, labels).

    Sequences of a pass share few labels; computing all labels for each would cost many times as much.
    """
    logits, stop = list[Tensor](), 0
    for at, columns in enumerate(label_columns):
        rows = slice(at * n, (at + 1) * n)
        start, stop = stop, stop + int(labels_at[rows].sum())
        own = batch.rows(rows)
        logits.append(model.label_logits(states[start:stop], own, labels_at[rows], columns))
    return logits


class Entered:
    """The input of a stack of blocks: each particle's own positions, and the shared ones."""

    def __init__(
        self, own: Tensor, own_timing: Timing, shared: Tensor, shared_timing: Timing, timing: Timing
    ) -> None:
        self.own, self.own_timing = own, own_timing  # (S * N, C, D)
        self.shared, self.shared_timing = shared, shared_timing  # (S, R, D)
        self.timing = timing  # of all positions

    def through(self, blocks: nn.ModuleList, memory: Tensor | None, kept: Tensor | None) -> Tensor:
        """States after the blocks: (S * N, L, D), or only where `kept` is true: (positions, D)."""
        first = cast(Block, blocks[0])
        x = first.finish(self.begin(first), self.timing, memory, kept if len(blocks) == 1 else None)
        for at in range(1, len(blocks)):
            x = blocks[at](x, self.timing, memory, kept if at == len(blocks) - 1 else None)
        return x

    def begin(self, block: Block) -> Tensor:
        """The input plus the self-attention of the first block: (S * N, L, D)."""
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
    """Causal attention of shared positions on one another and on each particle's own: (S * N, D, R).

    Keys come before queries, so that the long axis is last; this is several times faster than attention over
    whole particles.
    """
    # Softmax over two sets of keys by online softmax (Milakov & Gimelshein 2018): the shared keys give sums
    # (V, Z) relative to their largest logit t, once per sequence. With own logits l and m = max(t, l), the
    # result is (e^(t - m) V + sum e^(l - m) v) / (e^(t - m) Z + sum e^(l - m)).
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
    sums = torch.bmm(value, weights.view(S * H * n, C, R)).view(S, H, n, d, R)
    sums.addcmul_(held, share[:, :, :, None])
    total = (total * share).add_(weights.sum(dim=3))  # (S, H, N, R)
    mixed = sums.new_empty(S, n, H, d, R)
    torch.div(sums.transpose(1, 2), total.transpose(1, 2)[:, :, :, None], out=mixed)
    return mixed.view(S * n, H * d, R)


def _among(query: Tensor, key: Tensor, value: Tensor) -> Parts:
    """Weighted sums of values (S, H, 1, d, R), sums of weights, and largest logits (S, H, 1, R)."""
    R = key.shape[2]
    scores = key @ query  # (S, H, R, R): keys, queries
    scores.add_(scores.new_full((R, R), -torch.inf).tril(-1))  # no key after the query
    top = scores.amax(dim=2)  # (S, H, R)
    weights = scores.sub_(top[:, :, None]).exp_()
    held = value.transpose(2, 3) @ weights  # (S, H, d, R)
    return held[:, :, None], weights.sum(dim=2)[:, :, None], top[:, :, None]
