"""Evidence: what data, graph and models say about every label, in the order of the graph's labels."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.quality import Quality
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.leakage import Closings
from eventcargo.verdicts.predictability import Predictability, Predictor
from eventcargo.verdicts.residuals import ResidualAssociation, event_residuals, label_residuals


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
    ) -> None:
        self._deadline = deadline
        self.data, self.graph, self.config, self._seed = data, graph, config, seed
        self.labels = graph.labels
        self.quality = {row.label: row for row in (quality.labels if quality else ())}
        self.members = [
            _numbers(graph.boundary(label), data.event_names, "event type") for label in self.labels
        ]
        self._adjusted = _numbers(data.kinds.adjusted, data.event_names, "event type")
        columns = _numbers(self.labels, data.label_names, "label")
        self.carried = data.label_matrix()[:, columns].toarray() > 0
        self.support = self.carried.sum(axis=0)

    @cached_property
    def presence(self) -> sp.csr_array:
        """Which event types each sequence holds."""
        return self.data.presence()

    @cached_property
    def closings(self) -> Closings:
        """Which event types occur at the end of which sequence."""
        return Closings(self.data)

    @cached_property
    def predictabilities(self) -> list[Predictability | None]:
        """Each label predicted from its boundary; None if too few sequences carry it, or all do.

        What the data adjust for is read, too, so that it is no residual.
        """
        predictor, found = None, dict[int, Predictability]()
        for number in self._order:
            if self._deadline.is_over:
                break
            if self._is_judged(number):
                predictor = predictor or Predictor(self.data)
                rng = np.random.default_rng([self._seed, number])
                read = [*self.members[number], *self._adjusted]
                found[number] = predictor.predict(self.carried[:, number], read, rng)
        return [found.get(number) for number in range(len(self.labels))]

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
        return bool(self.config.doubt_below <= self.support[number] < len(self.data))

    @cached_property
    def beyond(self) -> dict[int, list[ResidualAssociation]]:
        """By label, the event types outside its boundary that are associated with it."""
        predicted = self._predicted
        members = [[*self.members[number], *self._adjusted] for number in predicted]
        associations = event_residuals(
            self.presence, self.carried[:, predicted], self._probabilities, members, self.config.alpha
        )
        return self._weighty(associations)

    @cached_property
    def together(self) -> dict[int, list[ResidualAssociation]]:
        """By label, the other labels that are associated with it."""
        return self._weighty(
            label_residuals(self.carried[:, self._predicted], self._probabilities, self.config.alpha)
        )

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
        columns = [
            predictability.probabilities
            for predictability in self.predictabilities
            if predictability is not None
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.data), 0), np.float32)

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


def _numbers(names: Sequence[str], known: Sequence[str], kind: str) -> list[int]:
    numbers = {name: number for number, name in enumerate(known)}
    missing = [name for name in names if name not in numbers]
    if missing:
        raise DataError(
            f"the graph has the {kind} {missing[0]!r}, which is not in the data; judge a graph by the data "
            "it was made from"
        )
    return [numbers[name] for name in names]
