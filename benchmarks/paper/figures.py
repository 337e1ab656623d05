"""The figures of `run.py`: particles, cuts, criteria of fusion, the adaptive threshold, a fused graph."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.paper.tables import PAPER_K, PAPER_N, grouped, mean

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

AVERAGES = {"micro": "tab:green", "macro": "tab:orange", "weighted": "tab:blue"}
MEASURES = {"precision": "tab:red", "recall": "tab:purple", "f1": "tab:blue"}
NAMES = {"oneshot": "one-shot", "boundary": "boundaries"}
STYLES = {"adaptive": "s-", "confident": "o-", "bes": ":"}
"""Lines of single rules of fusion; bes lies upon union."""
TRUE, FALSE, LABEL = "#cfe8cf", "#f2cccc", "#cfdcf2"
"""Colours of event types in the boundary, of others, and of the label."""

Result = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]


def draw(result: Result, folder: Path) -> None:
    """All figures whose parts are there, as paper-NAME.png."""
    makers: dict[str, Callable[[Rows], Figure]] = {
        "particles": draw_particles,
        "cuts": draw_cuts,
        "criteria": draw_criteria,
        "threshold": draw_threshold,
        "picture": draw_picture,
    }
    for name, maker in makers.items():
        if result[name]:
            figure = maker(result[name])
            figure.set_layout_engine("constrained")
            figure.savefig(folder / f"paper-{name}.png", dpi=110)
            pyplot.close(figure)


def draw_particles(rows: Rows) -> Figure:
    """One-shot F1 of every average, and time, against N; bars are one standard deviation over draws."""
    models = list(grouped(rows, "model"))
    figure, axes = pyplot.subplots(1, len(models) + 1, figsize=(13, 4))
    for axis, ((model,), own) in zip(axes[:-1], models, strict=True):
        parts = list(grouped(own, "particles"))
        numbers = [number for (number,), _ in parts]
        for average, colour in AVERAGES.items():
            f1 = np.array([[row["oneshot"][average]["f1"] for row in part] for _, part in parts])
            bars = {"yerr": f1.std(axis=1, ddof=1), "capsize": 3, "marker": "o", "ms": 4}
            axis.errorbar(numbers, f1.mean(axis=1), **bars, color=colour, label=average)
        times = [1000 * float(np.mean([row["seconds_a_sequence"] for row in part])) for _, part in parts]
        axes[-1].plot(numbers, times, "o-", ms=4, label=model)
        axis.set_title(f"model {model}")
        axis.set_xscale("log", base=2)
        axis.set_ylim(0, 1)
        _label(axis, "particles N", "one-shot F1")
    _label(axes[-1], "particles N", "ms a sequence")
    for axis in axes:
        axis.axvline(PAPER_N, color="grey", linestyle=":", label=f"the paper's N = {PAPER_N}")
        axis.legend(fontsize=8, loc="lower right")
    return figure


def draw_cuts(rows: Rows) -> Figure:
    """Precision, recall and F1 against k, of single sequences and of boundaries."""
    models = list(grouped(rows, "model"))
    kinds = (("oneshot", "weighted"), ("oneshot", "macro"), ("boundary", "weighted"))
    size = (12, 3.4 * len(models))
    figure, axes = pyplot.subplots(len(models), 3, figsize=size, sharex=True, sharey=True, squeeze=False)
    for line, ((model,), own) in zip(axes, models, strict=True):
        for axis, (kind, average) in zip(line, kinds, strict=True):
            for measure, colour in MEASURES.items():
                values = [row[kind][average][measure] for row in own]
                axis.plot(
                    [row["z_threshold"] for row in own], values, "o-", color=colour, ms=3, label=measure
                )
            axis.axvline(PAPER_K, color="grey", linestyle=":", label=f"the paper's k = {PAPER_K}")
            axis.set_title(f"model {model}: {NAMES[kind]}, {average}", fontsize=10)
            axis.set_ylim(0, 1.02)
            _label(axis, "k (z_threshold)", "")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    return figure


def draw_criteria(rows: Rows) -> Figure:
    """Precision and F1 of the rules of fusion against m, with votes of the paper's test."""
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), sharex=True, sharey=True)
    for line, average in enumerate(("weighted", "macro")):
        for column, measure in enumerate(("precision", "f1")):
            axis = axes[line][column]
            for number, rule in enumerate(dict.fromkeys(row["rule"] for row in rows)):
                own = [row for row in rows if row["rule"] == rule]
                points = [(m, mean(part, average, measure)) for (m,), part in grouped(own, "m")]
                style = STYLES.get(rule, "--" if " " in rule else "-")
                colour = pyplot.colormaps["tab20"](number)
                axis.plot(*zip(*points, strict=True), style, color=colour, ms=4, linewidth=1.3, label=rule)
            axis.set_xscale("log")
            axis.set_title(f"{average} {measure}")
            _label(axis, "sequences m" if line else "", "")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    return figure


def draw_threshold(rows: Rows) -> Figure:
    """The threshold against support: eq:adaptive_threshold as a curve, the labels' as points."""
    figure, axis = pyplot.subplots(figsize=(7, 4))
    counts, thresholds = rows[0]["support"], rows[0]["threshold"]
    seen = [label for label, count in counts.items() if count]
    support = np.array([counts[label] for label in seen])
    quartiles = np.percentile(support, [25, 50, 75])
    decay = 2 * np.log(3) / np.log(quartiles[2] / quartiles[0])
    m = np.geomspace(support.min() / 2, support.max() * 2, 200)
    curve = 0.45 / (1 + np.exp(decay * np.log(m / quartiles[1]))) + 0.05
    axis.plot(m, curve, color="tab:blue", label="the paper's formula")
    points = [thresholds[label] for label in seen]
    axis.plot(support, points, "o", ms=5, color="tab:orange", label="labels of the fleet", alpha=0.7)
    for number, at in enumerate(quartiles):
        axis.axvline(at, color="grey", linestyle=":", label="" if number else "quartiles of support")
    axis.set_xscale("log")
    axis.set_ylim(0, 0.53)
    _label(axis, "support of the label", "threshold (least frequency)")
    axis.legend(fontsize=8, loc="upper right")
    return figure


def draw_picture(rows: Rows) -> Figure:
    """Graphs of single sequences on the left, the fused graph with frequencies on the right."""
    part, figure = rows[0], pyplot.figure(figsize=(12, 5))
    grid, true = figure.add_gridspec(2, 4), set(part["true"])
    for number, sequence in enumerate(part["sequences"]):
        axis = figure.add_subplot(grid[number // 2, number % 2])
        _star(axis, part["label"], [(event, "", True) for event in sequence["events"]], true)
        axis.set_title(f"sequence {sequence['sequence']}", fontsize=9)
    kept, n = set(part["kept"]), part["support"]
    edges = [(row["event"], f"{row['votes'] / n:.2f}", row["event"] in kept) for row in part["events"]]
    axis = figure.add_subplot(grid[:, 2:])
    _star(axis, part["label"], edges, true)
    axis.set_title(
        f"fused from {n} sequences: frequencies, threshold {part['threshold']:.2f}\n"
        f"solid: kept; dashed: dropped ({part['other_events']} more); green: true",
        fontsize=9,
    )
    return figure


def _star(axis: Any, label: str, edges: Sequence[tuple[str, str, bool]], true: set[str]) -> None:
    """Event types on an arc above their label, with arrows down to it."""
    angles = np.linspace(np.pi, 0, len(edges) + 2)[1:-1]
    for angle, (event, words, kept) in zip(angles, edges, strict=True):
        x, y = 1.4 * np.cos(angle), 0.35 + np.sin(angle)
        style = {"arrowstyle": "->", "linestyle": "-" if kept else "--", "color": "black" if kept else "grey"}
        axis.annotate("", xy=(0.12 * x, 0.12), xytext=(x, y), arrowprops={**style, "shrinkA": 10})
        box = {"boxstyle": "round", "facecolor": TRUE if event in true else FALSE}
        axis.text(x, y, event, ha="center", va="center", fontsize=8, bbox=box)
        middle = {"ha": "center", "va": "center", "fontsize": 8}
        axis.text(0.56 * x, 0.06 + 0.5 * y, words, bbox={"color": "white", "pad": 0.5}, **middle)
    box = {"boxstyle": "round", "facecolor": LABEL}
    axis.text(0, 0, label, ha="center", va="center", fontsize=9, bbox=box)
    axis.set_xlim(-1.8, 1.8)
    axis.set_ylim(-0.25, 1.6)
    axis.axis("off")


def _label(axis: Any, x: str, y: str) -> None:
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(alpha=0.3)
