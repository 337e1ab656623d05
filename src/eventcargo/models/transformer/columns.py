"""Blocks of the Transformer without gradients, on states with one column per position.

Axes: D width, H heads, d width of a head, S sequences, N particles of each, L positions. With states (D, S,
N, L), every linear map is one product of a weight with thousands of columns, and a head is a slice of its
rows. The products also do what would be passes over memory of their own: the weights of norms are folded into
them, log times are two more rows, and a row of ones gives the sums of attention weights.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from torch import Tensor, nn

from eventcargo.models.transformer.layers import Attention, Block, FeedForward, Timing

COLUMNS_AT_ONCE = 1_024
"""Columns of a feed-forward layer computed at once on a CPU, so that the inner states stay in the cache."""

SCORES_AT_ONCE = 1 << 18
"""Attention scores computed at once on a CPU, so that they stay in the cache."""

ALIGNED = 16
"""Numbers in a vector register; products with a multiple of it as many columns take a third less time."""

QUERIES_AT_ONCE = 3 * ALIGNED
"""Queries computed at once; keys after the last of them are left out."""

LOWEST, HIGHEST = 2.0**-60, 2.0**100
"""Sums of attention weights between these bounds are exact without subtracting the largest logit first."""

MORE = 3
"""Rows of the input of an attention beside the states: two log times and ones."""


@dataclass(frozen=True)
class Clock:
    """A `Timing` in columns."""

    logs: Tensor  # (2, S, 1, L)
    cos: Tensor  # (S, 1, pairs, L)
    sin: Tensor  # (S, 1, pairs, L)

    @classmethod
    def of(cls, timing: Timing) -> "Clock":
        cos, sin = (angles.transpose(2, 3).contiguous() for angles in (timing.cos, timing.sin))
        return cls(timing.logs.permute(2, 0, 1)[:, :, None].contiguous(), cos, sin)

    def part(self, positions: slice) -> "Clock":
        """The clock of the selected positions."""
        return Clock(*(rows[..., positions] for rows in (self.logs, self.cos, self.sin)))


def inverse_rms(x: Tensor) -> Tensor:
    """One over the root mean square of each column."""
    return (x * x).mean(dim=0).add_(torch.finfo(x.dtype).eps).rsqrt_()


def scaled(x: Tensor, out: Tensor) -> Tensor:
    """RMS norm of each column, without weights, written to `out`."""
    torch.mul(x, x, out=out)
    return torch.mul(x, out.mean(dim=0).add_(torch.finfo(x.dtype).eps).rsqrt_(), out=out)


def attention_input(x: Tensor, clock: Clock) -> Tensor:
    """Normed states, log times and ones: (D + 3, S, N, L)."""
    columns = x.new_empty(len(x) + MORE, *x.shape[1:])
    scaled(x, out=columns[:-MORE])
    columns[-MORE:-1] = clock.logs
    columns[-1] = 1
    return columns


class Maps:
    """The weights of an attention for `attention_input`, with the norms of its input folded in."""

    def __init__(self, attention: Attention, norm: nn.RMSNorm, source_norm: nn.RMSNorm | None = None) -> None:
        self.heads, width = attention.heads, attention.out.in_features
        by_key, by_value = (attention.key_value.weight * (source_norm or norm).weight).chunk(2)
        time = F.pad(attention.time.weight, (0, 1))
        value = time.new_zeros(self.heads, width // self.heads + 1, width + MORE)
        value[:, :-1, :width] = by_value.view(self.heads, -1, width)
        value[:, -1, -1] = 1
        scale = math.log2(math.e) * (width // self.heads) ** -0.5  # of powers of two, which are faster
        self._query = torch.cat([attention.query.weight * norm.weight, time], dim=1) * scale
        self._key_value = torch.cat([torch.cat([by_key, time], dim=1), value.flatten(0, 1)])

    @classmethod
    def of(cls, attention: Attention, norm: nn.RMSNorm, source_norm: nn.RMSNorm | None = None) -> "Maps":
        """The maps of an attention; made once, and again when one of the weights has changed."""
        layers = (attention.query, attention.key_value, attention.time, norm, source_norm or norm)
        weights = [layer.weight for layer in layers]
        if any(weight.is_inference() for weight in weights):  # these do not count their changes
            return cls(attention, norm, source_norm)
        state = tuple((weight.data_ptr(), weight._version) for weight in weights)
        if attention not in _MADE or _MADE[attention][0] != state:
            _MADE[attention] = state, cls(attention, norm, source_norm)
        return _MADE[attention][1]

    def queries(self, columns: Tensor, clock: Clock) -> Tensor:
        """Rotated queries, zeros up to a multiple of `ALIGNED`: (H, S, N, d, L or more)."""
        query = self._heads(torch.mm(self._query, columns.flatten(1)), columns)
        return rotated(query, clock, -query.shape[-1] % ALIGNED)

    def keys_values(self, columns: Tensor, clock: Clock) -> tuple[Tensor, Tensor]:
        """Rotated keys (H, S, N, d, L), and values with a row of ones (H, S, N, d + 1, L)."""
        mapped, width = torch.mm(self._key_value, columns.flatten(1)), len(self._query)
        key, value = self._heads(mapped[:width], columns), self._heads(mapped[width:], columns)
        return rotated(key, clock), value.contiguous()

    def _heads(self, mapped: Tensor, columns: Tensor) -> Tensor:
        return mapped.view(self.heads, -1, *columns.shape[1:]).permute(0, 2, 3, 1, 4)


_MADE = WeakKeyDictionary[Attention, tuple[tuple[tuple[int, int], ...], Maps]]()
"""Maps of attentions, with the addresses and versions of the weights they were made of."""


def rotated(x: Tensor, clock: Clock, n_zeros: int = 0) -> Tensor:
    """Each pair of rows of a head rotated by its angle, then zeros: (H, S, N, d, L + n_zeros), contiguous."""
    L = x.shape[-1]
    result = x.new_empty(*x.shape[:-1], L + n_zeros)
    result[..., L:] = 0
    (first, second), (upper, lower) = x.chunk(2, dim=3), result[..., :L].chunk(2, dim=3)
    torch.mul(first, clock.cos, out=upper).addcmul_(second, clock.sin, value=-1)
    torch.mul(second, clock.cos, out=lower).addcmul_(first, clock.sin)
    return result


def mixed(query: Tensor, key: Tensor, value: Tensor, n: int) -> Tensor:
    """Causal attention of the last `n` positions, the first `n` queries, on all: (H, d, S, N, n)."""
    sums = weighted_sums(query, key, value, n)
    return quotients(sums if in_range(sums) else weighted_sums(query, key, value, n, shifted=True), n)


def quotients(sums: Tensor, n: int) -> Tensor:
    """Weighted means of values (H, d, S, N, n) from their weighted sums (H, S, N, d + 1, n or more)."""
    sums = sums[..., :n].permute(0, 3, 1, 2, 4)
    return torch.div(sums[:, :-1], sums[:, -1:], out=sums.new_empty(sums[:, :-1].shape))


def in_range(sums: Tensor) -> bool:
    """Whether no weight overflowed, and none that counts became 0."""
    lowest, highest = sums[..., -1, :].aminmax()
    return bool((lowest > LOWEST) & (highest < HIGHEST))


def weighted_sums(query: Tensor, key: Tensor, value: Tensor, n: int, shifted: bool = False) -> Tensor:
    """Sums of values weighted by 2 ** logit, and of the weights: (H, S, N, d + 1, queries).

    The first `n` queries are the last `n` positions; those after them are of no position. With `shifted`, the
    largest logit of a query is subtracted first: no logits overflow then, but it takes more passes.
    """
    sums = value.new_empty(*value.shape[:-1], query.shape[-1])
    query, key, value, out = (part.flatten(0, 2) for part in (query, key, value, sums))
    memory, first = value.new_empty(0), key.shape[2] - n
    triangle = value.new_ones(QUERIES_AT_ONCE, QUERIES_AT_ONCE).triu_()
    for rows, start, stop in _pieces(query, key):
        asked, seen = slice(start, stop), slice(first + stop)
        scores = _products(key[rows, :, seen], query[rows, :, asked], memory)
        among = scores[:, first + start :]
        is_past = triangle[: among.shape[1], : among.shape[2]]
        if shifted:
            among.add_(is_past.log())
            scores.sub_(scores.amax(dim=1, keepdim=True))
        scores.exp2_()
        among.mul_(is_past)
        out[rows, :, asked] = torch.bmm(value[rows, :, seen], scores)
    return sums


def _products(key: Tensor, query: Tensor, memory: Tensor) -> Tensor:
    """Products of keys and queries (B, keys, queries), in memory that is used again."""
    shape = (len(key), key.shape[2], query.shape[2])
    if math.prod(shape) > memory.numel():
        memory.resize_(math.prod(shape))
    return torch.bmm(key.transpose(1, 2), query, out=memory[: math.prod(shape)].view(shape))


def _pieces(query: Tensor, key: Tensor) -> Iterator[tuple[slice, int, int]]:
    """Pieces of an attention whose scores stay in the cache: rows, first and last query."""
    n, n_queries = len(query), query.shape[2]
    at_once = SCORES_AT_ONCE // (key.shape[2] * min(n_queries, QUERIES_AT_ONCE)) or 1
    if query.device.type != "cpu":
        at_once = n
    for begin in range(0, n, at_once):
        for start in range(0, n_queries, QUERIES_AT_ONCE):
            yield slice(begin, begin + at_once), start, min(start + QUERIES_AT_ONCE, n_queries)


def attended(block: Block, x: Tensor, clock: Clock, start: int) -> Tensor:
    """States plus self-attention, from position `start` on: (D, S, N, L - start)."""
    maps, columns = Maps.of(block.self_attention, block.self_norm), attention_input(x, clock)
    later = slice(start, None)
    query = maps.queries(columns[..., later], clock.part(later))
    mix = mixed(query, *maps.keys_values(columns, clock), x.shape[-1] - start)
    return with_output(block.self_attention, x[..., later], mix)


def finished(
    block: Block, x: Tensor, clock: Clock, memory: Tensor | None, memory_norm: nn.RMSNorm | None
) -> Tensor:
    """Everything after self-attention, for the last positions: (D, S, N, positions)."""
    if block.cross_attention is not None and block.cross_norm is not None:
        assert memory is not None, "this block reads another stack; pass its states as memory"
        maps = Maps.of(block.cross_attention, block.cross_norm, memory_norm)
        own = clock.part(slice(memory.shape[-1] - x.shape[-1], None))
        query = maps.queries(attention_input(x, own), own)
        mix = mixed(query, *maps.keys_values(memory, clock), x.shape[-1])
        x = with_output(block.cross_attention, x, mix)
    feed(block.feed_forward, block.feed_norm, x.view(len(x), -1))
    return x


def with_output(attention: Attention, x: Tensor, mix: Tensor) -> Tensor:
    """States plus the output of an attention (H, d, S, N, L)."""
    x = x.contiguous()
    x.view(len(x), -1).addmm_(attention.out.weight, mix.view(len(x), -1))
    return x


def feed(layer: FeedForward, norm: nn.RMSNorm, x: Tensor) -> None:
    """Add the feed-forward layer to states (D, columns), in place."""
    enter, size = layer.enter.weight * norm.weight, COLUMNS_AT_ONCE if x.device.type == "cpu" else x.shape[1]
    for part in torch.split(x, size, dim=1):
        inner = torch.mm(enter, scaled(part, torch.empty_like(part)))
        if layer.gated:
            gate, value = inner.chunk(2)
            inner = F.silu(gate, inplace=True).mul_(value)
        else:
            inner = F.gelu(inner, approximate="tanh")
        part.addmm_(layer.out.weight, inner)
