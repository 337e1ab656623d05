"""Evidence: what data, graph and models say of every label, in the order of the graph's labels."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.leakage import Closings
from eventcargo.verdicts.predictability import Predictability, Predictor
from eventcargo.verdicts.residuals import ResidualAssociation, event_residuals, label_residuals


class Evidence:
    """Members, support and forecasts of all labels of a graph, and what they leave."""

    def __init__(
        self,
        data: EventDataset,
        graph: LabelGraph,
        quality: Mapping[str, Any],
        config: JudgeConfig,
        seed: int = 0,
    ) -> None:
        self.data, self.graph, self.config, self._seed = data, graph, config, seed
        self.labels, self.presence, self.closings = graph.labels, data.presence(), Closings(data)
        self.quality = {row["label"]: row for row in quality.get("labels", ())}
        self.members = [
            _numbers(graph.boundary(label), data.event_names, "event type") for label in self.labels
        ]
        columns = _numbers(self.labels, data.label_names, "label")
        self.carried = data.label_matrix()[:, columns].toarray() > 0
        self.support = self.carried.sum(axis=0)

    @cached_property
    def forecasts(self) -> list[Predictability | None]:
        """The label told from its boundary; None where it is carried by too few sequences, or by all."""
        forecaster, found = Predictor(self.data), list[Predictability | None]()
        for number, members in enumerate(self.members):
            enough = self.config.too_few <= self.support[number] < len(self.data)
            rng = np.random.default_rng([self._seed, number])
            found.append(forecaster.forecast(self.carried[:, number], members, rng) if enough else None)
        return found

    @cached_property
    def beyond(self) -> dict[int, list[ResidualAssociation]]:
        """By label, the event types outside its boundary that it goes together with."""
        told = self._told
        members = [self.members[number] for number in told]
        found = event_residuals(
            self.presence, self.carried[:, told], self._probabilities, members, self.config.alpha
        )
        return self._weighty(found)

    @cached_property
    def together(self) -> dict[int, list[ResidualAssociation]]:
        """By label, the other labels that it goes together with."""
        return self._weighty(
            label_residuals(self.carried[:, self._told], self._probabilities, self.config.alpha)
        )

    @cached_property
    def _told(self) -> list[int]:
        return [number for number, forecast in enumerate(self.forecasts) if forecast is not None]

    @cached_property
    def _probabilities(self) -> NDArray[np.float64]:
        found = [forecast.probabilities for forecast in self.forecasts if forecast is not None]
        return np.stack(found, axis=1) if found else np.zeros((len(self.data), 0))

    def _weighty(self, found: Sequence[ResidualAssociation]) -> dict[int, list[ResidualAssociation]]:
        """Those that account for enough sequences."""
        kept: dict[int, list[ResidualAssociation]] = {}
        for surplus in found:
            number = self._told[surplus.label]
            if abs(surplus.observed - surplus.expected) >= self.config.min_share * self.support[number]:
                kept.setdefault(number, []).append(surplus)
        return kept

    def label_name(self, told: int) -> str:
        """The name of a label by its number among those that are told."""
        return self.labels[self._told[told]]


def _numbers(names: Sequence[str], known: Sequence[str], kind: str) -> list[int]:
    numbers = {name: number for number, name in enumerate(known)}
    missing = [name for name in names if name not in numbers]
    if missing:
        raise DataError(
            f"the graph has the {kind} {missing[0]!r}, which is not in the data; judge a graph by the data "
            "it was found in"
        )
    return [numbers[name] for name in names]
