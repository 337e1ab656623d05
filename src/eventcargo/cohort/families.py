"""Families: event types above others, from a table of parents or from the first characters of names."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.cohort.event_types import EventTypes, normalised
from eventcargo.cohort.expansion import Expansion
from eventcargo.errors import DataError
from eventcargo.io.config import ReadConfig
from eventcargo.io.sources import READING, open_sources

CODE, PARENTS = "code", ("parent_codes", "parent")

Parents = Mapping[str, tuple[str, ...]]


def read_parents(given: Any, normalise: bool = False, reading: ReadConfig = READING) -> Parents:
    """The parents of every name: the columns `code` and `parent_codes` (lists, as in MEDS) or `parent`."""
    found: dict[str, set[str]] = defaultdict(set)
    for source in open_sources(given, "parents", reading):
        column = next((name for name in PARENTS if name in source.columns), None)
        if column is None or CODE not in source.columns:
            raise DataError(
                f"{source.place} has the columns {', '.join(source.columns)}; a table of parents needs "
                f"{CODE!r} and {PARENTS[0]!r} or {PARENTS[1]!r}"
            )
        for batch in source.read([CODE, column]):
            for name, above in zip(*(batch.column(c).to_pylist() for c in (CODE, column)), strict=True):
                found[str(name)] |= {str(one) for one in _as_list(above)}
    clean = normalised if normalise else str
    return {clean(name): tuple(sorted(map(clean, above))) for name, above in found.items() if above}


def _as_list(above: Any) -> list[Any]:
    if above is None or above == "":
        return []
    return above if isinstance(above, list) else [above]


def ancestors(name: str, parents: Parents) -> tuple[str, ...]:
    """All names above a name, sorted; refuse a name above itself.

    >>> ancestors("I50.1", {"I50.1": ("I50",), "I50": ("heart",)})
    ('I50', 'heart')
    """
    above: set[str] = set()
    waiting = list(parents.get(name, ()))
    while waiting:
        one = waiting.pop()
        if one == name:
            raise DataError(f"{name!r} is above itself in the table of parents; remove the circle")
        if one not in above:
            above.add(one)
            waiting += parents.get(one, ())
    return tuple(sorted(above))


def known_parents(families: Mapping[str, Collection[str]]) -> Parents:
    """Parents by the families of a data set.

    >>> known_parents({"I50": ("I50.1",), "heart": ("I50", "I50.1")})
    {'I50.1': ('I50', 'heart'), 'I50': ('heart',)}
    """
    above: dict[str, list[str]] = defaultdict(list)
    for family in sorted(families):
        for name in families[family]:
            above[name].append(family)
    return {name: tuple(families) for name, families in above.items()}


def add_families(
    types: EventTypes,
    expansion: Expansion,
    parents: Parents,
    prefix: int,
    occurrences: NDArray[np.int64],
    known: Collection[str] | None = None,
) -> dict[str, set[str]]:
    """Let every event type be followed by its families; return the members of each family.

    A family with a single recorded type is that type, and of families with the same types only the lowest is
    worth a name: the others are left out, or all but the `known` ones.
    """
    above_of = {
        name: _above(name, parents, prefix)
        for name, n in zip(list(types.names), occurrences, strict=True)
        if n
    }
    recorded: dict[str, set[str]] = defaultdict(set)
    for name, above in above_of.items():
        for family in above:
            recorded[family].add(name)
            if family in above_of:
                recorded[family].add(family)
    if known is None:
        kept = _distinct(recorded, {name: _above(name, parents, prefix) for name in recorded})
    else:
        kept = set(known)
    families: dict[str, set[str]] = defaultdict(set)
    for name, above in above_of.items():
        for family in sorted(above & kept):
            expansion.add(types.numbers[name], types.add(family))
            families[family] |= {
                name,
                *(one for one in above & kept if family in _above(one, parents, prefix)),
            }
    return dict(families)


def _above(name: str, parents: Parents, prefix: int) -> set[str]:
    above = set(ancestors(name, parents))
    return above | {name[:prefix]} if prefix and len(name) > prefix else above


def _distinct(recorded: Mapping[str, set[str]], above: Mapping[str, set[str]]) -> set[str]:
    """Families of at least two recorded types, the lowest of those with the same types."""
    lowest: dict[frozenset[str], str] = {}
    for family in sorted(recorded, key=lambda one: (-len(above[one]), one)):
        if len(recorded[family]) > 1:
            lowest.setdefault(frozenset(recorded[family]), family)
    return set(lowest.values())
