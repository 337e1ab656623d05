"""Contexts: the first events of a sequence, redrawn from Tf_x; each redrawn context is a particle.

A model, a batch and one seed for each sequence go in; ids come out. The event at position i is drawn from
P(. | ids before i); the times stay as observed. The paper draws position by position given the observed
prefix, so that one pass gives all proposals; in the order `ancestral` each draw is given what was drawn
before it, which costs a pass for each position, over all particles.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.errors import ConfigError
from eventcargo.models.density import DensityModel
from eventcargo.vocabulary import UNK

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

PROPOSED_AT_ONCE = 64
"""Positions whose next events are computed at once: so many rows of logits over the whole vocabulary. Twice
as many take a third longer, because less of them stays in the cache."""

STATES_AT_ONCE = 4_096
"""Positions whose states are computed at once, where a model gives these apart from its logits."""

GROUP = 8
"""Event types of which only the most probable is looked at first, where there are many."""

ROUNDING = 1e-6
"""A mass that is reached but for rounding is reached."""


@dataclass(frozen=True)
class ContextConfig:
    """What is redrawn, and from what."""

    context: int = 15
    """events at the start that are redrawn; those after them are scored"""
    top_k: int = 35
    """draw from so many most probable event types; 0: from all"""
    top_p: float = 0.8
    """draw from the most probable event types that hold this share of the probability; 1: from all"""
    nucleus: Literal["reaching", "within"] = "reaching"
    """reaching: the event type that crosses top_p is kept; within: it is dropped, as the paper does"""
    temperature: float = 1.0
    """above 1 draws more evenly, below 1 less"""
    draws: Literal["stratified", "independent"] = "stratified"
    """stratified: the particles share out each position's probability evenly; independent: as the paper"""
    order: Literal["observed", "ancestral"] = "observed"
    """observed: each draw is given the observed prefix; ancestral: given what was drawn before it"""

    def __post_init__(self) -> None:
        for name in ("context", "top_k"):
            _check(self, name, getattr(self, name) >= 0, "use 0 or more")
        _check(self, "top_p", 0 < self.top_p <= 1, "use a share above 0 and up to 1")
        _check(self, "temperature", 0 < self.temperature < np.inf, "use a number above 0")
        _check(self, "nucleus", self.nucleus in ("reaching", "within"), "use reaching or within")
        _check(self, "draws", self.draws in ("stratified", "independent"), "use stratified or independent")
        _check(self, "order", self.order in ("observed", "ancestral"), "use observed or ancestral")


def _check(config: ContextConfig, name: str, good: bool, allowed: str) -> None:
    if not good:
        raise ConfigError(f"{name}={getattr(config, name)!r}: {allowed}")


@dataclass(frozen=True)
class Proposals:
    """For each position the ids that may be drawn, in the order of ids, and their cumulative probabilities.

    In the order of ids, not of probabilities: two probabilities that differ by rounding alone then cannot
    change places, and with them the draws, from one machine to another.
    """

    ids: Ids  # (positions, k)
    cumulative: Floats  # (positions, k), the last is 1

    @classmethod
    def join(cls, parts: "Sequence[Proposals]") -> "Proposals":
        """The proposals of one part after the other."""
        return cls(
            np.concatenate([part.ids for part in parts]), np.concatenate([part.cumulative for part in parts])
        )

    def take(self, positions: slice | Ids) -> "Proposals":
        return Proposals(self.ids[positions], self.cumulative[positions])

    def draw(self, uniforms: Floats) -> Ids:
        """An id for each number in [0, 1): (positions, n), by inversion."""
        passed = (self.cumulative[:, None, :] <= uniforms[:, :, None]).sum(axis=2)  # (positions, n)
        return np.take_along_axis(self.ids, passed, axis=1)


def propose(logits: Tensor, config: ContextConfig) -> Proposals:
    """What may be drawn from next-event logits (positions, vocabulary).

    Temperature first, then PAD, BOS and EOS are ruled out and the rest is normalised, then the `top_k` most
    probable remain, and of these the nucleus: as many as it takes to hold `top_p` of the probability (of all
    events, not of the top k), or those that together hold no more with `within`; always at least one.

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.5, 0.3, 0.2]]).log()
    >>> propose(logits, ContextConfig(top_k=2, top_p=1.0)).cumulative.round(3).tolist()
    [[0.625, 1.0]]
    """
    events = logits[:, UNK:].float()  # PAD, BOS and EOS are the ids before UNK
    if config.temperature != 1:
        events = events / config.temperature
    top, columns = _largest(events, min(config.top_k or events.shape[1], events.shape[1]))
    total = _log_total(events, top, config.top_p)
    ids, probabilities = columns.cpu().numpy() + UNK, (top.double() - total).exp().cpu().numpy()
    ids, probabilities = _ordered(
        ids, probabilities, np.lexsort((ids, -probabilities), axis=1)
    )  # of equal ones the first id
    probabilities = np.where(_nucleus(probabilities, config), probabilities, 0.0)
    ids, probabilities = _ordered(ids, probabilities, ids.argsort(axis=1))
    cumulative = probabilities.cumsum(axis=1)
    return Proposals(ids, cumulative / cumulative[:, -1:])


def _largest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row and their columns: (positions, k).

    Of long rows, every so many columns apart make a group. The k largest lie in the groups of the k largest
    maxima, so that only these are sorted through, which is several times faster.
    """
    stride = values.shape[1] // GROUP
    if stride <= 2 * k:
        top = torch.topk(values, k, dim=1)
        return top.values, top.indices
    maxima = values[:, : stride * GROUP].view(len(values), GROUP, stride).amax(dim=1)
    first = _largest(maxima, k)[1]  # (positions, k)
    steps = stride * torch.arange(GROUP, device=values.device)
    rest = torch.arange(stride * GROUP, values.shape[1], device=values.device)
    columns = torch.cat([(first[:, None] + steps[:, None]).flatten(1), rest.expand(len(values), -1)], dim=1)
    top = torch.topk(values.gather(1, columns), k, dim=1)
    return top.values, columns.gather(1, top.indices)


def _log_total(events: Tensor, top: Tensor, top_p: float) -> Tensor:
    """Logarithm of the sum of exponentials: (positions, 1); or of a part of it that says the same.

    A part is enough if even of it the top hold less than `top_p`: then the nucleus is all of them, and how
    probabilities compare does not depend on the sum. With many event types a small part mostly is.
    """
    highest = top.amax(dim=1, keepdim=True)
    enough = (top - highest).exp_().sum(dim=1, keepdim=True) / max(top_p - 2 * ROUNDING, ROUNDING)
    total = torch.zeros_like(highest)
    for start, stop in column_parts(events):
        total += (events[:, start:stop] - highest).exp_().sum(dim=1, keepdim=True)
        if bool((total >= enough).all()):
            break
    return highest + total.log_()


def _nucleus(probabilities: Floats, config: ContextConfig) -> NDArray[np.bool_]:
    """Which of the probabilities, the largest first, are kept: (positions, k)."""
    if config.top_p == 1:  # rounding must not drop the last ones
        return np.ones(probabilities.shape, bool)
    held = probabilities.cumsum(axis=1)
    if config.nucleus == "reaching":
        kept = held - probabilities < config.top_p - ROUNDING
    else:
        kept = held <= config.top_p + ROUNDING
    kept[:, 0] = True
    return kept


def _ordered(ids: Ids, probabilities: Floats, order: Ids) -> tuple[Ids, Floats]:
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(probabilities, order, axis=1)


def uniforms(seed: int, done: int, n: int, context: int, draws: str) -> Floats:
    """Numbers in [0, 1) for `n` more particles of a sequence that has `done` already: (context, n).

    Stratified: at each position one random offset and then steps of 1 / n, dealt to the particles in random
    order (a Latin hypercube). Means over particles keep their expectation and vary less, because every event
    type is drawn at a position about as often as its chance says. As many again as there are already fall
    midway between these, so that together they are such a set, too.

    >>> np.sort(uniforms(7, 0, 4, 1, "stratified") * 4 // 1).tolist()
    [[0.0, 1.0, 2.0, 3.0]]
    """
    rng = np.random.default_rng([seed % 2**64, done])
    if draws == "independent":
        return rng.random((context, n))
    offsets = np.random.default_rng(seed % 2**64).random((context, 1)) * n % 1  # in steps
    if done:
        offsets = (offsets + 0.5) % 1
    steps = rng.permuted(np.tile(np.arange(n), (context, 1)), axis=1)
    return np.minimum((steps + offsets) / n, np.nextafter(1.0, 0.0))


def repeat(batch: Batch, rows: Ids, width: int | None = None) -> Batch:
    """Rows of a batch, each as often as it is named, in its first `width` positions; labels are left out."""
    return Batch(
        batch.ids[rows, :width],
        batch.times[rows, :width],
        np.minimum(batch.lengths[rows], width or batch.ids.shape[1]),
        np.zeros((len(rows), 0), np.float32),
        batch.values[rows, :width],
    )


class Contexts:
    """Draws contexts for chosen sequences of a batch, each of which has `context` events at least.

    >>> from eventcargo.batches import Batches
    >>> from eventcargo.models.oracle import Oracle
    >>> from eventcargo.simulate.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> model = Oracle(process)
    >>> data = process.sample(3, seed=1).data
    >>> batch = Batches(data, model.vocabulary, model.max_length).take(np.arange(3))
    >>> contexts = Contexts(model, batch, np.array([0, 2]), np.array([5, 6, 7]), ContextConfig(context=2))
    >>> contexts.draw(2, 8).shape
    (8, 2)
    """

    def __init__(
        self, model: DensityModel, batch: Batch, rows: Ids, seeds: Ids, config: ContextConfig
    ) -> None:
        self._model, self._batch, self._seeds, self._config = model, batch, seeds, config
        self._proposals = self._given_observed(rows) if config.order == "observed" else {}

    def draw(self, row: int, n: int, done: int = 0) -> Ids:
        """Ids at positions 1 to `context` of `n` more particles of a sequence: (n, context)."""
        config = self._config
        at = uniforms(int(self._seeds[row]), done, n, config.context, config.draws)
        if config.order == "ancestral":
            return self._ancestral(row, at)
        return self._proposals[row].draw(at).T

    def _given_observed(self, rows: Ids) -> dict[int, Proposals]:
        """Proposals of every sequence by its row; a pass over positions 0 to context - 1 gives them.

        Where all sequences start alike, as they do but for values, what comes first is proposed once.
        """
        first = repeat(self._batch, rows, self._config.context)
        asked = np.ones(first.ids.shape, bool)
        asked[1:, :1] = not _start_alike(first)
        numbers = (asked.cumsum() - 1).reshape(asked.shape)  # (rows, context)
        numbers[:, :1] = np.where(asked[:, :1], numbers[:, :1], 0)
        parts = [propose(logits, self._config) for logits in self._observed_logits(first, asked)]
        every = Proposals.join(parts)
        return {row: every.take(at) for row, at in zip(rows.tolist(), numbers, strict=True)}

    def _observed_logits(self, batch: Batch, asked: NDArray[np.bool_]) -> Iterator[Tensor]:
        """Next-event logits where asked for, some positions after others."""
        split = isinstance(self._model, StatesModel)
        size = STATES_AT_ONCE if split else PROPOSED_AT_ONCE
        for part in np.array_split(np.arange(len(asked)), max(asked.size // size, 1)):
            some = repeat(batch, part)
            if isinstance(self._model, StatesModel):
                yield from split_logits(self._model, some, asked[part], PROPOSED_AT_ONCE)
            else:
                yield self._next_events(some, asked[part])

    def _ancestral(self, row: int, at: Floats) -> Ids:
        """Position by position, given the particles as drawn so far."""
        drawn = repeat(self._batch, np.full(at.shape[1], row))
        for position in range(1, len(at) + 1):
            prefix = repeat(drawn, np.arange(at.shape[1]), position)
            logits = self._next_events(prefix, np.arange(position) == prefix.lengths[:, None] - 1)
            drawn.ids[:, position] = propose(logits, self._config).draw(at[position - 1][:, None])[:, 0]
        return drawn.ids[:, 1 : len(at) + 1]

    @torch.inference_mode()
    def _next_events(self, batch: Batch, where: NDArray[np.bool_]) -> Tensor:
        logits = self._model.densities(batch, events_at=where).events
        assert logits is not None
        return logits


def _start_alike(batch: Batch) -> bool:
    """Whether position 0 is the same in all sequences."""
    starts = (batch.ids[:, :1], batch.times[:, :1], batch.values[:, :1])
    return all(bool((part == part[:1]).all()) for part in starts)


COLUMNS = 2_048
"""Event types of which logits and exponentials are computed at once on a CPU, so that they stay in the
cache."""


@runtime_checkable
class StatesModel(Protocol):
    """A model whose logits of the next event are a linear map of its states.

    States of many sequences then take one pass, and the map is applied to as many of them as fit the cache.
    """

    def states(self, batch: Batch, for_labels: bool = True) -> tuple[Tensor, Tensor]:
        """States for the next event (B, L, D), and those for labels, which are not used here."""
        ...

    def event_logits(self, states: Tensor) -> Tensor:
        """Logits of the next id from states (positions, D)."""
        ...

    @property
    def event_weight(self) -> Tensor:
        """The linear map: (vocabulary, D)."""
        ...


def column_parts(like: Tensor) -> Iterator[tuple[int, int]]:
    """Where parts of the columns start and stop; elsewhere than on a CPU all are one part."""
    size = like.shape[1]
    step = COLUMNS if like.device.type == "cpu" else size
    return ((start, min(start + step, size)) for start in range(0, size, step))


@torch.inference_mode()
def split_logits(model: StatesModel, batch: Batch, asked: NDArray[np.bool_], size: int) -> Iterator[Tensor]:
    """Next-event logits of one pass, `size` positions at a time, each time in the same memory."""
    states = model.states(batch, for_labels=False)[0]
    states = states[torch.as_tensor(asked, device=states.device)]  # (positions, D)
    weight, bias = model.event_weight, model.event_logits(states.new_zeros(1, states.shape[1]))[0]
    memory = states.new_empty(size, len(weight))
    for some in torch.split(states, size):
        logits = memory[: len(some)]
        for start, stop in column_parts(logits):
            torch.addmm(bias[start:stop], some, weight[start:stop].T, out=logits[:, start:stop])
        yield logits
