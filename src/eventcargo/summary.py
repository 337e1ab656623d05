"""Summary of a data set: figures that a person can check, and problems."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import argument, counted

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
RARE_SUPPORT = 10
"""With fewer sequences than this, a label's boundary is unreliable."""
SHOWN_LEAKS = 5
"""Most event types told one by one that may be records of a label."""
SHORT = 3
"""Sequences with fewer events than this say hardly anything about order."""


@dataclass(frozen=True)
class Summary:
    """Figures of a data set; quantiles are at 0, 5, 25, 50, 75, 95 and 100 percent.

    `share_known` is the share of the pairs of a sequence and a label in which the label is known.
    """

    sequences: int
    events: int
    event_types: int
    labels: int
    length_quantiles: list[float]
    support_quantiles: list[float]
    share_without_label: float
    labels_per_sequence: float
    share_known: float
    time_kind: str
    time_range: tuple[float, float] | None
    times: str
    time_span_quantiles: list[float] | None
    repeated_share: float
    problems: list[str]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def summarise(data: "EventDataset") -> Summary:
    """Summarise a data set.

    >>> from eventcargo.events import EventDataset, EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "x", "y"), (0.0, 1.0, 4.0), ("bad",))])
    >>> summary = summarise(data)
    >>> round(summary.repeated_share, 3), summary.time_span_quantiles[0]
    (0.333, 4.0)
    """
    from eventcargo.events import describe_times

    kinds = data.incidence
    distinct = len(kinds.numbers)
    return Summary(
        sequences=len(data),
        events=data.n_events,
        event_types=len(data.event_names),
        labels=len(data.label_names),
        length_quantiles=_quantiles(data.lengths),
        support_quantiles=_quantiles(data.support),
        share_without_label=float((data.label_rows.lengths == 0).mean()) if len(data) else 0.0,
        labels_per_sequence=float(data.label_rows.lengths.mean()) if len(data) else 0.0,
        share_known=float(data.n_known.sum() / max(len(data) * len(data.label_names), 1)),
        time_kind=data.time_kind,
        time_range=data.time_range,
        times=describe_times(data),
        time_span_quantiles=None if data.time_kind == "order" else _quantiles(_spans(data)),
        repeated_share=1.0 - distinct / data.n_events if data.n_events else 0.0,
        problems=list(_problems(data, kinds.totals)),
    )


def _quantiles(values: NDArray[Any]) -> list[float]:
    return [float(value) for value in np.quantile(values, QUANTILES)] if len(values) else []


def _spans(data: "EventDataset") -> NDArray[np.float64]:
    """Time from the first to the last event of every sequence with events."""
    used = data.lengths > 0
    return data.times[data.rows.stops[used] - 1] - data.times[data.rows.starts[used]]


def _problems(data: "EventDataset", occurs_in: NDArray[np.int64]) -> Iterator[str]:
    support, known = data.support, "" if data.known is None else " for which it is known"
    counts = (
        (int((support == 0).sum()), "label", "in no sequence; no cause can be found"),
        (
            int(((support > 0) & (support < RARE_SUPPORT)).sum()),
            "label",
            f"in fewer than {RARE_SUPPORT} sequences; do not believe the boundary",
        ),
        (
            int((support == data.n_known).sum()),
            "label",
            f"in every sequence{known}; without sequences that lack the label, no cause can be found",
        ),
        (
            int((occurs_in == len(data)).sum()),
            "event type",
            "in every sequence; invisible to methods that use presence alone",
        ),
        (int((occurs_in == 1).sum()), "event type", "in only one sequence"),
        (int((data.lengths < SHORT).sum()), "sequence", f"with fewer than {SHORT} events"),
        (_unordered(data), "sequence", "with all events at the same time; their order is the order of rows"),
    )
    if not data.label_names:
        yield "there are no labels, so there are no boundaries to find"
    for count, noun, problem in counts:
        if count:
            yield f"{counted(count, noun)} {problem}"
    yield from _leaks(data)


def _leaks(data: "EventDataset") -> Iterator[str]:
    """Event types that may be records of a label, the most frequent first, and names that look like it."""
    from eventcargo.leaks import find_leaks

    leaks = sorted(find_leaks(data), key=lambda leak: -leak.both)
    signs, hints = ([leak for leak in leaks if leak.is_hint == hint] for hint in (False, True))
    for leak in signs[:SHOWN_LEAKS]:
        remedy = f"leave it out with {argument('exclude', leak.event)}"
        yield f"{leak.reason}; check that it comes first, or {remedy}"
    if len(signs) > SHOWN_LEAKS:
        more = counted(len(signs) - SHOWN_LEAKS, "further pair")
        yield f"{more} of a label and an event type that may be its record"
    if hints:
        yield (
            f"{counted(len(hints), 'event type')} with the name of a label within the own, such as "
            f"{hints[0].event!r} with {hints[0].label!r}; check that it comes first, or leave it out"
        )


def _unordered(data: "EventDataset") -> int:
    if data.time_kind == "order":
        return 0
    several = data.lengths[data.lengths > 0] > 1
    return int(((_spans(data) == 0) & several).sum())
