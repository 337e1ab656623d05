"""Particles: label states of sequences that differ only in their first events.

Axes: D width, H heads, S sequences, N particles each, C first positions in which particles differ, R later
positions that they share. The input at shared positions is the same for all particles of a sequence, so the
queries, keys and values of the first attention, and how these positions attend to one another, are computed
once; each particle adds C keys of its own. From then on, everything but the rotations differs. The result
equals `Transformer.states` up to rounding.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from eventcargo.batches import Batch
from eventcargo.models.transformer.columns import (
    Clock,
    Maps,
    attended,
    attention_input,
    finished,
    in_range,
    inverse_rms,
    mixed,
    quotients,
    weighted_sums,
    with_output,
)
from eventcargo.models.transformer.layers import Block

if TYPE_CHECKING:
    from eventcargo.models.transformer.model import Transformer

Parts = tuple[Tensor, Tensor, Tensor]
"""Queries, keys and values of an attention: (H, S, N, d, L), values with a row of ones."""


def particle_states(model: "Transformer", batch: Batch, n: int, first: int, start: int) -> Tensor:
    """States of Tf_y before their norm, from position `start` to the last but one: (D, S, N, L - 1 - start).

    Every `n` successive rows of the batch share the ids after their `first` positions, and all times and
    values. The last position is EOS at best, of which nothing is asked.
    """
    around, timing = model.around(batch.rows(slice(None, None, n)))  # (S, L, D)
    S, L = around.shape[:2]
    clock = Clock.of(timing).part(slice(L - 1))
    own = model.embed(batch.ids[:, :first].reshape(S, n, first)) + around[:, None, :first]
    shared = model.embed(batch.ids[::n, None, first:-1]) + around[:, None, first:-1]
    own, shared = (part.permute(3, 0, 1, 2).contiguous() for part in (own, shared))
    entered = Entered(own, shared, clock)
    if model.memory_norm is None:
        return entered.through(model.blocks, start)
    memory = attention_input(entered.through(model.blocks, 0), clock)
    return entered.through(model.label_blocks, start, memory, model.memory_norm)


def own_labels(model: "Transformer", states: Tensor, chosen: Tensor, n_labels: list[int]) -> Tensor:
    """Logits of each sequence's own labels, from the states of `particle_states`: (pairs, N, positions).

    `chosen` are the labels of all sequences, `n_labels` how many each has. Sequences of a pass share few
    labels; computing all labels for each would cost many times as much.
    """
    scales = inverse_rms(states)  # (S, N, positions)

    def product(rows: Tensor) -> Tensor:
        rows = rows * model.label_norm.weight
        products = states.new_empty(len(chosen), *scales.shape[1:])
        parts = zip(torch.split(products, n_labels), torch.split(rows, n_labels), strict=True)
        for at, (own, weight) in enumerate(parts):
            torch.mm(weight, states[:, at].flatten(1), out=own.view(len(own), -1))
            own.mul_(scales[at])
        return products

    return model.label_head.of_products(product, chosen)


class Entered:
    """The input of a stack of blocks: each particle's own positions, and the shared ones."""

    def __init__(self, own: Tensor, shared: Tensor, clock: Clock) -> None:
        self.own, self.shared, self.clock = own, shared, clock  # (D, S, N, C), (D, S, 1, R)

    def through(
        self,
        blocks: nn.ModuleList,
        start: int,
        memory: Tensor | None = None,
        memory_norm: nn.RMSNorm | None = None,
    ) -> Tensor:
        """States after the blocks from position `start` on: (D, S, N, L - start)."""
        x = self.begin(cast(Block, blocks[0]))
        for at, block in enumerate(cast(Sequence[Block], blocks)):
            needed = start if at == len(blocks) - 1 else 0
            x = attended(block, x, self.clock, needed) if at else x[..., needed:].contiguous()
            x = finished(block, x, self.clock, memory, memory_norm)
        return x

    def begin(self, block: Block) -> Tensor:
        """The input plus the self-attention of the first block: (D, S, N, L)."""
        maps, C = Maps.of(block.self_attention, block.self_norm), self.own.shape[-1]
        own = _parts(maps, self.own, self.clock.part(slice(C)))
        shared = _parts(maps, self.shared, self.clock.part(slice(C, None)))
        n = self.own.shape[2]
        x = torch.cat([self.own, self.shared.expand(-1, -1, n, -1)], dim=-1)
        mix = torch.cat([mixed(*own, C), attend_shared(shared, own)], dim=-1)
        return with_output(block.self_attention, x, mix)


def _parts(maps: Maps, x: Tensor, clock: Clock) -> Parts:
    columns = attention_input(x, clock)
    return maps.queries(columns, clock), *maps.keys_values(columns, clock)


def attend_shared(shared: Parts, own: Parts) -> Tensor:
    """Causal attention of shared positions on one another and on each particle's own: (H, d, S, N, R)."""
    n, R = own[0].shape[2], shared[1].shape[-1]
    sums = _on_own(shared[0], own[1], own[2]).add_(weighted_sums(*shared, R))
    if in_range(sums):
        return quotients(sums, R)
    key, value = (
        torch.cat([mine, common.expand(-1, -1, n, -1, -1)], dim=-1)
        for mine, common in zip(own[1:], shared[1:], strict=True)
    )
    return mixed(shared[0].expand(-1, -1, n, -1, -1), key, value, R)


def _on_own(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Sums of each particle's own values, weighted by 2 ** logit, for shared queries: (H, S, N, d + 1, R).

    The keys of all particles of a sequence are rows of one product with its queries.
    """
    H, S, n, d, C = key.shape
    R = query.shape[-1]
    keys = key.transpose(3, 4).reshape(H * S, n * C, d)
    weights = torch.bmm(keys, query.view(H * S, d, R)).exp2_()
    return torch.bmm(value.flatten(0, 2), weights.view(-1, C, R)).view(*value.shape[:-1], R)
