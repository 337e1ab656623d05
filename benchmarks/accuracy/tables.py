"""The units of `run.py` as tables in Markdown and as a figure."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]

OURS = ("default", "fast", "paper")
SHOWN = ("default", "iamb", "l1-logistic", "mutual-information", "paper")
"""Methods of the figure."""

MARKS = {
    "default": "o",
    "fast": "v",
    "paper": "s",
    "iamb": "D",
    "l1-logistic": "^",
    "mutual-information": "x",
}

TOLD = (
    "data",
    "preset",
    "macro P / R / F1",
    "weighted F1",
    "lowest seed",
    "labels with a wrong event",
    "one-shot F1",
    "not trusted",
    "seconds",
    "GB",
)
"""Columns of the table of our presets."""


def tables(summary: Sequence[Line], rows: Sequence[Line]) -> dict[str, str]:
    """All tables in Markdown, by name."""
    methods = _ordered({line["method"] for line in summary})
    cases = list(dict.fromkeys(row["case"] for row in rows))
    made = {average: _wide(summary, cases, methods, average) for average in ("macro", "weighted", "micro")}
    made |= {"ours": _ours(summary, rows, cases), "rules": _rules(rows, cases)}
    for case in (case for case in cases if case.startswith("fleet")):
        made[f"quartiles-{case}"] = _quartiles(summary, case, methods)
    return {name: "\n".join(lines) for name, lines in made.items()}


def weak_tables(summary: Sequence[Line]) -> dict[str, str]:
    """The tables of the weak cases: F1, false edges, and edges by verdict."""
    methods = _ordered({line["method"] for line in summary})
    cases = list(dict.fromkeys(line["case"] for line in summary))
    known = {(line["case"], line["method"]): line for line in summary}
    made = {f"weak {average}": _best(known, cases, methods, average) for average in ("macro", "weighted")}
    made["weak false"] = _false(known, cases, methods)
    made["weak verdicts"] = _verdicts(known, cases)
    return {name: "\n".join(lines) for name, lines in made.items()}


def _best(
    known: Mapping[tuple[str, str], Line], cases: list[str], methods: list[str], average: str
) -> Iterator[str]:
    """F1 and its standard error, one line for each method, the best of each case in bold."""
    yield from _head(["method", *cases])
    figures = {key: line[average] for key, line in known.items() if line[average]["f1"] is not None}
    best = {
        case: max((f"{f1['f1']:.3f}" for (at, _), f1 in figures.items() if at == case), default="")
        for case in cases
    }
    for method in methods:
        yield _row([method, *(_with_error(figures.get((case, method)), best[case]) for case in cases)])


def _with_error(figures: Line | None, best: str) -> str:
    if figures is None:
        return ""
    f1, error = f"{figures['f1']:.3f}", figures["f1_error"]
    return (f"**{f1}**" if f1 == best else f1) + ("" if error is None else f" ({error:.3f})")


def _false(known: Mapping[tuple[str, str], Line], cases: list[str], methods: list[str]) -> Iterator[str]:
    """The share of false edges among all that were found, over all seeds."""
    yield from _head(["method", *cases])
    for method in methods:
        rates = [known.get((case, method), {}).get("false_discovery_rate") for case in cases]
        yield _row([method, *("" if rate is None else f"{rate:.3f}" for rate in rates)])


def _verdicts(known: Mapping[tuple[str, str], Line], cases: list[str]) -> Iterator[str]:
    """False edges of all edges by verdict of the default preset, over all seeds."""
    counts = [known.get((case, "default"), {}).get("edges_by_verdict", {}) for case in cases]
    yield from _head(["verdict", *cases])
    for level in sorted({level for by_level in counts for level in by_level}):
        found = [by_level.get(level) for by_level in counts]
        yield _row([level, *("" if at is None else f"{at[1] - at[0]} of {at[1]}" for at in found)])


def _ordered(methods: set[str]) -> list[str]:
    return [name for name in OURS if name in methods] + sorted(methods - set(OURS))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _row(cells)
    yield f"|{'---|' * len(cells)}"


def _wide(summary: Sequence[Line], cases: list[str], methods: list[str], average: str) -> Iterator[str]:
    """One line for each method, one column for each case."""
    known = {(line["case"], line["method"]): line for line in summary}
    yield from _head(["method", *cases])
    for method in methods:
        cells = [_f1(known.get((case, method)), average) for case in cases]
        if any(cells):
            yield _row([method, *cells])


def _f1(line: Line | None, average: str) -> str:
    if line is None or line[average]["f1"] is None:
        return ""
    seeds = len(line["seeds"])
    return f"{line[average]['f1']:.3f}" + ("" if seeds == 5 else f" ({seeds})")


def _ours(summary: Sequence[Line], rows: Sequence[Line], cases: list[str]) -> Iterator[str]:
    """What the presets tell besides F1."""
    yield from _head(TOLD)
    order = {case: number for number, case in enumerate(cases)}
    ours = [line for line in summary if line["method"] in OURS]
    for line in sorted(ours, key=lambda line: (order[line["case"]], OURS.index(line["method"]))):
        part = [row for row in rows if (row["case"], row["method"]) == (line["case"], line["method"])]
        levels = [level for row in part for level in row["verdicts"].values()]
        one = line["oneshot_f1"]
        yield _row(
            [
                line["case"],
                line["method"],
                "{precision:.3f} / {recall:.3f} / {f1:.3f}".format(**line["macro"]),
                "" if line["weighted"]["f1"] is None else f"{line['weighted']['f1']:.3f}",
                f"{line['macro_f1_range'][0]:.3f}",
                f"{line['labels_with_a_wrong_event']:.2f}",
                "" if one is None else f"{one:.3f}",
                f"{sum(level != 'trust' for level in levels)} of {len(levels)}",
                f"{line['seconds']:.0f}",
                f"{line['gigabytes']:.1f}",
            ]
        )


def _rules(rows: Sequence[Line], cases: list[str]) -> Iterator[str]:
    """One line for each rule, one column for each case: means over seeds."""
    told = [row for row in rows if row["method"] == "default" and "fused" in row]
    shown = [case for case in cases if any(row["case"] == case for row in told)]
    yield from _head(["rule", *shown])
    for rule in told[0]["fused"] if told else ():
        yield _row([rule, *(f"{_mean(told, case, rule):.3f}" for case in shown)])
    if told:
        verified = [_mean(told, case, None) for case in shown]
        yield _row(["pooled, verified (default)", *(f"{value:.3f}" for value in verified)])


def _mean(told: Sequence[Line], case: str, rule: str | None) -> float:
    part = [row for row in told if row["case"] == case]
    f1 = [row["macro"]["f1"] if rule is None else row["fused"][rule] for row in part]
    return sum(f1) / len(f1)


def _quartiles(summary: Sequence[Line], case: str, methods: list[str]) -> Iterator[str]:
    known = {line["method"]: line["quartiles"] for line in summary if line["case"] == case}
    yield from _head(["method", "1", "2", "3", "4"])
    for method in methods:
        if known.get(method):
            yield _row([method, *(f"{part['recall']:.3f} / {part['f1']:.3f}" for part in known[method])])


def draw(summary: Sequence[Line], path: Path) -> None:
    """Macro F1 of a few methods on every data set, the lowest and the highest seed as a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    cases = list(dict.fromkeys(line["case"] for line in summary))
    figure, axis = pyplot.subplots(figsize=(9, 0.5 * len(cases) + 1.5))
    for number, method in enumerate(SHOWN):
        found = [line for line in summary if line["method"] == method]
        heights = [cases.index(line["case"]) + 0.13 * (number - 2) for line in found]
        dots = axis.plot(
            [line["macro"]["f1"] for line in found], heights, MARKS[method], label=method, markersize=5
        )
        for line, height in zip(found, heights, strict=True):
            axis.plot(line["macro_f1_range"], [height] * 2, color=dots[0].get_color(), linewidth=1)
    axis.set_yticks(range(len(cases)), cases)
    axis.invert_yaxis()
    axis.set_xlabel("F1 of the boundaries, mean over labels and seeds")
    axis.grid(alpha=0.3)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.07), ncol=len(SHOWN), fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
