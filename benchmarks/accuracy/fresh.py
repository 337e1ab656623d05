"""Whole runs of `discover` on data with known rules, judged by boundaries and on fresh sequences.

What `unnamed.py` and `arrangements.py` share. The F1 of labels is that of sequences which the run has not
seen, macro mean over labels: of the label model (probability of at least one half), of the rules found, and
of the true rules, which noise keeps below 1. A rule is equal to the true one if it holds in the same
sequences of the run; rules on presence alone if they hold for the same sets of event types. Each run is a
process of its own and leaves a JSON file, so that a script goes on where it was stopped.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo import EventDataset, LabelGraph, evaluate
from eventcargo.discovery import DiscoverConfig, Discovery, RunResults
from eventcargo.errors import EventCargoWarning
from eventcargo.models.density import label_probabilities
from eventcargo.rules import Rule

from benchmarks.accuracy.rules import f1, is_equal, true_rule
from benchmarks.record import PARTS, peak_gigabytes, provenance, save, show

Labels = NDArray[np.bool_]

VARIANTS: Mapping[str, Mapping[str, Any]] = {"default": {}, "no focus": {"focused": False}}
"""Settings of `DiscoverConfig` that are compared; `no focus` has no focused networks."""

FIGURES = ("boundary_f1", "model_f1", "rule_f1", "true_f1", "equal")
"""Means over the labels of a case."""


@dataclass(frozen=True)
class KnownCase:
    """Sequences of a run and fresh ones of the same process; `true_*`: where the true rules hold."""

    data: EventDataset
    fresh: EventDataset
    truth: LabelGraph
    rules: Mapping[str, str]
    true_data: Labels  # (sequences, labels)
    true_fresh: Labels

    @classmethod
    def cut(
        cls, data: EventDataset, truth: LabelGraph, rules: Mapping[str, str], true: Labels
    ) -> "KnownCase":
        """The first two thirds of the sequences for the run, the others fresh."""
        n = len(data) * 2 // 3
        return cls(data[:n], data[n:], truth, rules, true[:n], true[n:])


Load = Callable[[str, int], KnownCase]


def run_script(name: str, description: str | None, cases: Sequence[str], load: Load) -> None:
    """The command line of a script `benchmarks.accuracy.NAME`: all cases, or one in this process."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--cases", nargs="+", default=[*cases], choices=cases)
    parser.add_argument("--variants", nargs="+", default=[*VARIANTS], choices=VARIANTS)
    parser.add_argument("--max-time", default="15m", help="of a run")
    parser.add_argument("--unit", nargs=3, default=None, help="case, variant and seed, in this process")
    parser.add_argument("--parts", type=Path, default=PARTS / name)
    parser.add_argument("--docs", type=Path, default=None, help="text whose tables are made anew")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.unit:
        case, variant, seed = options.unit
        print(json.dumps(run_unit(load, case, variant, int(seed), options.max_time)))
        return
    units = [
        (case, variant, seed)
        for seed in options.seeds
        for case in options.cases
        for variant in options.variants
    ]
    rows = [row for unit in units if (row := _row(name, unit, options))]
    kinds = labels_by_kind(rows)
    show({name: table(rows)} | ({f"{name} kinds": kinds_table(kinds)} if kinds else {}), options.docs)
    result = {**provenance(options.seeds), "max_time": options.max_time, "rows": rows}
    print(f"written to {save(name, result, options.out)}")


Unit = tuple[str, str, int]


def _row(name: str, unit: Unit, options: argparse.Namespace) -> dict[str, Any] | None:
    """The row of a unit: as it was left, or of a process of its own; None if that failed."""
    part = options.parts / "{}_{}_{}.json".format(*unit)
    if not part.exists():
        command = [sys.executable, "-m", f"benchmarks.accuracy.{name}", "--max-time", options.max_time]
        command += ["--unit", *map(str, unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{unit} failed with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
            return None
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(done.stdout.splitlines()[-1])
    row = json.loads(part.read_text())
    print(describe(row), flush=True)
    return row


def run_unit(load: Load, name: str, variant: str, seed: int, max_time: str) -> dict[str, Any]:
    """One whole run and its figures."""
    case = load(name, seed)
    config = DiscoverConfig(seed=seed, max_time=max_time, **VARIANTS[variant])
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)
        began = time.perf_counter()
        run = Discovery(case.data, Path(home) / "run", config)
        results = run.run()
        seconds = time.perf_counter() - began
        labels = label_figures(case, results)
    return {
        "case": name,
        "variant": variant,
        "seed": seed,
        "commit": provenance(seed)["commit"],
        "sequences": len(case.data),
        **{key: float(np.mean([label[key] for label in labels])) for key in FIGURES},
        "macro": vars(evaluate(results.graph, case.truth).macro),
        "seconds": round(seconds, 1),
        "gigabytes": round(peak_gigabytes(), 2),
        "stages": run.manifest.seconds,
        "labels": labels,
    }


def label_figures(case: KnownCase, results: RunResults) -> list[dict[str, Any]]:
    """What was found of each label, beside the truth."""
    carried = case.fresh.label_matrix().toarray() > 0
    predicted = predictions(results, case.fresh)
    boundaries = evaluate(results.graph, case.truth).per_label
    of = dict(zip(boundaries["label"], boundaries["f1"], strict=True))
    rows = []
    for at, label in enumerate(case.fresh.label_names):
        rule, verdict = results.rules.get(label), results.verdicts.get(label)
        rows.append(
            {
                "label": label,
                "true_rule": case.rules[label],
                "rule": None if rule is None else rule.text,
                "verdict": None if verdict is None else verdict.level,
                "boundary_f1": of[label],
                "model_f1": f1(predicted[:, at], carried[:, at]),
                "rule_f1": 0.0 if rule is None else f1(rule.holds(case.fresh), carried[:, at]),
                "true_f1": f1(case.true_fresh[:, at], carried[:, at]),
                "equal": float(rule is not None and equals(rule, case, at)),
            }
        )
    return rows


def predictions(results: RunResults, fresh: EventDataset) -> Labels:
    """The labels that the model gives fresh sequences; none without a model."""
    if results.model is None:
        return np.zeros((len(fresh), len(fresh.label_names)), bool)
    return label_probabilities(results.model, fresh) >= 0.5


def equals(rule: Rule, case: KnownCase, at: int) -> bool:
    """Whether a rule is the true one; a text that no literal says is compared by where its rule holds."""
    try:
        true = true_rule(rule.label, case.rules[rule.label])
    except ValueError:
        return bool((rule.holds(case.data) == case.true_data[:, at]).all())
    return is_equal(rule, true, case.data)


def describe(row: Mapping[str, Any]) -> str:
    """One line for people."""
    figures = "  ".join(f"{key} {row[key]:.3f}" for key in FIGURES)
    return f"{row['case']:20} {row['variant']:10} seed {row['seed']}  {figures}  {row['seconds']:.0f} s"


HEAD = "boundary macro F1 | label F1: model | rules found | true rules | equal rules"


def table(rows: list[dict[str, Any]]) -> str:
    """Means over seeds, one line for each case and variant."""
    lines = [f"| case | run | {HEAD} | seconds |", "|" + "---|" * 8]
    for case, variant in dict.fromkeys((row["case"], row["variant"]) for row in rows):
        part = [row for row in rows if (row["case"], row["variant"]) == (case, variant)]
        seconds = np.mean([row["seconds"] for row in part])
        lines.append(f"| {case} | {variant} | {_cells(part)} | {seconds:.0f} |")
    return "\n".join(lines)


def labels_by_kind(rows: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The labels of cases with several kinds of rules, by kind and variant."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        kinds = [kind_of(label["true_rule"]) for label in row["labels"]]
        if len(set(kinds)) > 1:
            for kind, label in zip(kinds, row["labels"], strict=True):
                groups.setdefault((kind, row["variant"]), []).append(label)
    return groups


def kinds_table(groups: Mapping[tuple[str, str], list[dict[str, Any]]]) -> str:
    """Means over the labels of each kind and variant."""
    lines = [f"| kind of rule | run | labels | {HEAD} |", "|" + "---|" * 8]
    for (kind, variant), labels in sorted(groups.items()):
        lines.append(f"| {kind} | {variant} | {len(labels)} | {_cells(labels)} |")
    return "\n".join(lines)


def _cells(part: Sequence[Mapping[str, Any]]) -> str:
    return " | ".join(f"{np.mean([row[key] for row in part]):.3f}" for key in FIGURES)


def kind_of(text: str) -> str:
    """A rule's text without names and numbers.

    >>> kind_of("E00012 at most 4 events after E00003"), kind_of("(E1 & !E2) | E3")
    ('A at most K events after B', 'presence')
    """
    letters = iter("ABCDE")
    plain = re.sub(r"E\d+", lambda _: next(letters), text)
    if re.fullmatch(r"[A-E!&|() ]+", plain):
        return "presence"
    return re.sub(r"\b\d+(\.\d+)?\b", "K", plain)
