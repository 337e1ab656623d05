"""LabelGraph: the boundary of every label, found by a method or known as the truth.

A table of edges (one row per label and event type) plus every label's support, so that a label with an empty
boundary is still part of the graph. File formats live in `io`.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import polars as pl

from eventcargo.errors import DataError, counted
from eventcargo.figures import Figure
from eventcargo.html_tables import MAX_ROWS, Markup, block, listed, number, paragraph, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE_SCHEMA: dict[str, pl.DataType] = {
    "label": pl.String(),
    "event": pl.String(),
    "sign": pl.Int8(),
    "frequency": pl.Float64(),
    "support": pl.Int64(),
    "threshold": pl.Float64(),
    "strength": pl.Float64(),
    "effect": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "p_value": pl.Float64(),
    "gain": pl.Float64(),
    "stability": pl.Float64(),
    "agreement": pl.Float64(),
    "evidence": pl.Float64(),
    "evidence_sd": pl.Float64(),
    "odds_ratio": pl.Float64(),
    "odds_low": pl.Float64(),
    "odds_high": pl.Float64(),
}
"""Columns of `LabelGraph.edges`. sign: 1 promotes, -1 inhibits, 0 or null unknown. threshold: what the
criterion requires, a frequency or nats of information. ci_low and ci_high: 95 % interval of the frequency.
gain: what the event type is worth given the rest of the boundary, by the data, in nats per sequence with the
label. stability: share of bootstrap samples of the sequences in which the edge is kept. agreement: share of
votes whose effect has the edge's sign. evidence: what hiding the event type costs the log-likelihood of the
label over all sequences, in nats, by a model that has not seen them; evidence_sd: its standard error.
odds_ratio: by what factor the odds of the label are higher in sequences with the event type than in others,
given the presence of the rest of the boundary; odds_low and odds_high: its 95 % interval. Columns that a
method does not fill are null."""


STRONG, MODERATE = 3.0, 1.5
"""Odds ratios of a strong and of a moderate edge, or 1 / them. As differences of two normal distributions
they are 0.6 and 0.2 standard deviations (log odds ratio * sqrt(3) / pi; Chinn 2000): beyond Cohen's medium
effect, and his small one."""

SIGNS = {1: "+", -1: "\N{MINUS SIGN}"}
"""How an edge's sign is shown."""

SHOWN_MEMBERS = 3
"""Members of a family that are named where it is described."""

Alternatives = Mapping[str, Mapping[str, Mapping[str, float]]]
"""For a label and a threshold in its boundary, the gain of each other threshold of the scale in its place."""


Weight = Literal["strong", "moderate", "weak"]


def weight_of(odds_low: float | None, odds_high: float | None) -> Weight | None:
    """How much an edge matters at least: by the end of its odds ratio's interval that is nearer to 1.

    A strong edge is surely strong. An edge is weak if its odds ratio is near 1, or if too few sequences show
    what it is; without an odds ratio it has no weight.

    >>> weight_of(3.1, 5.8), weight_of(1.6, 40.0), weight_of(0.9, 40.0), weight_of(0.1, 0.3)
    ('strong', 'moderate', 'weak', 'strong')
    """
    if odds_low is None or odds_high is None:
        return None
    least = max(odds_low, 1 / max(odds_high, sys.float_info.min))
    return "strong" if least >= STRONG else "moderate" if least >= MODERATE else "weak"


@dataclass(frozen=True)
class LabelGraph:
    """The boundaries of labels: `edges`, in order, and the `support` of every label.

    Within a label, the surest edge comes first: by p-value, then by gain, then by strength.

    >>> graph = LabelGraph.from_boundaries({"brake": ["P01", "U02"], "fuel": []})
    >>> graph.boundary("brake"), graph.boundary("fuel")
    (['P01', 'U02'], [])
    """

    edges: pl.DataFrame
    support: Mapping[str, int | None]
    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """members of those event types that are families"""
    alternatives: Alternatives = field(default_factory=dict)
    """gains as in `edges`, in nats per sequence with the label"""

    @classmethod
    def from_edges(cls, edges: pl.DataFrame, support: Mapping[str, int | None] | None = None) -> "LabelGraph":
        """A graph from a table with at least the columns `label` and `event`."""
        for column in ("label", "event"):
            if column not in edges.columns:
                raise DataError(f"a graph needs the column {column!r}; got {edges.columns}")
            if edges[column].null_count():
                empty = counted(edges[column].null_count(), "edge")
                raise DataError(f"{empty} without {column}; every edge needs one")
        given = pl.DataFrame(
            {
                name: edges[name].cast(kind)
                if name in edges.columns
                else pl.repeat(None, len(edges), dtype=kind, eager=True)
                for name, kind in EDGE_SCHEMA.items()
            },
            schema=EDGE_SCHEMA,
        )
        twice = given.filter(pl.struct("label", "event").is_duplicated())
        if len(twice):
            raise DataError(
                f"{len(twice):,} rows repeat an edge, the first: "
                f"{twice['label'][0]!r} <- {twice['event'][0]!r}"
            )
        known = dict.fromkeys(sorted(given["label"].unique().to_list()))
        supports = given.select("label", "support").drop_nulls().unique().sort("label", "support")
        unclear = supports.filter(pl.col("label").is_duplicated())
        if len(unclear):
            raise DataError(
                f"label {unclear['label'][0]!r} has edges of support {unclear['support'][0]:,} and "
                f"{unclear['support'][1]:,}; a label has one support"
            )
        known.update(supports.iter_rows())
        known.update(support or {})
        ordered = given.sort(
            ["label", "p_value", "gain", "strength", "event"],
            descending=[False, False, True, True, False],
            nulls_last=True,
            maintain_order=True,
        )
        return cls(ordered, {label: known[label] for label in sorted(known)})

    @classmethod
    def from_boundaries(
        cls, boundaries: Mapping[str, Iterable[str]], support: Mapping[str, int | None] | None = None
    ) -> "LabelGraph":
        """A graph from names alone."""
        pairs = [(label, event) for label, events in boundaries.items() for event in events]
        edges = pl.DataFrame(pairs, schema={"label": pl.String, "event": pl.String}, orient="row")
        return cls.from_edges(edges, {**dict.fromkeys(boundaries), **(support or {})})

    def with_kinds(
        self, families: Mapping[str, tuple[str, ...]], alternatives: Alternatives | None = None
    ) -> "LabelGraph":
        """The graph with the members of its families and the alternatives to its thresholds, by name."""
        found = set(self.edges["event"].to_list())
        own = {
            label: {cut: gains for cut, gains in sorted(cuts.items()) if cut in self.boundary(label)}
            for label, cuts in sorted((alternatives or {}).items())
        }
        return replace(
            self,
            families={name: families[name] for name in sorted(found.intersection(families))},
            alternatives={label: cuts for label, cuts in own.items() if cuts},
        )

    @property
    def labels(self) -> list[str]:
        return list(self.support)

    @cached_property
    def boundaries(self) -> dict[str, list[str]]:
        """Event types of every label, in the order of their edges."""
        boundaries: dict[str, list[str]] = {label: [] for label in self.support}
        for label, event in self.edges.select("label", "event").iter_rows():
            boundaries[label].append(event)
        return boundaries

    def boundary(self, label: str) -> list[str]:
        """Event types of one label, in the order of their edges."""
        if label not in self.boundaries:
            raise KeyError(f"no label {label!r} among {len(self.support):,}")
        return self.boundaries[label]

    def describe(self, event: str) -> str:
        """An event type; if it is a family, with its members.

        >>> edges = pl.DataFrame({"label": ["death"], "event": ["I50"]})
        >>> LabelGraph(edges, {}, {"I50": ("I50.1", "I50.2", "I50.3", "I50.9")}).describe("I50")
        'I50 (4 members: I50.1, I50.2, I50.3, ...)'
        """
        members = self.families.get(event, ())
        if not members:
            return event
        more = ", ..." if len(members) > SHOWN_MEMBERS else ""
        return f"{event} ({counted(len(members), 'member')}: {', '.join(members[:SHOWN_MEMBERS])}{more})"

    def plot(self, *, labels: Sequence[str] | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the causes of labels, with their odds ratios and signs, on matplotlib axes.

        A graph of more than about ninety labels and causes is drawn as a matrix of labels and event types.
        `labels` are those to draw, by default all, those carried by most sequences first. Without `ax`, the
        figure is a new one of fitting size; no window opens before `matplotlib.pyplot.show()`. Needs the
        extra `figures`.

        >>> graph = LabelGraph.from_boundaries({"brake": ["P01", "U02"], "fuel": []})
        >>> axes = graph.plot(labels=["brake"])
        >>> axes.get_title(loc="left"), [tick.get_text() for tick in axes.get_yticklabels()]
        ('2 causes of 1 label', ['brake', 'P01', 'U02'])
        """
        return self.figure(labels).draw(ax)

    def figure(self, labels: Sequence[str] | None = None) -> Figure:
        """The figure of some labels, by default of all; it can be drawn, or written to a file."""
        shown = self.labels_by_support() if labels is None else list(dict.fromkeys(labels))
        for label in shown:
            self.boundary(label)
        names = {event: self.describe(event) for event in self.families}
        return Figure(self.edges, shown, names)

    def __len__(self) -> int:
        return len(self.edges)

    def __repr__(self) -> str:
        filled = sum(bool(events) for events in self.boundaries.values())
        edges, labels = counted(len(self), "edge"), counted(len(self.support), "label")
        return f"LabelGraph: {edges} into {labels}, {filled:,} with a boundary"

    def _repr_html_(self) -> str:
        labels = self.labels_by_support()[:MAX_ROWS]
        rows = [
            [label, self.support[label], len(self.boundary(label)), self.causes_html(label)]
            for label in labels
        ]
        columns = ["label", "sequences with it", "causes", "causes, surest first (x odds ratio)"]
        note = (
            "+ promotes, \N{MINUS SIGN} inhibits the label. All columns: graph.edges; a figure: graph.plot()."
        )
        return block(repr(self), table(columns, rows, len(self.support)), paragraph(note, "faint"))

    def labels_by_support(self) -> list[str]:
        """The labels, those carried by most sequences first; those of unknown support last, by name.

        >>> LabelGraph.from_boundaries({"a": [], "b": []}, support={"b": 7}).labels_by_support()
        ['b', 'a']
        """
        return sorted(self.support, key=lambda label: (-(self.support[label] or 0), label))

    def causes_html(self, label: str) -> Markup:
        """The boundary of a label with signs and odds ratios, in one line for notebooks."""
        edges = self.edges.filter(label=label).select("event", "sign", "odds_ratio").iter_rows()
        shown = [
            SIGNS.get(sign, "") + self.describe(event) + (f" x{number(odds)}" if odds is not None else "")
            for event, sign, odds in edges
        ]
        return listed(shown)
