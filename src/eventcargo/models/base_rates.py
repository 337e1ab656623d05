"""Where a model starts: the rates of ids and labels in a data set, and the scales of times and values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.vocabulary import EOS, Vocabulary

SEQUENCES_FOR_SCALES, EVENTS_FOR_SCALES = 20_000, 4_000_000
"""Most sequences and events from which the scales of times and values are estimated; more change little."""


@dataclass(frozen=True)
class ValueScales:
    """Typical level, spread and change of each value column; all (columns,).

    >>> from eventcargo.events import EventSequence
    >>> sequence = EventSequence("a", ("x",) * 3, (0.0, 1.0, 2.0), (), ((10.0,), (20.0,), (30.0,)))
    >>> ValueScales.of(EventDataset.from_sequences([sequence], value_names=["mileage"])).middle.tolist()
    [20.0]
    """

    middle: NDArray[np.float64]  # the median
    spread: NDArray[np.float64]  # the interquartile range
    change: NDArray[np.float64]  # the median nonzero change, without sign, from one event to the next

    @classmethod
    def of(cls, data: EventDataset) -> "ValueScales":
        """The scales of a data set; an unknown spread or change is 1, an unknown middle 0."""
        if not data.value_names:
            return cls(np.zeros(0), np.ones(0), np.ones(0))
        rows = _for_scales(data).rows
        values = rows.gather(data.values)  # (events, columns)
        sequence = np.repeat(np.arange(len(rows.starts)), rows.lengths)
        return cls(*np.array([_usual_values(column, sequence) for column in values.T]).T)


@dataclass(frozen=True)
class Rates:
    """How often each id comes next and each label holds, and the scales of times and values.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "x"), (0.0, 3.0), ("bad",))])
    >>> rates = Rates.of(data, Vocabulary(("x",)))
    >>> rates.labels.tolist(), rates.time_scale
    ([0.75], 3.0)
    """

    events: NDArray[np.float64]  # (vocabulary,)
    labels: NDArray[np.float64]  # (labels,)
    time_scale: float
    values: ValueScales

    @classmethod
    def of(cls, data: EventDataset, vocabulary: Vocabulary, unlabelled: bool = False) -> "Rates":
        """Rates of a data set, smoothed by half an occurrence; for `unlabelled` see `LossConfig`."""
        ids = vocabulary.lookup(data.event_names)
        counts = np.bincount(ids, data.event_counts, len(vocabulary)) + 0.5
        counts[EOS] += len(data)
        n_known = data.select(data.label_rows.lengths > 0).n_known if unlabelled else data.n_known
        labels = (data.support + 0.5) / (n_known + 1)
        return cls(counts / counts.sum(), labels, _usual_gap(data), ValueScales.of(data))


def _for_scales(data: EventDataset) -> EventDataset:
    """The first sequences, from which scales are estimated."""
    some = data[:SEQUENCES_FOR_SCALES]
    return next(some.parts(EVENTS_FOR_SCALES), some)


def _usual_gap(data: EventDataset) -> float:
    offsets, _, times = _for_scales(data).flat()
    gaps = np.diff(times, prepend=times[:1])
    gaps[offsets[:-1][offsets[:-1] < len(gaps)]] = 0  # the step to the next sequence is no gap
    return float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0


def _usual_values(
    column: NDArray[np.float64], sequence: NDArray[np.int64]
) -> tuple[np.float64, np.float64, np.float64]:
    """Middle, spread and change of one column, given the sequence number of each value."""
    recorded = column[~np.isnan(column)]
    low, middle, high = np.quantile(recorded if len(recorded) else np.zeros(1), [0.25, 0.5, 0.75])
    changes = np.abs(np.diff(column))[sequence[1:] == sequence[:-1]]
    changes = changes[changes > 0]  # NaN, a change from or to a missing value, drops out too
    return middle, (high - low) or np.float64(1), np.median(changes) if len(changes) else np.float64(1)
