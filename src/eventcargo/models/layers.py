"""Layers of the Transformer: attention that knows positions and times, feed-forward, and their blocks.

Axes: B sequences, L positions, D width, H heads. All blocks are pre-norm and causal: what stands at position
i is computed from positions 0 to i, so that padding on the right needs no mask.
"""

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from torch import Tensor, nn

POSITION_BASE, TIME_BASE = 10_000.0, 10_000.0
"""Ratio of the fastest to the slowest rotation; one radian a position, or a unit of time, is the fastest."""

NARROW = 16
"""Heads below this width are slow on a CPU."""


@dataclass(frozen=True)
class Timing:
    """When the events of a batch happened, in the forms layers use; computed once for all layers."""

    logs: Tensor  # (B, L, 2): log(1 + time since the start), log(1 + time since the previous event)
    cos: Tensor  # (B, 1, L, pairs)
    sin: Tensor  # (B, 1, L, pairs)

    @classmethod
    def of(cls, times: Tensor, scale: Tensor, pairs: int, rotates: bool) -> "Timing":
        """Timing of times (B, L); with `rotates`, half of the pairs turn with time, half by position."""
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


def _frequencies(count: int, base: float, like: Tensor) -> Tensor:
    steps = torch.arange(count, device=like.device, dtype=like.dtype)
    return base ** (-steps / max(count, 1))


def rotate(x: Tensor, timing: Timing) -> Tensor:
    """Each pair of coordinates turned by its angle, so that products depend on differences: (B, H, L, d)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat(
        [first * timing.cos - second * timing.sin, second * timing.cos + first * timing.sin], dim=-1
    )


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention: (B, H, L, d).

    Narrow heads are filled up with zeros, which change nothing, because the kernel of the CPU takes twice as
    long for a width of 8 as for one of 16.
    """
    width = query.shape[-1]
    if query.device.type != "cpu" or width >= NARROW:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    query, key, value = (F.pad(part, (0, NARROW - width)) for part in (query, key, value))
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
        time = self.time(timing.logs)  # (B, L, D)
        key, value = self.key_value(source).chunk(2, dim=-1)
        query, key = self._split(self.query(x) + time), self._split(key + time)
        mixed = attend(rotate(query, timing), rotate(key, timing), self._split(value))  # (B, H, L, d)
        return cast(Tensor, self.out(mixed.transpose(1, 2).flatten(2)))  # (B, L, D)

    def _split(self, x: Tensor) -> Tensor:
        B, L, D = x.shape
        return x.view(B, L, self.heads, D // self.heads).transpose(1, 2)  # (B, H, L, d)


class FeedForward(nn.Module):
    """Two linear maps with GELU between them, or SwiGLU."""

    def __init__(self, width: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.gated = activation == "swiglu"
        self.enter = nn.Linear(width, 2 * hidden if self.gated else hidden, bias=False)
        self.out = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.enter(x)
        if not self.gated:
            return cast(Tensor, self.out(F.gelu(inner, approximate="tanh")))
        gate, value = inner.chunk(2, dim=-1)
        return cast(Tensor, self.out(F.silu(gate) * value))


class Block(nn.Module):
    """Self-attention, then with `reads` attention on what another stack made (Tf_y on Tf_x), feed-forward."""

    def __init__(
        self, width: int, heads: int, hidden: int, activation: str, dropout: float, reads: bool = False
    ) -> None:
        super().__init__()
        self.self_norm, self.self_attention = nn.RMSNorm(width), Attention(width, heads)
        self.cross_norm = nn.RMSNorm(width) if reads else None
        self.cross_attention = Attention(width, heads) if reads else None
        self.feed_norm, self.feed_forward = nn.RMSNorm(width), FeedForward(width, hidden, activation)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, timing: Timing, memory: Tensor | None = None) -> Tensor:
        inner = self.self_norm(x)
        x = x + self.dropout(self.self_attention(inner, inner, timing))
        if self.cross_norm is not None and self.cross_attention is not None:
            assert memory is not None, "this block reads another stack; give its states"
            x = x + self.dropout(self.cross_attention(self.cross_norm(x), memory, timing))
        return cast(Tensor, x + self.dropout(self.feed_forward(self.feed_norm(x))))
