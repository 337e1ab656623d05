"""Knowledge: prior knowledge about pairs of a label and an event type.

There are four statements, each by names or patterns: required pairs, forbidden pairs, the event types that a
label is limited to, and tiers, the order in which things can happen. Resolved for the names of a data set,
they say which pairs are never tested and which are always kept. Contradictions and unknown names are refused
before any work.
"""

import hashlib
import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, EventCargoWarning, counted, shown_value
from eventcargo.knowledge.parsing import parse
from eventcargo.knowledge.patterns import Names, check_patterns

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Patterns = str | Sequence[str]

PAIRS = ("required", "forbidden", "allowed")
"""Statements that map labels to event types."""

TIER = ("events", "labels")
"""Keys of a tier."""


@dataclass(frozen=True)
class Resolved:
    """Knowledge about every pair of some labels and event types.

    >>> resolved = Resolved(("brake",), ("P01", "U03"), np.array([[True, False]]), frozenset())
    >>> resolved.table(["brake", "new"], ["P01", "U03"]).tolist()
    [[True, False], [True, True]]
    """

    label_names: tuple[str, ...]
    event_names: tuple[str, ...]
    allowed: Flags  # (labels, event types)
    required: frozenset[tuple[str, str]]  # (label, event type)

    def table(self, label_names: Sequence[str], event_names: Sequence[str]) -> Flags:
        """Which pairs of these names may be edges: (labels, event types), in the order given."""
        rows = np.array([self._labels.get(name, -1) for name in label_names], np.int64)
        columns = np.array([self._events.get(name, -1) for name in event_names], np.int64)
        permitted = np.ones((len(rows), len(columns)), bool)
        known = np.ix_(rows >= 0, columns >= 0)
        permitted[known] = self.allowed[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return permitted

    def without(self, events: Collection[str]) -> "Resolved":
        """The same knowledge with some event types in no edge: those that the data adjust for.

        >>> resolved = Knowledge().resolve(["brake"], ["P01", "site=A"])
        >>> resolved.without(["site=A"]).allowed.tolist()
        [[True, False]]
        """
        both = sorted(pair for pair in self.required if pair[1] in events)
        if both:
            raise ConfigError(
                f"{counted(len(both), 'required pair')} impossible, the first label {both[0][0]!r} and event "
                f"type {both[0][1]!r}, because the event type is adjusted for; remove one of the statements"
            )
        allowed = self.allowed & ~np.isin(np.array(self.event_names, object), list(events))
        return replace(self, allowed=allowed)

    @cached_property
    def _labels(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.label_names)}

    @cached_property
    def _events(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.event_names)}


@dataclass(frozen=True)
class Knowledge:
    """Statements about pairs of a label and an event type.

    Names, globs (`P0A*`) or regular expressions (`re:P0A[0-4].*`) select labels and event types. A pair may
    be an edge if it is not forbidden, its event type is allowed (if the label is limited to some) and not in
    a later tier than the label.

    >>> knowledge = Knowledge(required={"brake": "P01"}, forbidden={"*": ["U*", "P02"]})
    >>> resolved = knowledge.resolve(["brake"], ["P01", "P02", "U03"])
    >>> resolved.allowed.tolist(), sorted(resolved.required)
    ([[True, False, False]], [('brake', 'P01')])
    """

    required: Mapping[str, Patterns] = field(default_factory=dict)
    """pairs that are always in the graph"""
    forbidden: Mapping[str, Patterns] = field(default_factory=dict)
    """pairs that are never tested"""
    allowed: Mapping[str, Patterns] = field(default_factory=dict)
    """labels limited to these event types; other labels are not limited"""
    tiers: Sequence[Mapping[str, Patterns]] = ()
    """groups of `events` and `labels`, the earliest first; names in no tier are not restricted"""

    def __post_init__(self) -> None:
        for name in PAIRS:
            object.__setattr__(self, name, _checked_pairs(name, getattr(self, name)))
        object.__setattr__(self, "tiers", _checked_tiers(self.tiers))

    @classmethod
    def read(cls, path: str | Path) -> "Knowledge":
        """Read knowledge from a JSON (`.json`) or YAML (`.yaml`, `.yml`) file."""
        names = [field.name for field in fields(cls)]
        try:
            content = parse(Path(path))
            if not isinstance(content, dict):
                raise ConfigError(f"is {_kind(content)}; use a mapping with {', '.join(names)}")
            unknown = [key for key in content if key not in names]
            if unknown:
                raise ConfigError(f"has the unknown key {shown_value(unknown[0])}; use {', '.join(names)}")
            return cls(**content)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    @property
    def fingerprint(self) -> str | None:
        """A hash of the statements, independent of their order; None if there are none."""
        pairs = [
            sorted((label, sorted(set(events))) for label, events in getattr(self, name).items())
            for name in PAIRS
        ]
        tiers = [{key: sorted(set(tier[key])) for key in sorted(tier)} for tier in self.tiers]
        if not any(pairs) and not tiers:
            return None
        return hashlib.sha256(json.dumps([pairs, tiers]).encode()).hexdigest()[:16]

    def resolve(self, label_names: Sequence[str], event_names: Sequence[str]) -> Resolved:
        """Apply the statements to every pair of these names.

        Refuses contradictions and names that are not among these. Warns of patterns that match none of them
        and of labels that are left without any event type.
        """
        labels, events = Names("label", label_names), Names("event type", event_names)
        required = np.argwhere(_marked("required", self.required, labels, events))
        barred = {
            "it is forbidden": _marked("forbidden", self.forbidden, labels, events),
            "the label is limited to other event types": _left_out(self.allowed, labels, events),
            "the event type is in a later tier": _late(self.tiers, labels, events),
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
    """The pairs that a statement names: (labels, event types)."""
    marked = np.zeros((len(labels), len(events)), bool)
    for label, patterns in pairs.items():
        rows = labels.match(label, name)
        for pattern in patterns:
            marked[np.ix_(rows, events.match(pattern, name))] = True
    return marked


def _left_out(pairs: Mapping[str, Patterns], labels: Names, events: Names) -> Flags:
    """Pairs of a limited label and an event type that it is not limited to."""
    limited = np.zeros((len(labels), 1), bool)
    for label in pairs:
        limited[labels.match(label, "allowed")] = True
    return limited & ~_marked("allowed", pairs, labels, events)


def _late(tiers: Sequence[Mapping[str, Patterns]], labels: Names, events: Names) -> Flags:
    """Pairs of a label and an event type in a later tier."""
    first, last = -1, len(tiers)
    return (
        _tiers_of(events, tiers, "events", free=first)
        > _tiers_of(labels, tiers, "labels", free=last)[:, None]
    )


def _tiers_of(names: Names, tiers: Sequence[Mapping[str, Patterns]], key: str, free: int) -> Ints:
    """The tier of each name, `free` for names in no tier."""
    tier_of = np.full(len(names), free, np.int64)
    for number, tier in enumerate(tiers):
        for pattern in tier.get(key, ()):
            at = names.match(pattern, f"tier {number + 1}")
            twice = at[(tier_of[at] != free) & (tier_of[at] != number)]
            if len(twice):
                raise ConfigError(
                    f"the {names.kind} {names.names[twice[0]]!r} is in tier {tier_of[twice[0]] + 1} and, by "
                    f"{pattern!r}, in tier {number + 1}; a name has one tier: use narrower patterns"
                )
            tier_of[at] = number
    return tier_of


def _check_conflict(required: Ints, barred: Flags, reason: str, labels: Names, events: Names) -> None:
    both = required[barred[required[:, 0], required[:, 1]]]
    if len(both):
        raise ConfigError(
            f"{counted(len(both), 'required pair')} impossible, the first label {labels.names[both[0, 0]]!r} "
            f"and event type {events.names[both[0, 1]]!r}, because {reason}; remove one of the statements"
        )


def _report_empty(allowed: Flags) -> None:
    n_empty = int((~allowed.any(axis=1)).sum()) if allowed.shape[1] else 0
    if n_empty:
        warnings.warn(
            f"the knowledge leaves {n_empty:,} of {counted(len(allowed), 'label')} without any event type",
            EventCargoWarning,
            stacklevel=3,
        )


def _kind(given: Any) -> str:
    return "empty" if given is None else f"a {type(given).__name__}"


def _checked_pairs(name: str, given: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{name} is {_kind(given)}; use a mapping from label to event types, such as "
            '{"EP_*": ["P0A1F"]}'
        )
    for label in given:
        check_patterns([label], name)
    return {label: check_patterns(events, f"{name} of {label!r}") for label, events in given.items()}


def _checked_tiers(given: Any) -> tuple[dict[str, tuple[str, ...]], ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ConfigError(f"tiers is {_kind(given)}; use a list, the earliest tier first")
    return tuple(_checked_tier(tier, f"tier {number}") for number, tier in enumerate(given, start=1))


def _checked_tier(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where} is {_kind(given)}; use a mapping with {', '.join(TIER)}")
    unknown = [key for key in given if key not in TIER]
    if unknown:
        raise ConfigError(f"{where} has the unknown key {shown_value(unknown[0])}; use {', '.join(TIER)}")
    return {key: check_patterns(patterns, f"{where}, {key},") for key, patterns in given.items()}
