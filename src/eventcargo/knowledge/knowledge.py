"""Knowledge: what is known before the data are asked, for pairs of a label and an event type.

Four statements, each by names or patterns: pairs that are required, pairs that are forbidden, the event types
a label is limited to, and tiers, the order in which things can happen. Resolved against the names of a data
set they become one answer for each pair: never to be tested, or always to be kept. What contradicts itself or
names something that is not there is refused before work is spent.
"""

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, EventCargoWarning
from eventcargo.knowledge.parsing import parse
from eventcargo.knowledge.patterns import Names, check_patterns

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Patterns = str | Sequence[str]

PAIRS = ("required", "forbidden", "allowed")
"""The statements that are mappings from label to event types."""

TIER = ("events", "labels")
"""What stands in a tier."""


@dataclass(frozen=True)
class Resolved:
    """What is known of the pairs of some labels and event types.

    >>> resolved = Resolved(("brake",), ("P01", "U03"), np.array([[True, False]]), frozenset())
    >>> resolved.permits("brake", "P01"), resolved.permits("brake", "U03")
    (True, False)
    """

    label_names: tuple[str, ...]
    event_names: tuple[str, ...]
    allowed: Flags  # (labels, event types)
    required: frozenset[tuple[str, str]]  # (label, event type)

    def permits(self, label: str, event: str) -> bool:
        """Whether a pair may be an edge; of names that were not resolved nothing is known."""
        row, column = self._labels.get(label), self._events.get(event)
        return row is None or column is None or bool(self.allowed[row, column])

    def table(self, label_names: Sequence[str], event_names: Sequence[str]) -> Flags:
        """Which pairs of these names may be edges, (labels, event types), in their order."""
        rows = np.array([self._labels.get(name, -1) for name in label_names], np.int64)
        columns = np.array([self._events.get(name, -1) for name in event_names], np.int64)
        found = np.ones((len(rows), len(columns)), bool)
        known = np.ix_(rows >= 0, columns >= 0)
        found[known] = self.allowed[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return found

    @cached_property
    def _labels(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.label_names)}

    @cached_property
    def _events(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.event_names)}


@dataclass(frozen=True)
class Knowledge:
    """Statements on pairs of a label and an event type.

    Labels and event types are told by names, globs (`P0A*`) or regular expressions (`re:P0A[0-4].*`). A pair
    may be an edge if it is not forbidden, the event type is among those allowed where its label is limited to
    some, and is of no later tier than the label.

    >>> knowledge = Knowledge(required={"brake": "P01"}, forbidden={"*": ["U*", "P02"]})
    >>> resolved = knowledge.resolve(["brake"], ["P01", "P02", "U03"])
    >>> resolved.allowed.tolist(), sorted(resolved.required)
    ([[True, False, False]], [('brake', 'P01')])
    """

    required: Mapping[str, Patterns] = field(default_factory=dict)
    """pairs that belong to the graph whatever the data say"""
    forbidden: Mapping[str, Patterns] = field(default_factory=dict)
    """pairs that are never tested"""
    allowed: Mapping[str, Patterns] = field(default_factory=dict)
    """labels limited to these event types; labels not named here are not limited"""
    tiers: Sequence[Mapping[str, Patterns]] = ()
    """groups of `events` and `labels`, the earliest first; what is in no tier is not bound by them"""

    def __post_init__(self) -> None:
        for name in PAIRS:
            object.__setattr__(self, name, _checked_pairs(name, getattr(self, name)))
        object.__setattr__(self, "tiers", _checked_tiers(self.tiers))

    @classmethod
    def read(cls, path: str | Path) -> "Knowledge":
        """Knowledge from a JSON (`.json`) or YAML (`.yaml`, `.yml`) file."""
        names = [field.name for field in fields(cls)]
        try:
            content = parse(Path(path))
            if not isinstance(content, dict):
                raise ConfigError(f"is a {type(content).__name__}; use a mapping with {', '.join(names)}")
            odd = [key for key in content if key not in names]
            if odd:
                raise ConfigError(f"has the unknown key {odd[0]!r}; use {', '.join(names)}")
            return cls(**content)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    @property
    def fingerprint(self) -> str | None:
        """A text that differs where statements differ, whatever their order; None where there are none."""
        pairs = [
            sorted((label, sorted(set(events))) for label, events in getattr(self, name).items())
            for name in PAIRS
        ]
        tiers = [{key: sorted(set(tier[key])) for key in sorted(tier)} for tier in self.tiers]
        if not any(pairs) and not tiers:
            return None
        return hashlib.sha256(json.dumps([pairs, tiers]).encode()).hexdigest()[:16]

    def resolve(self, label_names: Sequence[str], event_names: Sequence[str]) -> Resolved:
        """What is known of every pair of these names.

        A contradiction, and a name that is not among these, is refused; patterns that match none of them, and
        labels that are left without any event type, are counted in a warning.
        """
        labels, events = Names("label", label_names), Names("event type", event_names)
        required = np.argwhere(_marked("required", self.required, labels, events))
        barred = {
            "it is forbidden": _marked("forbidden", self.forbidden, labels, events),
            "the label is limited to other event types": _left_out(self.allowed, labels, events),
            "the event type is of a later tier": _late(self.tiers, labels, events),
        }
        labels.report()
        events.report()
        for reason, pairs in barred.items():
            _check_conflict(required, pairs, reason, labels, events)
        allowed = ~np.logical_or.reduce(list(barred.values()))
        _report_empty(allowed)
        known = frozenset((label_names[label], event_names[event]) for label, event in required.tolist())
        return Resolved(tuple(label_names), tuple(event_names), allowed, known)


def _marked(name: str, pairs: Mapping[str, Patterns], labels: Names, events: Names) -> Flags:
    """The pairs a statement is about: (labels, event types)."""
    found = np.zeros((len(labels), len(events)), bool)
    for label, patterns in pairs.items():
        rows = labels.match(label, name)
        for pattern in patterns:
            found[np.ix_(rows, events.match(pattern, name))] = True
    return found


def _left_out(pairs: Mapping[str, Patterns], labels: Names, events: Names) -> Flags:
    """Pairs of a label that is limited to some event types, and another event type."""
    limited = np.zeros((len(labels), 1), bool)
    for label in pairs:
        limited[labels.match(label, "allowed")] = True
    return limited & ~_marked("allowed", pairs, labels, events)


def _late(tiers: Sequence[Mapping[str, Patterns]], labels: Names, events: Names) -> Flags:
    """Pairs of a label and an event type of a later tier."""
    first, last = -1, len(tiers)
    return (
        _tiers_of(events, tiers, "events", free=first)
        > _tiers_of(labels, tiers, "labels", free=last)[:, None]
    )


def _tiers_of(names: Names, tiers: Sequence[Mapping[str, Patterns]], key: str, free: int) -> Ints:
    """The tier of each name, `free` for those in none."""
    found = np.full(len(names), free, np.int64)
    for number, tier in enumerate(tiers):
        for pattern in tier.get(key, ()):
            at = names.match(pattern, f"tier {number + 1}")
            twice = at[(found[at] != free) & (found[at] != number)]
            if len(twice):
                raise ConfigError(
                    f"the {names.kind} {names.names[twice[0]]!r} is in tier {found[twice[0]] + 1} and, by "
                    f"{pattern!r}, in tier {number + 1}; a name has one tier, use narrower patterns"
                )
            found[at] = number
    return found


def _check_conflict(required: Ints, barred: Flags, reason: str, labels: Names, events: Names) -> None:
    both = required[barred[required[:, 0], required[:, 1]]]
    if len(both):
        raise ConfigError(
            f"{len(both):,} required pairs cannot be, the first label {labels.names[both[0, 0]]!r} and event "
            f"type {events.names[both[0, 1]]!r}, because {reason}; take one of the statements back"
        )


def _report_empty(allowed: Flags) -> None:
    n_empty = int((~allowed.any(axis=1)).sum()) if allowed.shape[1] else 0
    if n_empty:
        warnings.warn(
            f"the knowledge leaves {n_empty:,} of {len(allowed):,} labels without any event type",
            EventCargoWarning,
            stacklevel=3,
        )


def _checked_pairs(name: str, given: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{name} is a {type(given).__name__}; use a mapping from label to event types, such as "
            '{"EP_*": ["P0A1F"]}'
        )
    for label in given:
        check_patterns([label], name)
    return {label: check_patterns(events, f"{name} of {label!r}") for label, events in given.items()}


def _checked_tiers(given: Any) -> tuple[dict[str, tuple[str, ...]], ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ConfigError(f"tiers is a {type(given).__name__}; use a list, the earliest tier first")
    return tuple(_checked_tier(tier, f"tier {number}") for number, tier in enumerate(given, start=1))


def _checked_tier(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where} is a {type(given).__name__}; use a mapping with {', '.join(TIER)}")
    odd = [key for key in given if key not in TIER]
    if odd:
        raise ConfigError(f"{where} has the unknown key {odd[0]!r}; use {', '.join(TIER)}")
    return {key: check_patterns(patterns, f"{where}, {key},") for key, patterns in given.items()}
