"""PageData: the results that the page shows, as plain values for JSON.

An overview with a line for every label, and for each label its own part, which the page parses only when the
label is opened. Event types are indices into one list of names.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import EventDataset, TimeKind, describe_times
from eventcargo.graphs import LabelGraph, weight_of
from eventcargo.report.arrangement import arrange
from eventcargo.report.counts import Counted, Counts
from eventcargo.report.curves import curves
from eventcargo.report.event_types import EventTypes
from eventcargo.report.examples import Shown, choose, show
from eventcargo.report.report_input import ReportInput

DIGITS = 4
"""Significant digits of the numbers in the page."""

STEPS = 10_000
"""Time resolution of a sequence; finer steps would be invisible."""

SETTING_NAMES = {
    "max_time": "time limit",
    "max_length": "length limit",
    "steps": "training steps",
    "size": "model size",
    "test": "test of phase 1",
    "criterion": "criterion of phase 2",
    "time": "time taken",
}
"""Settings of a run in words; any other name loses its underscores."""


@dataclass(frozen=True)
class PageData:
    """The overview, and one part for each label, in the same order."""

    overview: dict[str, Any]
    labels: list[dict[str, Any]]


def build_page_data(content: ReportInput, max_sequences: int) -> PageData:
    """The content of the page, with at most `max_sequences` sequences for each label.

    >>> from eventcargo.events import EventSequence
    >>> from eventcargo.graphs import LabelGraph
    >>> data = EventDataset.from_sequences([EventSequence("car1", ("P01",), (0.0,), ("brake",))])
    >>> given = ReportInput(LabelGraph.from_boundaries({"brake": ["P01"]}), data)
    >>> page = build_page_data(given, max_sequences=8)
    >>> page.overview["labels"][0]["name"], page.overview["names"]
    ('brake', ['P01'])
    """
    types = EventTypes()
    counts = Counts.of(content.data, content.graph, content.rules)
    quality = asdict(content.quality) if content.quality else {}
    figures = {row["label"]: row for row in quality.get("labels", ())}
    parts = _parts(content, figures, types)
    lines = [_line(content, label, parts[label], figures.get(label, {}), counts, types) for label in parts]
    families = types.families(content.graph)
    n_named = len(types.numbers)
    for label, sequence in _sequences(content, max_sequences, types):
        parts[label]["sequences"].append(sequence)
    adjusted = set(content.data.kinds.adjusted)  # could be no cause
    types.add_frequent({name: n for name, n in counts.events.items() if name not in adjusted})
    overview = {
        "version": version("eventcargo"),
        "date": content.date,
        "notes": list(content.notes),
        "about": [[_words(str(name)), str(value)] for name, value in content.about.items()],
        "data": {
            **_data(content.data),
            **({"cohort": content.cohort} if content.cohort else {}),
        },
        "quality": {name: _plain(quality.get(name, {})) for name in ("overall", "events", "training")},
        "parts": {
            "edges": content.edges is not None,
            "baseline": content.baseline is not None,
            "probabilities": content.probabilities is not None,
        },
        "labels": lines,
        "order": _order(content.graph, types),
        "names": types.names(),
        "seen": [counts.events.get(name) for name in types.numbers],
        "families": families,
        "named": n_named,
        "most": max_sequences,
    }
    return PageData(overview, list(parts.values()))


def shorter(page: PageData, max_sequences: int) -> PageData:
    """The same content with fewer sequences for each label.

    Without sequences, only those event types remain that a cause, a rule or a family names.
    """
    labels = [{**part, "sequences": _fewer(part["sequences"], max_sequences)} for part in page.labels]
    overview = {**page.overview, "most": max_sequences}
    if not max_sequences:
        n = page.overview["named"]
        overview.update(names=page.overview["names"][:n], seen=page.overview["seen"][:n])
    return PageData(overview, labels)


def _fewer(sequences: list[dict[str, Any]], max_sequences: int) -> list[dict[str, Any]]:
    """The first sequences with the label and the first without, as many as `choose` would take."""
    present = [sequence for sequence in sequences if sequence["carries"]]
    absent = [sequence for sequence in sequences if not sequence["carries"]]
    n_absent = min(len(absent), max(max_sequences // 2, max_sequences - len(present)))
    return present[: max_sequences - n_absent] + absent[:n_absent]


def _order(graph: LabelGraph, types: EventTypes) -> dict[str, list[int]]:
    """Labels and causes, by number, in the order of the picture."""
    labels, events = arrange(graph.boundaries)
    at = {label: number for number, label in enumerate(graph.labels)}
    return {"labels": [at[label] for label in labels], "events": [types.number(event) for event in events]}


def _words(setting: str) -> str:
    """The name of a setting as words; text that is not an identifier stays as it is."""
    plain = setting.replace("_", " ") if setting.isidentifier() else setting
    return SETTING_NAMES.get(setting, plain)


def _data(data: EventDataset) -> dict[str, Any]:
    low, middle, high = np.quantile(data.lengths, [0, 0.5, 1]).tolist() if len(data) else (0, 0, 0)
    return {
        "sequences": len(data),
        "events": data.n_events,
        "types": len(data.event_names),
        "times": describe_times(data),
        "kind": data.time_kind,
        "lengths": [int(low), int(middle), int(high)],
    }


def _parts(
    content: ReportInput, figures: Mapping[str, Mapping[str, Any]], types: EventTypes
) -> dict[str, dict[str, Any]]:
    """The part of each label, without its sequences."""
    parts: dict[str, dict[str, Any]] = {
        label: {"edges": [], "baseline": [], "sequences": [], "quality": _plain(figures.get(label, {}))}
        for label in content.graph.labels
    }
    graphs = {"edges": content.graph, "baseline": content.baseline}
    for name, graph in graphs.items():
        for row in graph.edges.iter_rows(named=True) if graph else ():
            label, event = row.pop("label"), row.pop("event")
            if label in parts:
                row["weight"] = weight_of(row.get("odds_low"), row.get("odds_high"))
                parts[label][name].append({"event": types.number(event, is_cause=True), **_plain(row)})
    return parts


def _line(
    content: ReportInput,
    label: str,
    part: Mapping[str, Any],
    figures: Mapping[str, Any],
    counts: Counts,
    types: EventTypes,
) -> dict[str, Any]:
    """A label in the overview, with everything the table shows, sorts and searches."""
    verdict = content.verdicts.get(label)
    return {
        "name": label,
        "support": _support(content, label),
        **_known(content.data, label),
        "level": verdict.level if verdict else None,
        "reasons": list(verdict.reasons) if verdict else [],
        "missing": list(verdict.missing) if verdict else [],
        **_among(counts, label),
        "causes": [
            _cause(edge, counts.causes.get((label, event)))
            for edge, event in zip(part["edges"], content.graph.boundary(label), strict=True)
        ],
        "baseline": [edge["event"] for edge in part["baseline"]],
        "f1": _number(figures.get("f1")),
        "auroc": _number(figures.get("auroc")),
        **_rule_of(content, label, counts, types),
    }


def _among(counts: Counts, label: str) -> dict[str, Any]:
    """Of how many sequences how many carry the label."""
    return {"among": list(counts.labels[label])} if label in counts.labels else {}


def _cause(edge: Mapping[str, Any], counted: Counted | None) -> list[Any]:
    """A cause in the overview: event type, sign, odds ratio with its interval, and its counts."""
    odds = [edge.get(name) for name in ("odds_ratio", "odds_low", "odds_high")]
    return [edge["event"], _sign(edge), *odds, *(counted or (None, None))]


def _sign(edge: Mapping[str, Any]) -> int:
    """The sign of an edge, else the sign of its effect, else 0."""
    return int(edge.get("sign") or np.sign(edge.get("effect", 0.0)))


def _support(content: ReportInput, label: str) -> int | None:
    """The number of sequences with a label: in the data, or by the graph if the data lack the label."""
    if label in content.data.label_names:
        return int(content.data.support[content.data.label_names.index(label)])
    return content.graph.support[label]


def _known(data: EventDataset, label: str) -> dict[str, int]:
    """The number of sequences for which a label is known, where it is not known for all."""
    if data.known is None or label not in data.label_names:
        return {}
    return {"known": int(data.n_known[data.label_names.index(label)])}


def _rule_of(content: ReportInput, label: str, counts: Counts, types: EventTypes) -> dict[str, Any]:
    """The rule of a label: none was looked for, or None, or its text, event types, figures and counts."""
    if label not in content.rules:
        return {}
    rule = content.rules[label]
    if rule is None:
        return {"rule": None}
    told = {
        "text": rule.text,
        "events": [types.number(event) for event in rule.events],
        **_plain({"support": rule.support, "precision": rule.precision, "recall": rule.recall}),
        **({"shortfall": rule.shortfall} if rule.shortfall else {}),
        **({"counts": list(counts.rules[label])} if label in counts.rules else {}),
    }
    return {"rule": told}


def _sequences(
    content: ReportInput, max_sequences: int, types: EventTypes
) -> Iterable[tuple[str, dict[str, Any]]]:
    if content.edges is None or max_sequences == 0:
        return
    chosen = choose(content.graph, content.edges, max_sequences)
    drawn = curves(content, chosen)
    for label, shown in show(chosen, content.edges, content.data):
        curve = drawn.get((label, shown.sequence.id))
        yield label, {**_timeline(shown, content.data.time_kind, types), **_curve(curve, shown)}


def _curve(curve: NDArray[np.float64] | None, shown: Shown) -> dict[str, Any]:
    """The probabilities before any event, after each one shown, and at the end."""
    if curve is None:
        return {}
    at = np.concatenate([[0], shown.positions + 1, [len(curve) - 1]])
    return {"curve": [None if math.isnan(p) else round(p, 3) for p in curve[at].tolist()]}


def _timeline(shown: Shown, time_kind: TimeKind, types: EventTypes) -> dict[str, Any]:
    """A sequence for the page: events by number, times since the first event shown, effects by place."""
    sequence = shown.sequence
    times = np.array(sequence.times)[shown.positions]
    place = {int(position): at for at, position in enumerate(shown.positions)}
    effects = {place[at]: _number(effect) for at, effect in shown.effects.items() if at in place}
    return {
        "id": sequence.id,
        "carries": shown.carries,
        "n": len(sequence),
        "events": [types.number(sequence.events[at]) for at in shown.positions],
        "first": [int(at) for at in shown.positions] if len(shown.positions) < len(sequence) else None,
        "start": float(times[0]) if len(times) and time_kind != "order" else None,
        "times": _since_start(times) if time_kind != "order" else None,
        "at": list(effects),
        "effects": list(effects.values()),
        "sets": [[sign, *map(types.number, events)] for events, sign in shown.sets.items()],
    }


def _since_start(times: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
    """Times since the first, rounded to the visible resolution."""
    since = times - times[:1]
    span = float(since.max(initial=0.0))
    places = max(0, math.ceil(-math.log10(span / STEPS))) if span > 0 else 0
    rounded = np.round(since, places)
    return [int(time) for time in rounded] if places == 0 else rounded.tolist()


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The known values, with numbers rounded."""
    return {name: _number(value) for name, value in values.items() if _number(value) is not None}


def _number(value: Any) -> Any:
    """A rounded number; None if it is not finite."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
