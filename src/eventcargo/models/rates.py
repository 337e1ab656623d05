"""Rates of a data set that a model begins with: of ids, of labels, and the usual time between events."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.vocabulary import EOS, Vocabulary

SEQUENCES_FOR_TIMES = 20_000
"""Sequences whose gaps give the unit of time; more would not change it."""


@dataclass(frozen=True)
class Rates:
    """How often each id comes next, how often each label holds, and the median time between events.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "x"), (0.0, 3.0), ("bad",))])
    >>> rates = Rates.of(data, Vocabulary(("x",)))
    >>> rates.labels.tolist(), rates.time_scale
    ([0.75], 3.0)
    """

    events: NDArray[np.float64]  # (vocabulary,)
    labels: NDArray[np.float64]  # (labels,)
    time_scale: float

    @classmethod
    def of(cls, data: EventDataset, vocabulary: Vocabulary, unlabelled: bool = False) -> "Rates":
        """Rates of a data set, half an occurrence added to each; see `LossConfig.unlabelled`."""
        ids = vocabulary.lookup(data.event_names)[data.flat()[1]]
        counts = np.bincount(ids, minlength=len(vocabulary)) + 0.5
        counts[EOS] += len(data)
        n_known = int((data.label_rows.lengths > 0).sum()) if unlabelled else len(data)
        return cls(counts / counts.sum(), (data.support + 0.5) / (n_known + 1), _usual_gap(data))


def _usual_gap(data: EventDataset) -> float:
    offsets, _, times = data[:SEQUENCES_FOR_TIMES].flat()
    gaps = np.diff(times, prepend=times[:1])
    gaps[offsets[:-1][offsets[:-1] < len(gaps)]] = 0  # from one sequence to the next is no gap
    return float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
