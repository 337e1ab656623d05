"""Layers of the Transformer: attention with positions and times, feed-forward layers, and blocks.

Axes: B sequences, L positions, D width, H heads. All blocks are pre-norm and causal: position i depends only
on positions 0 to i, so that padding on the right needs no mask.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from torch import Tensor, nn

POSITION_BASE, TIME_BASE = 10_000.0, 10_000.0
"""Ratio of the fastest to the slowest rotation; the fastest is one radian per position or unit of time."""

NARROW = 16
"""Width below which attention heads are slow on a CPU."""


@dataclass(frozen=True)
class Timing:
    """The times of a batch in the forms that layers use; computed once for all layers."""

    logs: Tensor  # (B, L, 2): log(1 + time since the start), log(1 + time since the previous event)
    cos: Tensor  # (B, 1, L, pairs)
    sin: Tensor  # (B, 1, L, pairs)

    @classmethod
    def of(cls, times: Tensor, scale: Tensor, pairs: int, rotates: bool) -> "Timing":
        """Timing of times (B, L); with `rotates`, half of the pairs rotate with time, half with position."""
        since = (times / scale).clamp(min=0)  # (B, L)
        gaps = F.pad(since.diff(dim=1), (1, 0)).clamp(min=0)  # (B, L); padding goes back to time 0
        place = torch.arange(times.shape[1], device=times.device, dtype=times.dtype).expand_as(times)
        n_time = pairs // 2 if rotates else 0
        angles = torch.cat(
            [
                place[..., None] * _frequencies(pairs - n_time, POSITION_BASE, times),
                since[..., None] * _frequencies(n_time, TIME_BASE, times),
            ],
            dim=-1,
        )[:, None]  # (B, 1, L, pairs)
        return cls(torch.stack([since, gaps], dim=-1).log1p(), angles.cos(), angles.sin())

    @cached_property
    def turns(self) -> Tensor:
        """The angles as complex numbers of modulus 1: (B, L, 1, pairs)."""
        return torch.complex(self.cos, self.sin).transpose(1, 2)


def _frequencies(count: int, base: float, like: Tensor) -> Tensor:
    steps = torch.arange(count, device=like.device, dtype=like.dtype)
    return base ** (-steps / max(count, 1))


def rotate(x: Tensor, timing: Timing) -> Tensor:
    """Each pair of coordinates rotated by its angle, so that products see differences: (B, H, L, d)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat(
        [first * timing.cos - second * timing.sin, second * timing.cos + first * timing.sin], dim=-1
    )


def turn(x: Tensor, timing: Timing, heads: int) -> Tensor:
    """The result of `rotate` for states (B, L, D) whose pairs are adjacent: (B, H, L, d), zero-padded.

    A complex product, written in place and without gradients.
    """
    B, L, D = x.shape
    pairs = D // heads // 2
    filled = x.new_zeros(B, L, heads, max(2 * pairs, NARROW))
    target = torch.view_as_complex(filled[..., : 2 * pairs].view(B, L, heads, pairs, 2))
    torch.mul(torch.view_as_complex(x.view(B, L, heads, pairs, 2)), timing.turns, out=target)
    return filled.transpose(1, 2)


def fill_up(x: Tensor) -> Tensor:
    """Heads (B, H, L, d) zero-padded, without effect on the result, to a width that is fast."""
    return x if x.shape[-1] >= NARROW else F.pad(x, (0, NARROW - x.shape[-1]))


def attend(query: Tensor, key: Tensor, value: Tensor, width: int | None = None) -> Tensor:
    """Causal attention: (B, H, L, d).

    Narrow heads are zero-padded, because the CPU kernel takes twice as long for a width of 8 as for 16;
    `width` is the true width of heads that are padded already.
    """
    width = width or query.shape[-1]
    if query.device.type == "cpu":
        query, key, value = fill_up(query), fill_up(key), fill_up(value)
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=width**-0.5)[..., :width]


class Attention(nn.Module):
    """Causal attention of `x` on `source`; a linear map of the log times is added to queries and keys."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * width, bias=False)
        self.time = nn.Linear(2, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, source: Tensor, timing: Timing) -> Tensor:
        """Outputs of all positions: (B, L, D)."""
        mixed = attend(*self.parts(x, source, timing), self.out.in_features // self.heads)
        return cast(Tensor, self.out(mixed.transpose(1, 2).flatten(2)))

    def parts(self, x: Tensor, source: Tensor, timing: Timing) -> tuple[Tensor, Tensor, Tensor]:
        """Rotated queries and keys, and values: each (B, H, L, d), possibly zero-padded.

        Without gradients, the coordinates of queries and keys come in another order, which does not change
        their products.
        """
        if x.device.type == "cpu" and not torch.is_grad_enabled():
            return self._parts_in_place(x, source, timing)
        time = self.time(timing.logs)  # (B, L, D)
        key, value = self.key_value(source).chunk(2, dim=-1)
        query, key = self._split(self.query(x) + time), self._split(key + time)
        return rotate(query, timing), rotate(key, timing), self._split(value)

    def _parts_in_place(self, x: Tensor, source: Tensor, timing: Timing) -> tuple[Tensor, Tensor, Tensor]:
        """The same, zero-padded, with few passes over memory, which on a CPU cost more than the products."""
        by_key, by_value = self.key_value.weight.chunk(2)
        time = F.linear(timing.logs, self._paired(self.time.weight))  # (B, L, D)
        query = F.linear(x, self._paired(self.query.weight)).add_(time)
        key = F.linear(source, self._paired(by_key)).add_(time)
        value = fill_up(self._split(F.linear(source, by_value)))
        return turn(query, timing, self.heads), turn(key, timing, self.heads), value

    def _paired(self, weight: Tensor) -> Tensor:
        """Weights (D, inputs) reordered so that the two coordinates of a pair are adjacent."""
        return weight.view(self.heads, 2, -1, weight.shape[1]).transpose(1, 2).flatten(0, 2)

    def _split(self, x: Tensor) -> Tensor:
        B, L, D = x.shape
        return x.view(B, L, self.heads, D // self.heads).transpose(1, 2)  # (B, H, L, d)


class FeedForward(nn.Module):
    """Two linear maps with GELU between them, or SwiGLU."""

    def __init__(self, width: int, feedforward: int, activation: str) -> None:
        super().__init__()
        self.gated = activation == "swiglu"
        self.enter = nn.Linear(width, 2 * feedforward if self.gated else feedforward, bias=False)
        self.out = nn.Linear(feedforward, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.enter(x)
        if not self.gated:
            return cast(Tensor, self.out(F.gelu(inner, approximate="tanh")))
        gate, value = inner.chunk(2, dim=-1)
        return cast(Tensor, self.out(F.silu(gate) * value))


class Block(nn.Module):
    """Self-attention, then with `reads` cross-attention on another stack (Tf_y on Tf_x), feed-forward."""

    def __init__(
        self, width: int, heads: int, feedforward: int, activation: str, dropout: float, reads: bool = False
    ) -> None:
        super().__init__()
        self.self_norm, self.self_attention = nn.RMSNorm(width), Attention(width, heads)
        self.cross_norm = nn.RMSNorm(width) if reads else None
        self.cross_attention = Attention(width, heads) if reads else None
        self.feed_norm, self.feed_forward = nn.RMSNorm(width), FeedForward(width, feedforward, activation)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, timing: Timing, memory: Tensor | None = None) -> Tensor:
        """States of all positions: (B, L, D)."""
        inner = self.self_norm(x)
        x = x + self.dropout(self.self_attention(inner, inner, timing))
        if self.cross_norm is not None and self.cross_attention is not None:
            assert memory is not None, "this block reads another stack; pass its states as memory"
            x = x + self.dropout(self.cross_attention(self.cross_norm(x), memory, timing))
        return cast(Tensor, x + self.dropout(self.feed_forward(self.feed_norm(x))))
