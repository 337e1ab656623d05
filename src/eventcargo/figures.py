"""The edges of a graph as a figure: a row per cause with its odds ratio or, of large graphs, a matrix.

Only here is matplotlib used, and only when a figure is asked for. Names are drawn as they are: no `$` in them
starts a formula.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from eventcargo.errors import ConfigError, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROWS = 90
"""A figure with more rows than this, labels and causes together, is a matrix."""

MAX_NAMED = 120
"""A matrix names its labels, and its event types, up to this many of them."""

LONGEST_NAME = 40
"""Characters of a name."""

SIGNS = {1: ("#c4511d", "promotes"), -1: ("#2f66c4", "inhibits"), None: ("#7a8290", "sign unknown")}
"""Colour and word of each sign; the colours differ for people who do not see red or green, too."""

FARTHEST = 1000.0
"""Odds ratios beyond this, or 1 over it, are drawn at the edge of the figure."""

MEASURES = {
    "odds_ratio": "odds ratio, with 95 % interval",
    "strength": "strength (nats)",
    "frequency": "frequency of the edge",
}
"""What the place of a cause shows and the name of its axis: the first that the edges have."""

ROW, COLUMN, MARGIN, WIDTH = 0.22, 0.16, 1.3, 7.0
"""Inches of a row, of a column of a matrix, of what is around them, and of a figure with rows."""

DPI = 160
"""Pixels of a PNG per inch."""

NAMELESS = 14.0
"""Inches of a side of a matrix with too many rows or columns to name them."""

Form = Literal["svg", "png"]


@dataclass(frozen=True)
class Figure:
    """The edges into some labels, which are shown in this order; `names` describe event types."""

    edges: pl.DataFrame
    labels: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)

    def draw(self, ax: "Axes | None" = None) -> "Axes":
        """Draw on `ax`, by default on axes of a new figure; `matplotlib.pyplot.show()` opens a window."""
        check_matplotlib()
        axes = self._new_axes() if ax is None else ax
        (self._draw_rows if self._has_rows else self._draw_matrix)(axes)
        return axes

    def write(self, path: Path, form: Form) -> None:
        """Write a file of the figure; the same edges give the same file."""
        check_matplotlib()
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas

        nameless: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None}
        with rc_context({"svg.hashsalt": "eventcargo", "svg.fonttype": "none"}):
            canvas = Canvas(figsize=self._inches, layout="constrained")
            self.draw(canvas.subplots())
            canvas.savefig(path, format=form, dpi=DPI, facecolor="white", metadata=nameless)

    def _new_axes(self) -> "Axes":
        from matplotlib import pyplot

        _, axes = pyplot.subplots(figsize=self._inches, layout="constrained")
        return axes

    @property
    def _has_rows(self) -> bool:
        return len(self._shown) + len(self.labels) <= MAX_ROWS

    @property
    def _shown(self) -> pl.DataFrame:
        return self.edges.filter(pl.col("label").is_in(list(self.labels)))

    @property
    def _inches(self) -> tuple[float, float]:
        if self._has_rows:
            return WIDTH, MARGIN + ROW * (len(self._shown) + len(self.labels))
        return _side(self._shown["event"].n_unique()), _side(len(self.labels))

    def _draw_rows(self, axes: "Axes") -> None:
        """A row per label, in bold, and under it a row per cause, the surest first."""
        rows = self._shown
        measure = next((name for name in MEASURES if rows[name].count()), None)
        ticks: list[str] = []
        for label in self.labels:
            own = rows.filter(label=label)
            ticks.append(_name(label) + ("" if len(own) else ": no cause found"))
            for edge in own.iter_rows(named=True):
                _draw_cause(axes, len(ticks), edge, measure)
                ticks.append(_name(self.names.get(edge["event"], edge["event"])))
        _prepare_scale(axes, measure)
        axes.set_yticks(range(len(ticks)), ticks, parse_math=False, fontsize=9)
        heads = {at for at, is_head in enumerate(self._heads) if is_head}
        for at, tick in enumerate(axes.get_yticklabels()):
            tick.set_fontweight("bold" if at in heads else "normal")
        for head in heads:
            axes.axhline(head - 0.5, color="#7a8290", linewidth=0.5, alpha=0.5, zorder=0)
        axes.set_ylim(max(len(ticks), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        _finish(axes, self._title, rows)

    @property
    def _heads(self) -> list[bool]:
        """Which rows are labels."""
        n_causes = dict(self._shown.group_by("label").len().iter_rows())
        return [at == 0 for label in self.labels for at in range(1 + n_causes.get(label, 0))]

    def _draw_matrix(self, axes: "Axes") -> None:
        """A row per label and a column per event type, those with several labels first."""
        edges, columns = self._shown, self._columns
        row_of = {label: at for at, label in enumerate(self.labels)}
        column_of = {event: at for at, event in enumerate(columns)}
        cell = min(72 * COLUMN, 72 * self._inches[0] / (len(columns) + 1), 72 * self._inches[1] / len(row_of))
        for sign, (color, _) in SIGNS.items():
            own = edges.filter(pl.col("sign").replace(0, None).eq_missing(pl.lit(sign, pl.Int8)))
            x, y = [column_of[event] for event in own["event"]], [row_of[label] for label in own["label"]]
            axes.scatter(x, y, s=max(0.7 * cell, 1.5) ** 2, c=color, marker="s", linewidths=0)
        _name_ticks(axes.xaxis, [self.names.get(event, event) for event in columns], "event types", 90)
        _name_ticks(axes.yaxis, list(self.labels), "labels", 0)
        axes.set_xlim(-1, len(columns))
        axes.set_ylim(len(self.labels), -1)
        if max(len(columns), len(self.labels)) <= MAX_NAMED:
            axes.grid(color="#7a8290", alpha=0.2, linewidth=0.5)
            axes.set_axisbelow(True)
        _finish(axes, self._title, edges)

    @property
    def _columns(self) -> list[str]:
        """The event types: causes of most labels first, then in the order of their labels."""
        row_of = {label: at for at, label in enumerate(self.labels)}
        counts: dict[str, int] = {}
        first: dict[str, int] = {}
        for label, event in self._shown.select("label", "event").iter_rows():
            counts[event] = counts.get(event, 0) + 1
            first[event] = min(first.get(event, len(row_of)), row_of[label])
        return sorted(counts, key=lambda event: (-counts[event], first[event], event))

    @property
    def _title(self) -> str:
        return f"{counted(len(self._shown), 'cause')} of {counted(len(self.labels), 'label')}"


def check_matplotlib() -> None:
    """Refuse a figure where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise ConfigError(
            "a figure needs matplotlib; install it with pip install 'eventcargo[figures]'"
        ) from None
    assert matplotlib


def _side(n: int) -> float:
    """Inches of a side of a matrix."""
    return NAMELESS if n > MAX_NAMED else max(2 * MARGIN + COLUMN * n, WIDTH)


def _draw_cause(axes: "Axes", at: int, edge: Mapping[str, Any], measure: str | None) -> None:
    """A dot at what the edge measures, with its interval if it is an odds ratio."""
    color, _ = SIGNS.get(edge["sign"], SIGNS[None])
    place = 0.0 if measure is None else edge[measure]
    if place is None:
        across = axes.get_yaxis_transform()
        axes.text(0.01, at, "not known", transform=across, color=SIGNS[None][0], fontsize=8, va="center")
        return
    if measure == "odds_ratio":
        place = _within(place)
        if edge["odds_low"] is not None and edge["odds_high"] is not None:
            axes.plot(
                [_within(edge["odds_low"]), _within(edge["odds_high"])],
                [at, at],
                color=color,
                linewidth=1.8,
                alpha=0.55,
            )
    axes.plot([place], [at], "o", color=color, markersize=6)


def _within(ratio: float) -> float:
    return min(max(ratio, 1 / FARTHEST), FARTHEST)


def _prepare_scale(axes: "Axes", measure: str | None) -> None:
    """The horizontal axis of the rows."""
    if measure is None:
        axes.set_xticks([])
        return
    axes.set_xlabel(MEASURES[measure])
    axes.grid(axis="x", color="#7a8290", alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    if measure != "odds_ratio":
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        return
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    low, high = min(low, 0.5), max(high, 2.0)
    axes.set_xlim(low, high)
    ticks = [tick for tick in (0.001, 0.01, 0.1, 0.5, 1, 2, 10, 100, 1000) if low <= tick <= high]
    ends = {1 / FARTHEST: "≤ 0.001", FARTHEST: "≥ 1,000"}
    axes.set_xticks(ticks, [ends.get(tick, f"{tick:g}") for tick in ticks])
    axes.minorticks_off()
    axes.axvline(1, color="#7a8290", linewidth=1)


def _name_ticks(axis: Any, names: list[str], what: str, rotation: int) -> None:
    """Names at the ticks of a matrix; of too many, their number alone."""
    if len(names) > MAX_NAMED:
        axis.set_ticks([])
        axis.set_label_text(f"{len(names):,} {what}")
        return
    axis.set_ticks(range(len(names)), [_name(name) for name in names], parse_math=False, fontsize=8)
    axis.set_tick_params(length=0, rotation=rotation)


def _finish(axes: "Axes", title: str, edges: pl.DataFrame) -> None:
    """Title, legend of the signs that occur, and no frame."""
    from matplotlib.lines import Line2D

    signs = {sign or None for sign in edges["sign"].unique().to_list()}
    dots = [
        Line2D([], [], color=color, marker="o", linestyle="", label=word)
        for sign, (color, word) in SIGNS.items()
        if sign in signs
    ]
    axes.set_title(title, loc="left", fontsize=11)
    if dots:
        outside: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
        axes.legend(handles=dots, ncols=len(dots), frameon=False, fontsize=8, **outside)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _name(name: str) -> str:
    """A name in one line of characters that can be drawn, cut if it is long."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"
