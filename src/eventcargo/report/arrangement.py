"""The order of labels and causes in the picture of the overview: what shares causes stands together."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

MAX_CLUSTERED = 1_000
"""Most labels that are clustered, which takes a few seconds and grows with the square."""


def arrange(causes: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """Labels and event types in the order of the picture; labels without a cause come last.

    Labels are the leaves of a tree (average linkage of Jaccard distances, the leaves ordered so that
    neighbours are alike). An event type stands at the mean place of its labels, so that causes of one label
    form a block and shared causes stand between their labels.

    >>> arrange({"brake": ["P01", "P02"], "fuel": ["K03"], "horn": [], "pump": ["P02", "P04"]})
    (['fuel', 'pump', 'brake', 'horn'], ['K03', 'P04', 'P02', 'P01'])
    """
    some = sorted(label for label, events in causes.items() if events)
    labels = _clustered(some, causes) + sorted(label for label, events in causes.items() if not events)
    places: dict[str, list[int]] = {}
    for at, label in enumerate(labels):
        for event in causes[label]:
            places.setdefault(event, []).append(at)
    return labels, sorted(places, key=lambda event: (np.mean(places[event]), event))


def _clustered(labels: list[str], causes: Mapping[str, Sequence[str]]) -> list[str]:
    """Labels by the causes that they share."""
    if not 3 <= len(labels) <= MAX_CLUSTERED:
        return sorted(labels, key=lambda label: (sorted(causes[label]), label))
    number = {event: at for at, event in enumerate(sorted({e for label in labels for e in causes[label]}))}
    has = np.zeros((len(labels), len(number)), bool)
    for row, label in enumerate(labels):
        has[row, [number[event] for event in causes[label]]] = True
    tree = linkage(pdist(has, "jaccard"), "average", optimal_ordering=True)
    return [labels[at] for at in leaves_list(tree)]
