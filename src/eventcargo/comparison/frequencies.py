"""Frequencies: in what share of the sequences with a label an event type occurs, with a 95 % interval."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.statistics.contingency import Contingency
from eventcargo.statistics.design_effect import share_design_effect
from eventcargo.statistics.intervals import jeffreys

Floats = NDArray[np.float64]
Pair = tuple[str, str]


def frequencies(data: EventDataset, boundaries: Mapping[str, Sequence[str]]) -> dict[Pair, Floats]:
    """For each label and event type: share, lower and upper end, NaN if no sequence carries the label.

    Sequences of a group count as the design effect of the share has it.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences(
    ...     [EventSequence(f"{i}", ("P01",) if i % 2 else ("U02",), (0.0,), ("brake",)) for i in range(40)])
    >>> frequencies(data, {"brake": ["P01"]})["brake", "P01"].round(2).tolist()
    [0.5, 0.35, 0.65]
    """
    return {pair: share for study in data.studies() for pair, share in _of_study(study, boundaries)}


def _of_study(study: EventDataset, boundaries: Mapping[str, Sequence[str]]) -> Iterable[tuple[Pair, Floats]]:
    counts = Contingency(study.presence())
    numbers = {name: number for number, name in enumerate(study.event_names)}
    for label, positives in zip(study.label_names, study.positives(), strict=True):
        for event in boundaries.get(label, ()):
            has = np.isin(positives, counts.rows(numbers[event])) if event in numbers else positives < 0
            yield (label, event), _share(has, None if study.groups is None else study.groups[positives])


def _share(has: NDArray[np.bool_], groups: NDArray[np.int32] | None) -> Floats:
    """The share of sequences that have the event type, and its interval."""
    if not len(has):
        return np.full(3, np.nan)
    effect = 1.0 if groups is None else _design_effect(has, groups)
    return np.array([has.mean(), *jeffreys(has.sum() / effect, len(has) / effect)])


def _design_effect(has: NDArray[np.bool_], groups: NDArray[np.int32]) -> float:
    number = np.unique(groups, return_inverse=True)[1]
    k, n = np.bincount(number, has), np.bincount(number).astype(np.float64)
    return float(share_design_effect(k.sum(), n.sum(), len(n), k @ k, k @ n, n @ n))
