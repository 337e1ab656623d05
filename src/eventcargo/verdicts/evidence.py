"""Evidence: what data, graph and models say about every label, in the order of the graph's labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge.knowledge import Resolved
from eventcargo.leaks import LateEvent, Leak, find_late, find_leaks
from eventcargo.leaks.counts import is_mostly_double
from eventcargo.quality import Quality
from eventcargo.rules import Rule
from eventcargo.scratch import scratch
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.predictability import Predictability, StudyPredictor
from eventcargo.verdicts.residuals import ResidualAssociation, event_residuals, label_residuals

MOST_BARRED = 10
"""Most event types that knowledge forbids, clearest first, whose part of a label is taken off."""


class Evidence:
    """Members, support and predictability of all labels of a graph, and what they leave unexplained."""

    def __init__(
        self,
        data: EventDataset,
        graph: LabelGraph,
        quality: Quality | None,
        config: JudgeConfig,
        seed: int = 0,
        deadline: Deadline = NEVER,
        knowledge: Resolved | None = None,
        timing: pl.DataFrame | None = None,
        rules: Mapping[str, Rule | None] | None = None,
    ) -> None:
        self.rules = rules or {}
        self._deadline, self._knowledge, self._timing = deadline, knowledge, timing
        self.data, self.graph, self.config, self._seed = data, graph, config, seed
        self.labels = graph.labels
        self.quality = {row.label: row for row in (quality.labels if quality else ())}
        self.members = [
            _numbers(graph.boundary(label), data.event_names, "event type") for label in self.labels
        ]
        self._adjusted = _numbers(data.kinds.adjusted, data.event_names, "event type")
        self._columns = _numbers(self.labels, data.label_names, "label")
        self._carried = BinaryMatrix.of(data.label_matrix()[:, self._columns])
        self.support, self.n_known = self._carried.totals, data.n_known[self._columns]

    def carries(self, number: int) -> NDArray[np.bool_]:
        """Which sequences carry a label."""
        return self._carried.dense([number])[:, 0]

    def known_rows(self, number: int) -> NDArray[np.bool_]:
        """The sequences for which a label is known."""
        known = self.data.known_rows(self._columns[number])
        return np.ones(len(self.data), bool) if known is None else known

    @cached_property
    def leaks(self) -> dict[str, list[Leak]]:
        """By label, the event types that may be records of it, the most frequent first.

        Pairs that knowledge decides are no leaks: forbidden ones are out, and somebody answers for required
        ones.
        """
        by_label: dict[str, list[Leak]] = {}
        for leak in sorted(find_leaks(self.data), key=lambda one: -one.both):
            if not leak.is_hint and not self._is_decided(leak.label, leak.event):
                by_label.setdefault(leak.label, []).append(leak)
        return by_label

    @cached_property
    def followers(self) -> dict[str, list[LateEvent]]:
        """By label, the members that follow their outcome, as far as knowledge does not require them."""
        by_label: dict[str, list[LateEvent]] = {}
        edges = set(self.graph.edges.select("label", "event").iter_rows())
        for one in [] if self._timing is None else find_late(self._timing):
            if (one.label, one.event) in edges and not self._is_decided(one.label, one.event):
                by_label.setdefault(one.label, []).append(one)
        return by_label

    def undated(self, number: int) -> list[Leak]:
        """The members that mostly occur with the label, where events have dates and the label has none."""
        label, members = self.labels[number], self.members[number]
        is_timed = self._timing is not None and label in self._timing["label"]
        if is_timed or self.data.time_kind != "datetime" or not members:
            return []
        present, total = self.data.incidence.dense(members), len(self.data)
        both, holding = present[self.carries(number)].sum(axis=0), present.sum(axis=0)
        support = int(self.support[number])
        events = [self.data.event_names[member] for member in members]
        return [
            Leak(label, events[at], ("undated",), int(both[at]), int(holding[at]), support, total, 0)
            for at in np.flatnonzero(is_mostly_double(both, holding, np.full(len(members), support)))
            if events[at] not in self.data.kinds.attributes and not self._is_decided(label, events[at])
        ]

    def _is_decided(self, label: str, event: str) -> bool:
        """Whether knowledge requires or forbids a pair."""
        known = self._knowledge
        return known is not None and (
            (label, event) in known.required or not known.table([label], [event])[0, 0]
        )

    @cached_property
    def predictabilities(self) -> list[Predictability | None]:
        """Each label predicted from its boundary; None if too few sequences carry it, or all do."""
        found = dict[int, Predictability]()
        for number in self._order:
            if self._deadline.is_over:
                break
            if self._is_judged(number):
                predicted = self._predict(number, self.members[number])
                self._rows[number] = predicted.probabilities
                found[number] = replace(predicted, probabilities=self._rows[number])
        self.__dict__.pop("_predictor", None)  # it holds all events once more
        return [found.get(number) for number in range(len(self.labels))]

    @cached_property
    def _rows(self) -> NDArray[np.float32]:
        """The probabilities of every label in every sequence: (labels, sequences)."""
        return _table(len(self.labels), len(self.data))

    def _predict(self, number: int, events: list[int]) -> Predictability:
        """A label predicted from these event types and from what the data adjust for: that is no residual."""
        rng, read = np.random.default_rng([self._seed, number]), [*events, *self._adjusted]
        label = self.labels[number]
        return self._predictor.predict(label, read, rng, self.rules.get(label))

    @cached_property
    def _predictor(self) -> StudyPredictor:
        return StudyPredictor(self.data)

    @cached_property
    def late(self) -> frozenset[int]:
        """The numbers of the labels for which there was no time."""
        late = [at for at in self._order if self._is_judged(at) and self.predictabilities[at] is None]
        warn_of_left_out("no verdict was reached", [self.labels[number] for number in late], len(self.labels))
        return frozenset(late)

    @property
    def _order(self) -> list[int]:
        """The numbers of the labels, the most frequent first."""
        return [int(number) for number in np.argsort(-self.support, kind="stable")]

    def _is_judged(self, number: int) -> bool:
        is_varied = self.config.doubt_below <= self.support[number] < self.n_known[number]
        return bool(is_varied and self._n_groups[number] > 2)  # two alone may share a fold

    @cached_property
    def _n_groups(self) -> list[int]:
        """Of every label the number of groups in which it is known."""
        if self.data.known is None:
            return [self.data.n_groups] * len(self.labels)
        known = map(self.known_rows, range(len(self.labels)))
        return [len(np.unique(self.data.group_numbers[rows])) for rows in known]

    @cached_property
    def beyond(self) -> dict[int, list[ResidualAssociation]]:
        """By label, the event types outside its boundary that are associated with it.

        Event types that knowledge forbids are not missing: their part is taken off first.
        """
        if not self.barred:
            return self._associations
        known = [self.members[number] + self.barred.get(number, []) for number in self._predicted]
        return self._permitted(self._weighty(self._event_residuals(known, self._residual_probabilities)))

    @cached_property
    def together(self) -> dict[int, list[ResidualAssociation]]:
        """By label, the other labels that are associated with it.

        Labels are compared if they are known for the same sequences. Sequences that happen to be known for
        two labels are mostly chosen because they carry both, or neither.
        """
        associations = label_residuals(
            self._carried_of_predicted, self._residual_probabilities, self.config.alpha
        )
        study = self._study[self._predicted]
        return self._weighty([one for one in associations if study[one.label] == study[one.other]])

    @cached_property
    def _study(self) -> NDArray[np.int64]:
        """The number of every label's study."""
        studies = self.data.studies()
        number = {name: at for at, study in enumerate(studies) for name in study.label_names}
        return np.array([number[name] for name in self.labels], np.int64)

    @cached_property
    def barred(self) -> dict[int, list[int]]:
        """By label, the event types associated with it that knowledge forbids, clearest first."""
        return {
            number: barred
            for number, associations in self._associations.items()
            if (barred := [one.other for one in associations if not self._is_allowed(number, one.other)])
        }

    @cached_property
    def _associations(self) -> dict[int, list[ResidualAssociation]]:
        """By label, all event types outside its boundary that are associated with it."""
        members = [self.members[number] for number in self._predicted]
        return self._weighty(self._event_residuals(members, self._probabilities))

    def _event_residuals(
        self, known: list[list[int]], probabilities: NDArray[np.float32]
    ) -> list[ResidualAssociation]:
        read = [[*events, *self._adjusted] for events in known]
        carried = self._carried_of_predicted
        return event_residuals(self.data.incidence, carried, probabilities, read, self.config.alpha)

    @property
    def _carried_of_predicted(self) -> BinaryMatrix:
        return self._carried.keep(np.array(self._predicted, np.int64))

    def _permitted(
        self, by_label: dict[int, list[ResidualAssociation]]
    ) -> dict[int, list[ResidualAssociation]]:
        """The associations with event types that knowledge does not forbid."""
        kept = {
            number: [one for one in associations if self._is_allowed(number, one.other)]
            for number, associations in by_label.items()
        }
        return {number: associations for number, associations in kept.items() if associations}

    def _is_allowed(self, number: int, event: int) -> bool:
        if self._knowledge is None:
            return True
        return bool(self._knowledge.table([self.labels[number]], [self.data.event_names[event]])[0, 0])

    @cached_property
    def _residual_probabilities(self) -> NDArray[np.float32]:
        """The probabilities of the labels, given their boundaries and what knowledge keeps out of them."""
        if not self.barred:
            return self._probabilities
        probabilities = _table(len(self._predicted), len(self.data))
        for row, number in enumerate(self._predicted):
            barred = self.barred.get(number, [])[:MOST_BARRED]
            again = self._predict(number, self.members[number] + barred).probabilities if barred else None
            probabilities[row] = self._probabilities[row] if again is None else again
        return probabilities

    @cached_property
    def _predicted(self) -> list[int]:
        """The numbers of the labels whose predictability is known."""
        return [
            number
            for number, predictability in enumerate(self.predictabilities)
            if predictability is not None
        ]

    @cached_property
    def _probabilities(self) -> NDArray[np.float32]:
        """The probabilities of the predicted labels, (labels, sequences); no copy if all are."""
        if len(self._predicted) == len(self.labels):
            return self._rows
        probabilities = _table(len(self._predicted), len(self.data))
        for row, number in enumerate(self._predicted):
            probabilities[row] = self._rows[number]
        return probabilities

    def _weighty(self, associations: Sequence[ResidualAssociation]) -> dict[int, list[ResidualAssociation]]:
        """By label, the associations that account for enough sequences."""
        by_label: dict[int, list[ResidualAssociation]] = {}
        for one in associations:
            number = self._predicted[one.label]
            if abs(one.observed - one.expected) >= self.config.min_share * self.support[number]:
                by_label.setdefault(number, []).append(one)
        return by_label

    def label_name(self, told: int) -> str:
        """The name of a label, given its number among the labels whose predictability is known."""
        return self.labels[self._predicted[told]]


def _table(n_labels: int, n_sequences: int) -> NDArray[np.float32]:
    """Numbers for labels and sequences, not set yet."""
    return scratch(n_labels * n_sequences, np.float32).reshape(n_labels, n_sequences)


def _numbers(names: Sequence[str], known: Sequence[str], kind: str) -> list[int]:
    numbers = {name: number for number, name in enumerate(known)}
    missing = [name for name in names if name not in numbers]
    if missing:
        raise DataError(
            f"the graph has the {kind} {missing[0]!r}, which is not in the data; judge a graph by the data "
            "it was made from"
        )
    return [numbers[name] for name in names]
