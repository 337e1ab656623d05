"""Plain counts: how many sequences with a cause carry the label, and how many that match its rule.

Counted are all sequences of the data in which the label is known, those from which causes and rule were
learned among them. No model and no other cause enters: whoever has the tables can count the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.rules import Rule
from eventcargo.rules.occurrences import Occurrences
from eventcargo.rules.rule import holds

AT_ONCE = 4_000_000
"""Events counted at once, so that the data may be larger than memory."""

Counted = tuple[int, int]
"""Sequences that carry the label, of how many."""


@dataclass(frozen=True)
class Counts:
    """Counts over a data set; labels and event types that the data do not have are missing.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([
    ...     EventSequence("car1", ("P01",), (0.0,), ("brake",)), EventSequence("car2", ("P01",), (0.0,), ()),
    ...     EventSequence("car3", (), (), ("brake",)), EventSequence("car4", (), (), ())])
    >>> Counts.of(data, LabelGraph.from_boundaries({"brake": ["P01"]}), {}).causes
    {('brake', 'P01'): (1, 2)}
    """

    labels: Mapping[str, Counted]
    """of the sequences for which the label is known, those that carry it"""
    causes: Mapping[tuple[str, str], Counted]
    """of the sequences with the event type, those that carry the label"""
    rules: Mapping[str, Counted]
    """of the sequences in which the rule holds, those that carry the label"""
    events: Mapping[str, int] = field(default_factory=dict)
    """sequences with an event type"""

    @classmethod
    def of(cls, data: EventDataset, graph: LabelGraph, rules: Mapping[str, Rule | None]) -> "Counts":
        """Count in parts of the data."""
        number = {name: at for at, name in enumerate(data.label_names)}
        events = {name: at for at, name in enumerate(data.event_names)}
        edges = graph.edges.select("label", "event").rows()
        pairs = [(label, event) for label, event in edges if label in number and event in events]
        at = np.array([(number[label], events[event]) for label, event in pairs], np.int64).reshape(-1, 2)
        own = {label: rule for label, rule in rules.items() if rule is not None and label in number}
        held = np.zeros((2, len(own)), np.int64)
        carrying, known = np.zeros((2, len(number)), np.int64)
        with_event, both = np.zeros((2, len(pairs)), np.int64)
        seen = np.zeros(len(events), np.int64)
        for part in data.parts(AT_ONCE):
            presence, labels, is_known = _matrices(part)
            seen += np.asarray(presence.sum(axis=0)).ravel()
            carrying += np.asarray(labels.sum(axis=0)).ravel()
            known += part.n_known
            with_event += (
                _of_pairs(is_known, presence, at) if is_known is not None else presence.sum(0)[at[:, 1]]
            )
            both += _of_pairs(labels, presence, at)
            held += _rule_counts(part, labels, own, number)
        return cls(
            {name: (int(carrying[at]), int(known[at])) for name, at in number.items()},
            {pair: (int(b), int(w)) for pair, b, w in zip(pairs, both, with_event, strict=True)},
            {label: (int(held[0, i]), int(held[1, i])) for i, label in enumerate(own)},
            {name: int(seen[at]) for name, at in events.items()},
        )


def _matrices(part: EventDataset) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array | None]:
    """Sequences by event types, by labels carried, and by labels known (None: all)."""
    known = part.known_matrix()
    labels = part.label_matrix()
    if known is None:
        return part.presence(), labels, None
    is_known = sp.csr_array(known.astype(np.int32))
    return part.presence(), labels.multiply(is_known).tocsr(), is_known


def _of_pairs(labels: sp.csr_array, presence: sp.csr_array, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sequences with both the label and the event type, for pairs of their numbers."""
    columns, place = np.unique(at[:, 1], return_inverse=True)
    together = (labels.T @ presence.tocsc()[:, columns]).toarray()
    found: NDArray[np.int64] = together[at[:, 0], place].astype(np.int64)
    return found


def _rule_counts(
    part: EventDataset, labels: sp.csr_array, rules: Mapping[str, Rule], number: Mapping[str, int]
) -> NDArray[np.int64]:
    """For every rule the sequences in which it holds and that carry the label, and all in which it holds."""
    found = Occurrences.locate(part, {name for rule in rules.values() for name in rule.events})
    by_label = labels.tocsc()
    known = part.known_matrix()
    result = np.zeros((2, len(rules)), np.int64)
    for i, (label, rule) in enumerate(rules.items()):
        at = number[label]
        where = holds(rule.literals, found)
        where = where if known is None else where & known[:, at]
        carried: Sequence[int] = by_label.indices[by_label.indptr[at] : by_label.indptr[at + 1]]
        result[:, i] = where[carried].sum(), where.sum()
    return result
