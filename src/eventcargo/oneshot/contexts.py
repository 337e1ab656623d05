"""Contexts: the first events of a sequence, redrawn from Tf_x; each redrawn context is a particle.

Input is a model, a batch and one seed per sequence; output is ids. The event at position i is drawn from
P(. | ids before i); times stay as observed. The paper conditions every draw on the observed prefix, so one
pass gives all proposals. With `order="ancestral"` each draw is conditioned on the earlier draws, which costs
one pass per position over all particles.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.models.density import DensityModel, NextEvents, column_blocks
from eventcargo.oneshot.config import ContextConfig
from eventcargo.vocabulary import UNK

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

GROUP = 8
"""Event types per group in a large vocabulary; the search for the top k first compares group maxima."""

ROUNDING = 1e-6
"""Tolerance within which a probability mass counts as reached."""


@dataclass(frozen=True)
class Proposals:
    """The ids that may be drawn at each position, sorted by id, and their cumulative probabilities.

    Sorting by id, not by probability, makes draws the same on every machine: probabilities that differ only
    by rounding cannot swap places.
    """

    ids: Ids  # (positions, k)
    cumulative: Floats  # (positions, k), the last is 1

    @classmethod
    def join(cls, parts: "Sequence[Proposals]") -> "Proposals":
        """The proposals of several blocks of positions as one."""
        return cls(
            np.concatenate([part.ids for part in parts]), np.concatenate([part.cumulative for part in parts])
        )

    def take(self, positions: slice | Ids) -> "Proposals":
        return Proposals(self.ids[positions], self.cumulative[positions])

    def draw(self, uniforms: Floats) -> Ids:
        """One id per number in [0, 1), by inverting the cumulative probabilities: (positions, n)."""
        passed = (self.cumulative[:, None, :] <= uniforms[:, :, None]).sum(axis=2)  # (positions, n)
        return np.take_along_axis(self.ids, passed, axis=1)


def propose(logits: Tensor, config: ContextConfig) -> Proposals:
    """The distribution to draw from, given next-event logits (positions, vocabulary).

    Logits are divided by the temperature, PAD, BOS and EOS are excluded, and the rest is normalised. Of the
    `top_k` most probable ids the nucleus remains: the fewest that hold `top_p` of the probability (of all
    events, not of the top k), or with `within` the most that hold no more; always at least one.

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.5, 0.3, 0.2]]).log()
    >>> propose(logits, ContextConfig(top_k=2, top_p=1.0)).cumulative.round(3).tolist()
    [[0.625, 1.0]]
    """
    events = logits[:, UNK:].float()  # PAD, BOS and EOS are the ids before UNK
    if config.temperature != 1:
        events = events / config.temperature
    top, columns = _largest(events, min(config.top_k or events.shape[1], events.shape[1]))
    return _proposals(columns + UNK, top, _log_total(events, top, config.top_p), config)


def propose_among(events: NextEvents, config: ContextConfig) -> Proposals:
    """The same, given only the event types that can be among the top k.

    The others enter with the least probability they can have. If the top k hold less than `top_p` even then,
    the nucleus is all of them; otherwise the logits of all event types decide.
    """
    if events.ids is None or events.floors is None or events.all is None:
        return propose(events.logits, config)
    logits, floors = events.logits.float() / config.temperature, events.floors.float() / config.temperature
    top, columns = _largest(logits, config.top_k)
    total = torch.logaddexp(logits.logsumexp(dim=1, keepdim=True), floors.logsumexp(dim=0))
    if bool(((top - total).exp().sum(dim=1) > config.top_p - 2 * ROUNDING).any()):
        return propose(events.all(), config)
    return _proposals(events.ids[columns], top, total, config)


def _proposals(columns: Tensor, top: Tensor, total: Tensor, config: ContextConfig) -> Proposals:
    """Proposals from the ids of the top k, their logits, and the log of the sum over all: (positions, k)."""
    ids, probabilities = columns.cpu().numpy(), (top.double() - total).exp().cpu().numpy()
    ids, probabilities = _ordered(
        ids, probabilities, np.lexsort((ids, -probabilities), axis=1)
    )  # ties: the smaller id first
    probabilities = np.where(_nucleus(probabilities, config), probabilities, 0.0)
    ids, probabilities = _ordered(ids, probabilities, ids.argsort(axis=1))
    cumulative = probabilities.cumsum(axis=1)
    return Proposals(ids, cumulative / cumulative[:, -1:])


def _largest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest values of each row and their columns: (positions, k).

    In long rows, columns `stride` apart form a group. The k largest values lie in the k groups with the
    largest maxima, so only these groups are searched, which is several times faster.
    """
    stride = values.shape[1] // GROUP
    if stride <= 2 * k:
        top = torch.topk(values, k, dim=1)
        return top.values, top.indices
    first = _largest(_group_maxima(values, stride), k)[1]  # (positions, k)
    steps = stride * torch.arange(GROUP, device=values.device)
    rest = torch.arange(stride * GROUP, values.shape[1], device=values.device)
    columns = torch.cat([(first[:, None] + steps[:, None]).flatten(1), rest.expand(len(values), -1)], dim=1)
    top = torch.topk(values.gather(1, columns), k, dim=1)
    return top.values, columns.gather(1, top.indices)


def _group_maxima(values: Tensor, stride: int) -> Tensor:
    """The largest value of each group: (positions, stride)."""
    if values.T.is_contiguous():
        return values.T[: stride * GROUP].view(GROUP, stride, -1).amax(dim=0).T.contiguous()
    return values[:, : stride * GROUP].view(len(values), GROUP, stride).amax(dim=1)


def _log_total(events: Tensor, top: Tensor, top_p: float) -> Tensor:
    """Log-sum-exp of each row, or of enough columns to give the same draws: (positions, 1).

    A partial sum suffices once the top k hold less than `top_p` even of it: then the nucleus is all of them,
    and their relative probabilities do not depend on the sum. With many event types few columns suffice.
    """
    highest = top.amax(dim=1, keepdim=True)
    enough = (top - highest).exp_().sum(dim=1, keepdim=True) / max(top_p - 2 * ROUNDING, ROUNDING)
    total = torch.zeros_like(highest)
    for start, stop in column_blocks(events):
        total += (events[:, start:stop] - highest).exp_().sum(dim=1, keepdim=True)
        if bool((total >= enough).all()):
            break
    return highest + total.log_()


def _nucleus(probabilities: Floats, config: ContextConfig) -> NDArray[np.bool_]:
    """Which probabilities, sorted in descending order, belong to the nucleus: (positions, k)."""
    if config.top_p == 1:  # rounding must not drop the last ones
        return np.ones(probabilities.shape, bool)
    # Nucleus sampling (Holtzman et al. 2020) of p_1 >= p_2 >= ...: "reaching" keeps the shortest head with
    # mass top_p, so p_i stays if p_1 + ... + p_(i-1) < top_p; "within" asks for p_1 + ... + p_i <= top_p.
    cumulative = probabilities.cumsum(axis=1)
    if config.nucleus == "reaching":
        inside = cumulative - probabilities < config.top_p - ROUNDING
    else:
        inside = cumulative <= config.top_p + ROUNDING
    inside[:, 0] = True
    return inside


def _ordered(ids: Ids, probabilities: Floats, order: Ids) -> tuple[Ids, Floats]:
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(probabilities, order, axis=1)


def uniforms(seed: int, done: int, n: int, context: int, draws: str) -> Floats:
    """Numbers in [0, 1) for `n` more particles of a sequence that already has `done`: (context, n).

    Stratified: each position takes one random offset and steps of 1 / n from it, dealt to the particles in
    random order (a Latin hypercube). Means over particles keep their expectation and vary less, because each
    event type is drawn about as often as its probability says. With n = `done`, the new numbers fall midway
    between the earlier ones, so that both together are stratified again.

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


class Contexts:
    """Draws contexts for chosen sequences of a batch; each must have at least `context` events.

    >>> from eventcargo.batches import Batches
    >>> from eventcargo.models.oracle import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
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
        self._model, self._batch, self._seeds, self._config = model, batch.unlabelled, seeds, config
        self._proposals = self._given_observed(rows) if config.order == "observed" else {}

    def draw(self, row: int, n: int, done: int = 0) -> Ids:
        """Ids at positions 1 to `context` of `n` more particles of one sequence: (n, context)."""
        config = self._config
        at = uniforms(int(self._seeds[row]), done, n, config.context, config.draws)
        if config.order == "ancestral":
            return self._ancestral(row, at)
        return self._proposals[row].draw(at).T

    def draw_all(self, rows: Sequence[int], n: int, done: int = 0) -> Ids:
        """The same for several sequences: (sequences, n, context)."""
        config = self._config
        if config.order == "ancestral":
            return np.stack([self.draw(row, n, done) for row in rows])
        at = [uniforms(int(self._seeds[row]), done, n, config.context, config.draws) for row in rows]
        proposals = Proposals.join([self._proposals[row] for row in rows])
        drawn = proposals.draw(np.concatenate(at)).reshape(len(rows), config.context, n)
        return drawn.transpose(0, 2, 1)

    def _given_observed(self, rows: Ids) -> dict[int, Proposals]:
        """Proposals of each sequence by row, from one pass over positions 0 to context - 1.

        If all sequences start alike, which only values can prevent, position 0 is computed once.
        """
        first = self._batch.rows(rows, self._config.context)
        asked = np.ones(first.ids.shape, bool)
        asked[1:, :1] = not _start_alike(first)
        numbers = (asked.cumsum() - 1).reshape(asked.shape)  # (rows, context)
        numbers[:, :1] = np.where(asked[:, :1], numbers[:, :1], 0)
        blocks = [propose_among(events, self._config) for events in self._next_events(first, asked)]
        proposals = Proposals.join(blocks)
        return {row: proposals.take(at) for row, at in zip(rows.tolist(), numbers, strict=True)}

    def _ancestral(self, row: int, at: Floats) -> Ids:
        """Ids drawn position by position, each given the particle as drawn so far: (n, context)."""
        drawn = self._batch.rows(np.full(at.shape[1], row))
        for position in range(1, len(at) + 1):
            prefix = drawn.rows(np.arange(at.shape[1]), position)
            where = np.arange(position) == prefix.lengths[:, None] - 1
            blocks = [propose_among(events, self._config) for events in self._next_events(prefix, where)]
            drawn.ids[:, position] = Proposals.join(blocks).draw(at[position - 1][:, None])[:, 0]
        return drawn.ids[:, 1 : len(at) + 1]

    @torch.inference_mode()
    def _next_events(self, batch: Batch, where: NDArray[np.bool_]) -> Iterator[NextEvents]:
        yield from self._model.next_events(batch, where, self._config.top_k)


def _start_alike(batch: Batch) -> bool:
    """Whether position 0 is the same in all sequences."""
    starts = (batch.ids[:, :1], batch.times[:, :1], batch.values[:, :1])
    return all(bool((column == column[:1]).all()) for column in starts)
