"""MI-MCF: multi-label causal features by symmetric uncertainty, written from its definition.

SU(a, b) = 2 I(a; b) / (H(a) + H(b)). For each label: (1) relevant variables, events and other labels, have
SU above `min_uncertainty`; (2) from strong to weak, each kept variable removes the weaker variables that it
explains better than the label does; (3) events removed by another label, not by an event, may have been
masked: the strongest share `recover` of them is tried again against events alone; (4) the weakest share
`recheck` must also hold in the other direction. Labels are sinks, so there are no spouses to find.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from eventcargo.statistics.g2 import IndependenceTest, Target


@dataclass(frozen=True)
class _Uncertainty:
    """Symmetric uncertainty of labels with event types and with each other."""

    with_events: NDArray[np.float64]  # (labels, event types)
    with_labels: NDArray[np.float64]  # (labels, labels)


class MiMcf:
    """The algorithm for all labels; labels are numbered as in `targets`."""

    def __init__(
        self,
        test: IndependenceTest,
        targets: Sequence[Target],
        min_uncertainty: float = 0.05,
        recover: float = 0.7,
        recheck: float = 0.1,
    ) -> None:
        self._test = test
        self._min, self._recover, self._recheck = min_uncertainty, recover, recheck
        self._event_entropy = _entropy(test.counts.totals, test.counts.n_sequences)
        sizes = np.array([len(target.rows) for target in targets])
        self._label_entropy = _entropy(sizes, test.counts.n_sequences)
        self._uncertainty = _Uncertainty(
            np.stack(
                [self._with_events(target, h) for target, h in zip(targets, self._label_entropy, strict=True)]
            ),
            self._between_labels(targets),
        )

    def __call__(self, label: int) -> list[int]:
        """The event types of one label, strongest first."""
        su = self._uncertainty.with_events[label]
        relevant = np.flatnonzero(su > self._min)
        ordered = relevant[np.argsort(-su[relevant], kind="stable")]
        members, masked = self._filter(label, ordered)
        members += self._recovered(su, members, masked)
        return self._confirmed(label, sorted(members, key=lambda column: (-su[column], column)))

    def _filter(self, label: int, ordered: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Step 2: the events kept, and the events removed only by another label."""
        su = self._uncertainty.with_events[label]
        by_label = self._explained_by_labels(label, ordered)
        members: list[int] = []
        masked: list[int] = []
        explained: set[int] = set()
        for at, column in enumerate(ordered.tolist()):
            if column in explained:
                continue
            if column in by_label:
                masked.append(column)
                continue
            members.append(column)
            weaker = ordered[at + 1 :]
            explained |= set(weaker[self._between_events(column, weaker) > su[weaker]].tolist())
        return members, masked

    def _explained_by_labels(self, label: int, ordered: NDArray[np.int64]) -> set[int]:
        """Events explained better by another label that correlates more with this label than they do."""
        su = self._uncertainty.with_events[label, ordered]
        stronger = self._uncertainty.with_labels[label][:, None] > su[None, :]
        better = self._uncertainty.with_events[:, ordered] > su[None, :]
        return set(ordered[(stronger & better).any(axis=0)].tolist())

    def _recovered(self, su: NDArray[np.float64], members: list[int], masked: list[int]) -> list[int]:
        """Step 3: the strongest masked events that no member explains better."""
        tried = np.array(masked[: ceil(self._recover * len(masked))], np.int64)
        alive = np.ones(len(tried), bool)
        for column in members:
            alive &= self._between_events(column, tried) <= su[tried]
        return [int(column) for column in tried[alive]]

    def _confirmed(self, label: int, members: list[int]) -> list[int]:
        """Step 4: drop the weakest events if, from their side, another event explains the label better."""
        su = self._uncertainty.with_events[label]
        everyone = np.arange(len(su))
        n_weak = ceil(self._recheck * len(members)) if members else 0
        confirmed = members[: len(members) - n_weak]
        for column in members[len(members) - n_weak :]:
            rivals = self._between_events(column, everyone)
            if not np.any((rivals > su[column]) & (su > su[column])):
                confirmed.append(column)
        return confirmed

    def _with_events(self, target: Target, entropy: float) -> NDArray[np.float64]:
        information = self._test(target).g2 / (2.0 * self._test.counts.n_sequences)
        return _symmetric(information, entropy + self._event_entropy)

    def _between_events(self, column: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        if len(others) == 0:
            return np.zeros(0)
        tests = self._test(self._test.event(column), (), others)
        information = tests.g2 / (2.0 * self._test.counts.n_sequences)
        return _symmetric(information, self._event_entropy[column] + self._event_entropy[others])

    def _between_labels(self, targets: Sequence[Target]) -> NDArray[np.float64]:
        n = self._test.counts.n_sequences
        member = np.zeros((len(targets), n), np.float32)
        for at, target in enumerate(targets):
            member[at, target.rows] = 1.0
        together = (member @ member.T).astype(np.float64)
        size = np.diag(together)
        information = sum(
            _cell(cell, row * column / n, n)
            for cell, row, column in (
                (together, size[:, None], size[None, :]),
                (size[:, None] - together, size[:, None], n - size[None, :]),
                (size[None, :] - together, n - size[:, None], size[None, :]),
                (n - size[:, None] - size[None, :] + together, n - size[:, None], n - size[None, :]),
            )
        )
        return _symmetric(
            np.asarray(information), self._label_entropy[:, None] + self._label_entropy[None, :]
        )


def _cell(count: NDArray[np.float64], expected: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, count / n * np.log(count / expected), 0.0)


def _entropy(count: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    p = np.stack([count / n, 1.0 - count / n])
    return -np.where(p > 0, p * np.log(np.maximum(p, 1e-300)), 0.0).sum(axis=0)


def _symmetric(information: NDArray[np.float64], entropies: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(entropies > 0, 2.0 * information / np.maximum(entropies, 1e-300), 0.0)
