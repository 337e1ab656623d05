"""The figures that the paper prints, and the tables of `run.py` in Markdown, with these beside ours."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

OURS = ("iamb", "cmb", "mb-by-mb", "pcd-by-pcd", "mi-mcf")
THEIRS = OURS[:4]
"""The methods of Table 1, as we run them, and those that the paper took from pyCausalFS."""

TABLE_1 = {"precision": 0.606, "recall": 0.458, "f1": 0.458, "minutes": 11.7}
"""CARGO of tab:performance_comparison, weighted; 4 T4 GPUs, training not counted."""
TABLE_1_LIMIT = "more than 4,320 min"
"""What the same table says of all other methods."""
NADE = {
    ("1.5B tokens, 105 M", 4): (0.4795, 0.3065, 0.3739, 0.886),
    ("1.5B tokens, 105 M", 12): (0.5462, 0.2988, 0.3863, 0.9043),
    ("1.5B tokens, 105 M", 15): (0.5526, 0.3137, 0.4002, 0.9057),
    ("1.5B tokens, 105 M", 20): (0.4952, 0.3176, 0.3654, 0.9119),
    ("1.5B tokens, 105 M", 30): (0.3665, 0.2275, 0.2657, 0.9264),
    ("300M tokens, 47 M", 20): (0.3949, 0.2630, 0.2901, 0.836),
}
"""tab:ablation_nades_comparison, n = 50,000: one-shot precision, recall, F1, and F1 of the label model."""
PAPER_N, PAPER_K = 68, 2.75
"""Chosen in sec:samplingnumber and sec:dynamic_threshold; their figures are not in the text."""
CRITERIA = {
    "union": "weighted recall 0.84",
    "adaptive": "weighted P 0.628, F1 0.449; macro P 0.661, F1 0.409; first in both",
    "static 0.05": "with 0.25: weighted P 0.40 above, macro P 0.20 below the higher thresholds",
    "static 0.5": "with 0.8 the lowest weighted F1",
}
"""The figures in the text beside fig:ablation_comparaison_criterions."""

Result = Mapping[str, Any]


def tables(result: Result) -> Iterator[tuple[str, Iterator[str]]]:
    """The lines of each table, by name."""
    makers = (table_1, nades, printed_nades, particles, cuts, criteria, threshold)
    yield from ((maker.__name__, maker(result)) for maker in makers)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(row)} |" for row in rows)


def three(part: Mapping[str, float]) -> str:
    return f"{part['precision']:.3f} / {part['recall']:.3f} / {part['f1']:.3f}"


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def table_1(result: Result) -> Iterator[str]:
    head = (
        "method",
        "weighted P / R / F1",
        "macro P / R / F1",
        "processor time",
        "the paper: weighted P / R / F1, time",
    )
    said = f"{three(TABLE_1)}, {TABLE_1['minutes']} min"
    rows: list[tuple[str, ...]] = []
    for row in result["cargo"]:
        if "verified" in row:
            rows.append(("CARGO, preset `paper`", *both(row), duration(row["seconds"]), said))
            rows.append(("the same, verified on the data", *both(row["verified"]), "", ""))
        else:
            rows.append(("CARGO, default", *both(row), duration(row["seconds"]), ""))
    for row in result["baseline"]:
        rows.append((row["method"], *both(row), duration(row["seconds"]), f"-, {TABLE_1_LIMIT}"))
    rows += [their_row(row) for row in result["pycausalfs"]]
    yield from markdown(head, rows)


def both(row: Mapping[str, Any]) -> tuple[str, str]:
    return three(row["weighted"]), three(row["macro"])


def their_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = f"{row['method']}, pyCausalFS"
    if row.get("absent"):
        return (name, "-", "-", "not installed", "")
    if "weighted" in row:
        return (name, *both(row), duration(row["seconds"]), f"-, {TABLE_1_LIMIT}")
    told = f"not finished: {row['labels_done']} of {row['labels']} labels in {duration(row['seconds'])}"
    return (name, "-", "-", told, f"-, {TABLE_1_LIMIT}")


def nades(result: Result) -> Iterator[str]:
    head = ("model", "events trained on", "c", "one-shot P / R / F1", "boundary P / R / F1", "F1 from c on")
    rows = []
    for part in result["nade"]:
        known = part["label_f1"]["f1_weighted"]
        model = f"{part['model']}, {part['parameters'] / 1e6:.2f} M, label F1 {known:.3f}"
        for row in part["rows"]:
            shot = f"{three(row['oneshot']['weighted'])} ± {row['oneshot_sd']:.3f}"
            boundary = three(row["boundary"]["weighted"])
            events = f"{part['events'] / 1e6:.1f} M"
            rows.append((model, events, str(row["context"]), shot, boundary, f"{row['early_f1']:.3f}"))
    yield from markdown(head, rows)


def printed_nades(_: Result) -> Iterator[str]:
    printed = [
        (name, str(context), " / ".join(f"{figure:.3f}" for figure in row[:3]), f"{row[3]:.3f}")
        for (name, context), row in NADE.items()
    ]
    yield from markdown(("the paper's model", "c", "one-shot P / R / F1", "label F1"), printed)


def particles(result: Result) -> Iterator[str]:
    head = (
        "model",
        "N",
        "one-shot weighted F1",
        "one-shot macro F1",
        "boundary weighted F1",
        "ms a sequence",
    )
    rows = []
    for (model, number), part in grouped(result["particles"], "model", "particles"):
        figures = [
            mean_and_sd([row[kind][average]["f1"] for row in part])
            for kind, average in (("oneshot", "weighted"), ("oneshot", "macro"), ("boundary", "weighted"))
        ]
        time = np.mean([row["seconds_a_sequence"] for row in part])
        rows.append((model, f"{number}", *figures, f"{1000 * time:.1f}"))
    yield from markdown(head, rows)


def grouped(rows: Sequence[Mapping[str, Any]], *keys: str) -> Iterator[tuple[Any, list[Mapping[str, Any]]]]:
    """Rows of the same values of some columns, the smallest first."""
    for values in sorted({tuple(row[key] for key in keys) for row in rows}):
        yield values, [row for row in rows if tuple(row[key] for key in keys) == values]


def mean_and_sd(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def cuts(result: Result) -> Iterator[str]:
    head = ("model", "k", "one-shot weighted P / R / F1", "one-shot macro F1", "boundary weighted P / R / F1")
    rows = [
        (
            row["model"],
            f"{row['z_threshold']:g}",
            three(row["oneshot"]["weighted"]),
            f"{row['oneshot']['macro']['f1']:.3f}",
            three(row["boundary"]["weighted"]),
        )
        for row in result["cuts"]
        if row["z_threshold"] in (0.5, 1, 1.5, 2, 2.5, PAPER_K, 3, 3.5, 4, 5)
    ]
    yield from markdown(head, rows)


def criteria(result: Result) -> Iterator[str]:
    rows = result["criteria"]
    if not rows:
        yield "benchmarks/accuracy/criteria.py has not been run."
        return
    most = max(row["m"] for row in rows)
    last = [row for row in rows if row["m"] == most]
    yield f"m = {most:,}, means of {len({row['seed'] for row in last})} seeds:"
    yield ""
    lines = []
    for rule in dict.fromkeys(row["rule"] for row in last):
        part = [row for row in last if row["rule"] == rule]
        averages = [{name: mean(part, average, name) for name in TABLE_1 if name != "minutes"}
                    for average in ("weighted", "macro")]  # fmt: skip
        lines.append((rule, *map(three, averages), CRITERIA.get(rule, "")))
    yield from markdown(("rule", "weighted P / R / F1", "macro P / R / F1", "the paper"), lines)


def mean(rows: Sequence[Mapping[str, Any]], average: str, part: str) -> float:
    return float(np.mean([row[average][part] for row in rows]))


def threshold(result: Result) -> Iterator[str]:
    if not result["threshold"]:
        return
    part = result["threshold"][0]
    support, found = (np.array(list(part[name].values())) for name in ("support", "threshold"))
    rows = []
    for name, share in {
        "rarest": 0,
        "lower quartile": 25,
        "median": 50,
        "upper quartile": 75,
        "most": 100,
    }.items():
        at = np.percentile(support, share)
        near = int(np.argmin(np.abs(np.log(support.clip(1)) - np.log(max(at, 1)))))
        rows.append((name, f"{at:,.0f}", f"{found[near]:.3f}"))
    yield from markdown(("label", "support", "threshold of the nearest label"), rows)
