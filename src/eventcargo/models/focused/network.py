"""FocusedNetwork: many small recurrent networks, one for each label, side by side.

At each kept event a network sees which candidate it is, how often each candidate came before, and how long
ago, in events and in time, each came last; the end is an entry like an event. Counts, distances and times are
encoded piecewise between their quantiles (Gorishniy et al. 2022), so that no scale and no threshold is
chosen. A ReLU layer reads the entry, a gated recurrent unit carries what was seen, and the logit is a
weighted sum of its last state and of the largest response of each unit of the layer to any entry.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray
from torch import Tensor, nn

from eventcargo.models.focused.projection import EMPTY, N_BEFORE, Projection

NEVER = -1e6
"""Place and time of what has not happened."""


class FocusedNetwork(nn.Module):
    """Networks of G labels with K candidates each; every weight has one slice per label.

    `edges` are the ends of the pieces of counts, distances and times: three of (G, K, pieces + 1).
    """

    def __init__(self, edges: Sequence[Tensor], width: int, seeds: Sequence[int]) -> None:
        super().__init__()
        n_labels, self.n_slots = edges[0].shape[:2]
        for name, each in zip(("counts", "places", "times"), edges, strict=True):
            self.register_buffer(f"edges_{name}", each)
        n_inputs = 3 * N_BEFORE + 1 + self.n_slots * (2 + sum(each.shape[2] - 1 for each in edges))
        self.width = width
        drawn = [_drawn(n_inputs, width, seed) for seed in seeds]
        self.enter, self.read, self.carry = (
            nn.Parameter(torch.stack(each)) for each in zip(*drawn, strict=True)
        )
        self.enter_bias = nn.Parameter(torch.zeros(n_labels, 1, width))
        self.read_bias = nn.Parameter(torch.zeros(n_labels, 1, 3 * width))
        self.out = nn.Parameter(torch.zeros(n_labels, 2 * width, 1))
        self.bias = nn.Parameter(torch.zeros(n_labels, 1))

    @property
    def edges(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.edges_counts, self.edges_places, self.edges_times  # type: ignore[return-value]

    def take(self, labels: Sequence[int]) -> "FocusedNetwork":
        """The networks of some of the labels."""
        which = torch.as_tensor(labels, dtype=torch.int64)
        taken = FocusedNetwork([each[which] for each in self.edges], self.width, [0] * len(labels))
        taken.load_state_dict({name: value[which] for name, value in self.state_dict().items()})
        return taken

    @torch.no_grad()
    def start_at(self, rates: Tensor) -> None:
        """Set the biases to the base rates of the labels."""
        self.bias.copy_(rates.logit()[:, None])

    def forward(self, projections: Sequence[Projection]) -> Tensor:
        """Logits (G, P) of as many projected sequences of each label."""
        return torch.bmm(self.features(projections), self.out)[..., 0] + self.bias

    def features(self, projections: Sequence[Projection]) -> Tensor:
        """The last state and the largest responses: (G, P, 2 * units)."""
        width = max(each.width for each in projections)
        wide = [each.widened(width) for each in projections]
        slots = torch.from_numpy(np.stack([each.slots for each in wide])).to(self.bias.device)
        inputs = self._inputs(slots, wide)  # (G, P, T, inputs)
        is_used = (slots != EMPTY)[..., None].to(inputs.dtype)
        n_labels, n, _, n_inputs = inputs.shape
        entered = F.relu(
            torch.baddbmm(self.enter_bias, inputs.view(n_labels, n * width, n_inputs), self.enter)
        )
        read = torch.baddbmm(self.read_bias, entered, self.read).view(n_labels, n, width, 3 * self.width)
        state = inputs.new_zeros(n_labels, n, self.width)
        for at in range(width):
            state = self._step(state, read[:, :, at], is_used[:, :, at])
        largest = (entered.view(n_labels, n, width, self.width) * is_used).amax(dim=2)
        return torch.cat([state, largest], dim=-1)

    @torch.no_grad()
    def largest_inputs(self, projection: Projection) -> NDArray[np.float64]:
        """The largest of each input over the entries of each slot, and the smallest of some: (P, inputs).

        The smallest are those of the distances to earlier occurrences. For a single label.
        """
        slots = torch.from_numpy(projection.slots)[None]
        inputs, n_before = self._inputs(slots, [projection])[0], 3 * N_BEFORE
        result = []
        for slot in range(self.n_slots + 1):
            own = (slots[0] == slot)[..., None]
            result.append((inputs * own).amax(dim=1))
            is_known = own & (inputs[..., 2:n_before:3].repeat_interleave(3, dim=-1) > 0)
            nearest = torch.where(is_known, inputs[..., :n_before], torch.inf).amin(dim=1)
            result.append(torch.where(nearest.isfinite(), 1 / (1 + nearest), 0.0))
        return torch.cat(result, dim=1).double().numpy()

    def _step(self, state: Tensor, read: Tensor, is_used: Tensor) -> Tensor:
        """The state after one entry: a gated recurrent unit (Cho et al. 2014)."""
        carried, two = torch.bmm(state, self.carry), 2 * self.width
        gates = torch.sigmoid(read[..., :two] + carried[..., :two])
        new = torch.tanh(read[..., two:] + gates[..., self.width :] * carried[..., two:])
        return torch.lerp(state, new, gates[..., : self.width] * is_used)

    def _inputs(self, slots: Tensor, projections: Sequence[Projection]) -> Tensor:
        kind = F.one_hot(slots.clamp(min=0), self.n_slots + 1) * (slots != EMPTY)[..., None]
        kind = kind.to(self.bias.dtype)
        event = kind[..., : self.n_slots]
        places, times, before = (
            torch.from_numpy(np.stack([getattr(each, name) for each in projections])).to(self.bias)
            for name in ("places", "times", "before")
        )
        since_place, seen = _since_last(event, places)
        since_time, _ = _since_last(event, times)
        pieces = (
            _pieces(event.cumsum(-2) - event, self.edges[0]),
            _pieces(since_place, self.edges[1], seen),
            _pieces(since_time, self.edges[2], seen),
        )
        return torch.cat([before, kind, seen, *pieces], dim=-1)


def _drawn(n_inputs: int, width: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """The initial weights of one label."""
    generator = torch.Generator().manual_seed(seed)
    enter = torch.randn(n_inputs, width, generator=generator) * 2 * n_inputs**-0.5
    read = torch.randn(width, 3 * width, generator=generator) * width**-0.5
    return enter, read, torch.randn(width, 3 * width, generator=generator) * width**-0.5


def _since_last(event: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """How far before each entry every slot last came, and whether it did: (G, P, T, K) each."""
    marked = torch.where(event > 0, at[..., None], NEVER)
    last = marked.cummax(dim=-2).values
    last = torch.cat([torch.full_like(last[..., :1, :], NEVER), last[..., :-1, :]], dim=-2)
    seen = (last > NEVER / 2).to(event.dtype)
    return (at[..., None] - last) * seen, seen


def _pieces(values: Tensor, edges: Tensor, seen: Tensor | None = None) -> Tensor:
    """Values (G, P, T, K) as how much of each piece they fill: (G, P, T, K * pieces)."""
    low, high = (each[:, None, None] for each in (edges[..., :-1], edges[..., 1:]))
    filled = ((values[..., None] - low) / (high - low).clamp(min=1e-6)).clamp(0, 1) * (high > low)
    return (filled if seen is None else filled * seen[..., None]).flatten(-2)


def measured(projection: Projection, n_slots: int) -> tuple[NDArray[np.float32], ...]:
    """Counts, distances and times of all entries, whose quantiles are the ends of the pieces; NaN: none."""
    slots = torch.from_numpy(projection.slots)[None]
    kind = F.one_hot(slots.clamp(min=0), n_slots + 1) * (slots != EMPTY)[..., None]
    event = kind[..., :n_slots].float()
    used = (slots != EMPTY)[..., None]
    since = [_since_last(event, torch.from_numpy(at)[None]) for at in (projection.places, projection.times)]
    values = [
        (event.cumsum(-2) - event, used.expand_as(event)),
        *((far, used & (seen > 0)) for far, seen in since),
    ]
    return tuple(
        torch.where(where, each, torch.nan)[0].reshape(-1, n_slots).numpy() for each, where in values
    )


def quantile_edges(values: NDArray[np.float32], n_pieces: int) -> NDArray[np.float32]:
    """The ends of the pieces of each column: (columns, n_pieces + 1); pieces that are not needed are empty.

    >>> quantile_edges(np.array([[0.0], [0.0], [1.0], [3.0], [np.nan]], np.float32), 3).tolist()
    [[0.0, 1.0, 3.0, 3.0]]
    """
    result = np.zeros((values.shape[1], n_pieces + 1), np.float32)
    for column, own in enumerate(values.T):
        ends = np.unique(own[~np.isnan(own)])
        if len(ends) > n_pieces + 1:
            ends = np.unique(np.nanquantile(own, np.linspace(0, 1, n_pieces + 1)))
        ends = ends if len(ends) else np.zeros(1)
        result[column] = np.append(ends, np.full(n_pieces + 1 - len(ends), ends[-1]))
    return result
