"""Frequencies: in what share of the sequences an event type occurs, with a 95 % interval.

Of all sequences for which a label is known, not of those that carry it: how often a cause occurs among these
changes with its effect, and with the effects of all other causes.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.statistics.contingency import Contingency, Rows
from eventcargo.statistics.design_effect import share_design_effect
from eventcargo.statistics.intervals import jeffreys

Floats = NDArray[np.float64]
Pair = tuple[str, str]


def frequencies(data: EventDataset, boundaries: Mapping[str, Sequence[str]]) -> dict[Pair, Floats]:
    """For each label and event type: share, lower and upper end of its interval.

    Sequences of a group count as the design effect of the share has it.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i}", ("P01",) if i % 2 else ("U02",), (0.0,), ("brake",)) for i in range(40)])
    >>> frequencies(data, {"brake": ["P01"]})["brake", "P01"].round(2).tolist()
    [0.5, 0.35, 0.65]
    """
    return {pair: share for study in data.studies() for pair, share in _of_study(study, boundaries)}


def _of_study(study: EventDataset, boundaries: Mapping[str, Sequence[str]]) -> Iterator[tuple[Pair, Floats]]:
    counts = Contingency(study.incidence)
    numbers = {name: number for number, name in enumerate(study.event_names)}
    known = {label: boundaries.get(label, ()) for label in study.label_names}
    shares = {
        event: _share(study, counts.rows(numbers[event]))
        for event in {event for events in known.values() for event in events}
        if event in numbers
    }
    nothing = np.full(3, np.nan)
    for label, events in known.items():
        yield from (((label, event), shares.get(event, nothing)) for event in events)


def _share(study: EventDataset, rows: Rows) -> Floats:
    """The share of sequences that have the event type, and its interval."""
    k, n = float(len(rows)), float(len(study))
    effect = _design_effect(study.group_numbers, rows) if study.groups is not None else 1.0
    return np.array([k / n, *jeffreys(k / effect, n / effect)])


def _design_effect(group: NDArray[np.int64], rows: Rows) -> float:
    n = np.bincount(group).astype(np.float64)
    k = np.bincount(group[rows], minlength=len(n)).astype(np.float64)
    return float(share_design_effect(k.sum(), n.sum(), len(n), k @ k, k @ n, n @ n))
