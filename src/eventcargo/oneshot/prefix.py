"""The paper's test: how much an event says about a label, given the events before it.

The strength of the event at position i is the mean over particles of KL(P(label | ids..i) || P(label |
ids..i-1)) (eq:cmi_approx). A particle is the sequence with its first `context` events, positions 1 to
`context`, redrawn; the later events, from position `context` + 1 on, are observed and scored. BOS and EOS are
not events: they are neither redrawn nor scored. The paper's listing scores the same positions but counts BOS
among its `context` positions, so its last context event stays as observed.

The test conditions on the past alone, so it also finds what merely precedes a cause, and of events that act
together only the last (see `oneshot.total`).
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import stdtr

from eventcargo.batches import Batch
from eventcargo.errors import EventCargoWarning, counted
from eventcargo.models.density import DensityModel
from eventcargo.oneshot.config import PrefixConfig
from eventcargo.oneshot.contexts import Contexts
from eventcargo.oneshot.scores import Bernoulli, EventScores
from eventcargo.oneshot.thresholds import EdgeThreshold, RelativeThreshold

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

DRAWS_AT_ONCE = 1 << 24
"""Strengths of single particles to hold in memory at once."""

PADDING = 256
"""Most padded positions in a pass; computing more of them costs more than another pass."""


class PrefixTest:
    """The paper's test, for any model.

    With `error`, drawing stops for a sequence once its decisions by `threshold` are settled. The probability
    that more particles would reverse a decision is the tail of Student's t beyond the distance between
    strength and threshold, in standard errors of independent draws; stratified draws vary less, so usually
    fewer decisions are wrong than stated. The sum of these probabilities over all pairs of the sequence is
    the expected number of wrong decisions, and drawing stops when it is at most `error`; no single decision
    is then wrong with a larger probability.

    >>> from eventcargo.batches import Batches
    >>> from eventcargo.models.oracle import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(length_min=4), seed=1)
    >>> model = Oracle(process)
    >>> data = process.sample(1, seed=1).data
    >>> batch = Batches(data, model.vocabulary, model.max_length).take(np.array([0]))
    >>> test = PrefixTest(PrefixConfig(context=2, particles=16))
    >>> scores = test.score(model, batch, np.ones((1, 6), bool), seeds=np.array([3]))
    >>> scores.positions[:2].tolist()
    [3, 4]
    """

    name = "prefix"

    def __init__(self, config: PrefixConfig | None = None, threshold: EdgeThreshold | None = None) -> None:
        self.config, self.threshold = config or PrefixConfig(), threshold or RelativeThreshold()

    def scored(self, batch: Batch) -> NDArray[np.bool_]:
        """The scored positions, the events after the context: (B, L)."""
        at = np.arange(batch.ids.shape[1])
        return (at > self.config.context) & (at < batch.lengths[:, None] - 1)

    def report_short(self, n_events: NDArray[np.int64]) -> None:
        """Warn about sequences, given their numbers of events, that are too short to have an edge."""
        context, more = self.config.context, self.threshold.min_positions
        n_short = int((n_events < context + more).sum())
        if n_short:
            warnings.warn(
                f"{n_short:,} of {counted(len(n_events), 'sequence')} {'has' if n_short == 1 else 'have'} "
                f"fewer than {context + more} events and can have no edge: the first {context} are context, "
                f"and the threshold needs {more} more; use a smaller context or a static or pooled threshold",
                EventCargoWarning,
                stacklevel=2,
            )

    @torch.inference_mode()
    def score(
        self, model: DensityModel, batch: Batch, wanted: NDArray[np.bool_], seeds: NDArray[np.int64]
    ) -> EventScores:
        """Scores of all events after the context for the wanted labels; see `OneshotTest`."""
        n_scored = self.scored(batch).sum(axis=1)
        rows = np.flatnonzero((n_scored > 0) & wanted.any(axis=1))
        draws = np.cumsum((n_scored * wanted.sum(axis=1))[rows] * max(self.config.particles, 1))
        tallies: list[ParticleSums] = []
        for block in np.split(rows, np.flatnonzero(np.diff(draws // DRAWS_AT_ONCE)) + 1):
            sums = [
                ParticleSums(row, np.flatnonzero(wanted[row]), int(batch.lengths[row]))
                for row in block.tolist()
            ]
            self._fill(sums, model, batch, seeds)
            tallies += sums
        return _joined(tallies, self.config)

    def _fill(self, tallies: Sequence["ParticleSums"], model: DensityModel, batch: Batch, seeds: Ids) -> None:
        """Draw particles round by round until every sequence is settled."""
        passes = _Passes(model, batch, self.config)
        active = sorted(tallies, key=lambda tally: tally.length)
        if not self.config.particles:
            passes.run(active, None)
            return
        rows = np.array([tally.row for tally in tallies], np.int64)
        contexts = Contexts(model, batch, rows, seeds, self.config)
        for n in self.config.rounds:
            if not active:
                break
            passes.run(active, contexts.draw_all([tally.row for tally in active], n, active[0].n))
            active = [tally for tally in active if not self._settled(tally)]

    def _settled(self, tally: "ParticleSums") -> bool:
        """Whether more particles are unlikely to change a decision."""
        if len(self.config.rounds) == 1:
            return False
        # Adaptive stopping by one t-test per position and label: t = |mean margin| / (sd / sqrt(n)). The
        # one-sided tails of Student's t with n - 1 degrees of freedom add up to the expected wrong decisions.
        margin, sd = self.threshold.margins(np.concatenate(tally.draws, axis=1))  # (labels, positions)
        off = np.abs(margin) * tally.n**0.5
        t = np.divide(off, sd, out=np.full(off.shape, np.inf), where=sd > 0)
        return bool(stdtr(tally.n - 1, -t).sum() <= self.config.error)


class ParticleSums:
    """Running means over the particles of one sequence, for its wanted labels: (labels, positions) each."""

    def __init__(self, row: int, labels: Ids, length: int) -> None:
        self.row, self.labels, self.length = row, labels, length
        self.n, self.draws = 0, list[Floats]()
        self.squares, self.means = np.zeros(()), np.zeros((4, 1, 1))

    def add(self, n: int, means: Floats, squares: Floats) -> None:
        """Add `n` particles by their means and the sum of squared deviations of their effects."""
        share, apart = n / (self.n + n), means - self.means
        # Chan, Golub & LeVeque (1983): S = S_a + S_b + (mean_b - mean_a)^2 n_a n_b / (n_a + n_b)
        self.squares = self.squares + squares + apart[1] ** 2 * share * self.n
        self.means = self.means + apart * share
        self.n += n

    @property
    def effect_sd(self) -> Floats:
        """Standard deviation of the effect over particles."""
        return np.sqrt(self.squares / max(self.n - 1, 1))


def summarised(logits: torch.Tensor) -> tuple[Floats, Floats, Floats]:
    """What particles say, from label logits (pairs, particles, 1 + scored positions).

    Means of strength, effect, and probability and entropy of the label before the event: (4, pairs,
    positions); squared deviations of the effect (pairs, positions); strengths (pairs, particles, positions).
    """
    labels = Bernoulli.of(logits)
    after, before = labels[:, :, 1:], labels[:, :, :-1]
    strength, effect = after.divergence(before), after.yes - before.yes
    means = torch.stack([part.mean(dim=1) for part in (strength, effect, before.yes, before.entropy)])
    squares = (effect - means[1][:, None]).square_().sum(dim=1)
    return means.cpu().numpy(), squares.cpu().numpy(), strength.cpu().numpy()


class _Passes:
    """Forward passes over particles with little padding: sequences are sorted by length and packed."""

    def __init__(self, model: DensityModel, batch: Batch, config: PrefixConfig) -> None:
        self._model, self._batch, self._config = model, batch.unlabelled, config

    def run(self, tallies: Sequence[ParticleSums], drawn: Ids | None) -> None:
        """Add the contexts (sequences, particles, context), or the observed one (None), to each tally."""
        lengths = np.array([tally.length for tally in tallies], np.int64)
        n = 1 if drawn is None else drawn.shape[1]
        size = min(n, max(self._config.tokens // int(lengths.max(initial=1)), 1))  # particles of a pass
        for begin in range(0, n, size):
            block = None if drawn is None else drawn[:, begin : begin + size]
            n_block = 1 if block is None else block.shape[1]
            for start, stop in _packed(lengths, self._config.tokens // n_block, PADDING // n_block):
                self._run(tallies[start:stop], n_block, None if block is None else block[start:stop])

    def _run(self, tallies: Sequence[ParticleSums], n: int, contexts: Ids | None) -> None:
        """One pass over `n` particles of each of these sequences."""
        context, keeps = self._config.context, len(self._config.rounds) > 1
        batch = self._batch.rows(np.repeat([tally.row for tally in tallies], n), tallies[-1].length)
        if contexts is not None:
            batch.ids[:, 1 : context + 1] = contexts.reshape(-1, context)
        logits = self._model.particle_labels(batch, n, context + 1, [tally.labels for tally in tallies])
        means, squares, strength = summarised(logits)
        start = 0
        for tally in tallies:
            own, scored = slice(start, start + len(tally.labels)), slice(tally.length - context - 2)
            start = own.stop
            tally.add(n, means[:, own, scored], squares[own, scored])
            if keeps:
                tally.draws.append(strength[own, :, scored])


def _packed(lengths: Ids, tokens: int, padding: int) -> Iterator[tuple[int, int]]:
    """Start and stop of passes over rows of ascending length, each of at most `tokens` positions."""
    start = 0
    while start < len(lengths):
        left = lengths[start:]
        room = left * np.arange(1, len(left) + 1)  # positions of a pass that stops after each row
        fits = np.searchsorted(room, tokens, side="right")
        tight = np.searchsorted(room - np.cumsum(left), padding, side="right")
        stop = start + max(int(min(fits, tight)), 1)
        yield start, stop
        start = stop


def _joined(tallies: Sequence[ParticleSums], config: PrefixConfig) -> EventScores:
    """Scores of all sequences, sorted by row, label and position."""
    positions = [np.arange(config.context + 1, tally.length - 1) for tally in tallies]
    sizes = [len(tally.labels) * len(at) for tally, at in zip(tallies, positions, strict=True)]
    used = [tally.n if config.particles else 0 for tally in tallies]
    whole, real = np.zeros(0, np.int64), np.zeros(0)
    pairs = list(zip(tallies, positions, strict=True))
    return EventScores(
        np.repeat([*(tally.row for tally in tallies)], sizes).astype(np.int64),
        np.concatenate([whole, *(np.repeat(tally.labels, len(at)) for tally, at in pairs)]),
        np.concatenate([whole, *(np.tile(at, len(tally.labels)) for tally, at in pairs)]),
        np.concatenate([real, *(tally.means[0].ravel() for tally in tallies)]),
        np.concatenate([real, *(tally.means[1].ravel() for tally in tallies)]),
        np.concatenate([real, *(tally.effect_sd.ravel() for tally in tallies)]),
        np.repeat(used, sizes).astype(np.int64),
        np.concatenate([real, *(tally.means[2].ravel() for tally in tallies)]),
        np.concatenate([real, *(tally.means[3].ravel() for tally in tallies)]),
    )
