"""The background of a simulation: lengths, common events by topic, and irregular times.

Event types are Zipf-distributed. Each topic has its own ranking of them; a sequence mixes two topics with a
ranking shared by all sequences, so that events are correlated without causing each other.
"""

import numpy as np
from numpy.typing import NDArray

SHARED = 0.3
"""Share of background events drawn from the shared ranking."""

BURST_SHARE = 0.4
"""Share of events that follow the previous event within a burst."""


def draw_lengths(
    rng: np.random.Generator, count: int, mean: float, sd: float, low: int, high: int
) -> NDArray[np.int64]:
    """Rounded normal lengths, clipped to `low` and `high`."""
    return np.clip(np.rint(rng.normal(mean, sd, count)), low, high).astype(np.int64)


def zipf_weights(count: int, exponent: float) -> NDArray[np.float64]:
    """Probabilities of ranks 1 to `count`, proportional to rank ** -exponent."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


class Topics:
    """Topics over the event types `common`; `draw` draws the background events of sequences."""

    def __init__(
        self, rng: np.random.Generator, common: NDArray[np.int32], n_topics: int, exponent: float
    ) -> None:
        self.n_topics = n_topics
        self._orders = np.stack([rng.permutation(common) for _ in range(n_topics + 1)])  # last: shared
        self._cumulative = np.cumsum(zipf_weights(len(common), exponent))

    def draw(
        self, rng: np.random.Generator, n_sequences: int, sequences: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """One event for each entry of `sequences`, from that sequence's mix of topics."""
        pair = rng.integers(self.n_topics, size=(n_sequences, 2), dtype=np.int32)
        first_share = rng.random(n_sequences, np.float32)
        use_first = rng.random(len(sequences), np.float32) < first_share[sequences]
        topic = np.where(use_first, pair[sequences, 0], pair[sequences, 1])
        topic[rng.random(len(sequences), np.float32) < SHARED] = self.n_topics
        rank = np.searchsorted(self._cumulative, rng.random(len(sequences)) * self._cumulative[-1], "right")
        rank = np.minimum(rank, len(self._cumulative) - 1)
        return np.asarray(self._orders[topic, rank], np.int32)


def draw_times(rng: np.random.Generator, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Strictly increasing times, to the thousandth: log-normal gaps, many of them short (bursts)."""
    total = int(lengths.sum())
    gaps = rng.lognormal(0.0, 1.0, total)
    gaps[rng.random(total, np.float32) < BURST_SHARE] *= 0.02
    return accumulate(gaps, lengths)


def accumulate(gaps: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Times from the gap before each event, summed in thousandths so that sums are exact."""
    elapsed = np.cumsum((gaps * 1000).astype(np.int64) + 1)
    before = np.concatenate([[0], elapsed])[np.cumsum(lengths) - lengths]
    return np.asarray((elapsed - np.repeat(before, lengths)) / 1000.0)
