"""Event types whose names equal or contain the name of a label."""

import re
from collections.abc import Iterator, Sequence

LETTERS = 3
"""Fewest characters of a label's name that is looked for within others."""


def normalised(name: str) -> str:
    """A name without differences in case and space.

    >>> normalised("  Turbo  failure ")
    'turbo failure'
    """
    return " ".join(name.casefold().split())


def equal_names(event_names: Sequence[str], label_names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Numbers of event types and labels whose names are the same but for case and space.

    >>> list(equal_names(["oil", "Turbo failure "], ["turbo failure"]))
    [(1, 0)]
    """
    labels: dict[str, list[int]] = {}
    for number, name in enumerate(label_names):
        labels.setdefault(normalised(name), []).append(number)
    for event, name in enumerate(event_names):
        yield from ((event, label) for label in labels.get(normalised(name), ()))


def contained_names(event_names: Sequence[str], label_names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Numbers of event types and labels where the event's name has the label's words, and others, in a row.

    >>> list(contained_names(["turbo failure recorded", "turbo"], ["Turbo_failure"]))
    [(0, 0)]
    """
    labels: dict[tuple[str, ...], list[int]] = {}
    for number, name in enumerate(label_names):
        words = _words(name)
        if len("".join(words)) >= LETTERS and not "".join(words).isdigit():
            labels.setdefault(words, []).append(number)
    lengths = sorted({len(words) for words in labels})
    for event, name in enumerate(event_names):
        words = _words(name)
        parts = {words[at : at + n] for n in lengths if n < len(words) for at in range(len(words) - n + 1)}
        yield from ((event, label) for part in sorted(parts) for label in labels.get(part, ()))


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", name.casefold()))
