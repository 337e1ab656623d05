"""Every method on every regime and on two real data sets: boundaries, single sequences, time and memory.

Each unit (case, method, seed) leaves a JSON file, so that the script goes on where it was stopped; at the end
all units become JSON, tables and a figure. A run of ours has a process of its own, and so has a rival; the
baselines of one data set share one, so that their memory is that of all so far. Settings were chosen on seeds
from 100 on; seeds 0 to 4 are for the test. `--cases weak` is a second group, with weak or disguised effects,
and has tables and a file of its own.
Run: `.venv/bin/python -m benchmarks.accuracy.run [--data FOLDER] [--seeds ...] [--cases ...] [--methods ...]
[--figure docs/accuracy.png --docs docs/results.md]`
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eventcargo import EventDataset, LabelGraph, evaluate, find_boundaries, read_events, read_graph
from eventcargo.baselines import METHODS
from eventcargo.discovery import DiscoverConfig, Discovery
from eventcargo.edges import EdgeTable
from eventcargo.errors import EventCargoWarning
from eventcargo.evaluation import Scores, count_support, evaluate_oneshot, predict_all
from eventcargo.fusion import FuseConfig, fuse_run
from eventcargo.simulation import simulate

from benchmarks.accuracy.criteria import RULES
from benchmarks.accuracy.tables import draw, tables, weak_tables
from benchmarks.record import PARTS, peak_gigabytes, provenance, save, show
from benchmarks.rivals import RIVALS

Case = tuple[str, Mapping[str, Any]]
"""A regime and its settings."""

SIMULATED: Mapping[str, Case] = {
    "fleet": ("fleet", {}),
    "fleet-29100": ("fleet", {"event_types": 29_100}),
    "ordered": ("ordered", {}),
    "follows": ("follows", {}),
    "repeat": ("repeat", {}),
    "timing": ("timing", {}),
    "recency": ("recency", {}),
    "chain": ("chain", {}),
    "confounded": ("confounded", {}),
    "short": ("short", {}),
}
PAPER_SIZE: Mapping[str, Case] = {
    "fleet-paper": ("fleet", {"event_types": 29_100, "labels": 474, "sequences": 50_000})
}
"""Run only when it is asked for (`--cases fleet-paper --max-time 2h`)."""

WEAK: Mapping[str, Case] = {
    "noisy_or": ("noisy_or", {}),
    "noisy_or-800": ("noisy_or", {"sequences": 800}),
    "log_odds": ("log_odds", {}),
    "family": ("family", {}),
    "scarce-300": ("scarce", {"sequences": 300}),
    "scarce-1000": ("scarce", {"sequences": 1000}),
    "scarce-3000": ("scarce", {"sequences": 3000}),
    "noisy-5": ("noisy", {"label_noise": 0.05}),
    "noisy-15": ("noisy", {"label_noise": 0.15}),
    "noisy-30": ("noisy", {"label_noise": 0.30}),
    "twins-70": ("twins", {"companion_chance": 0.70}),
    "twins-90": ("twins", {"companion_chance": 0.90}),
    "twins-97": ("twins", {"companion_chance": 0.97}),
}
"""Effects that are weak, scattered, rare, blurred or shared with a companion; `--cases weak`: all of them."""

REAL = ("azure_pdm", "causrca")
UNREACHABLE = ("Prog_A_701330", "SR_A_67040")
"""Alarms of causrca whose parent is not among the events."""

OURS = {
    "default": DiscoverConfig(),
    "fast": DiscoverConfig(preset="fast"),
    "paper": DiscoverConfig(preset="paper", size="small"),
}
"""Our presets; that of the paper with a Transformer that can be trained without a GPU."""

STANDARD_METHODS = (*OURS, *METHODS, "predict-all")
WEAK_METHODS = ("default", "fast", *METHODS, *RIVALS)

WORDS = ("reasons", "rules")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="folder of the real data sets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--cases", nargs="+", default=[*SIMULATED, *REAL], help="`weak`: all weak ones")
    parser.add_argument("--methods", nargs="+", default=None, help="presets, baselines, rivals")
    parser.add_argument("--max-time", default="15m", help="of a run of ours")
    parser.add_argument("--rival-seconds", type=float, default=3600.0, help="after which a rival is stopped")
    parser.add_argument(
        "--unit", nargs=3, default=None, help="case, methods (a,b,c) and seed, in this process"
    )
    parser.add_argument("--join", action="store_true", help="only join the units that have been run")
    parser.add_argument("--parts", type=Path, default=PARTS / "accuracy")
    parser.add_argument("--figure", type=Path, default=None)
    parser.add_argument("--docs", type=Path, default=None, help="text whose tables are made anew")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.cases == ["weak"]:
        options.cases = [*WEAK]
    is_weak = any(case in WEAK for case in options.cases)
    if is_weak and not all(case in WEAK for case in options.cases):
        parser.error(f"--cases {' '.join(options.cases)}: weak cases and others have files of their own")
    options.methods = options.methods or (WEAK_METHODS if is_weak else STANDARD_METHODS)
    if options.unit:
        case, methods, seed = options.unit
        for method in methods.split(","):
            print(json.dumps(run_unit(case, method, int(seed), options.max_time, options.data)), flush=True)
        return
    units = _units(options)
    for group in [] if options.join else _groups([unit for unit in units if not _is_done(unit, options)]):
        _run(group, options)
    done = [unit for unit in units if _is_done(unit, options)]
    rows = [shortened(json.loads(_part(unit, options.parts).read_text())) for unit in done]
    rows.sort(key=lambda row: options.cases.index(row["case"]))
    summary = summarise(rows)
    made = weak_tables(summary) if is_weak else tables(summary, rows)
    show(made, options.docs)
    if options.figure is not None:
        draw(summary, options.figure)
    result = {**provenance(options.seeds), "max_time": options.max_time, "summary": summary, "rows": rows}
    print(f"written to {save('weak' if is_weak else 'accuracy', result, options.out)}")


Unit = tuple[str, str, int]


def _units(options: argparse.Namespace) -> list[Unit]:
    """All units, ours first, a seed at a time, so that early figures are of all cases."""
    simulated, methods = [case for case in options.cases if case not in REAL], options.methods
    units = [(case, method, seed) for seed in options.seeds for case in simulated for method in methods]
    real = [case for case in options.cases if case in REAL and options.data is not None]
    units += [(case, method, 0) for case in real for method in methods]
    return sorted(units, key=lambda unit: unit[1] not in OURS)


def _part(unit: Unit, folder: Path) -> Path:
    return folder / "{}_{}_{}.json".format(*unit)


def _is_done(unit: Unit, options: argparse.Namespace) -> bool:
    return _part(unit, options.parts).exists()


def _groups(units: list[Unit]) -> list[list[Unit]]:
    """Units that run in one process: one of ours, one of a rival, or the baselines of one data set."""
    found: dict[tuple[str, ...], list[Unit]] = {}
    for case, method, seed in units:
        alone = method if method in OURS or method in RIVALS else ""
        found.setdefault((case, alone, str(seed)), []).append((case, method, seed))
    return list(found.values())


def _run(group: list[Unit], options: argparse.Namespace) -> None:
    """Run units and leave a file of each that ended well."""
    (case, _, seed), methods = group[0], ",".join(method for _, method, _ in group)
    command = [sys.executable, "-m", "benchmarks.accuracy.run", "--max-time", options.max_time]
    command += ["--unit", case, methods, str(seed)]
    if options.data is not None:
        command += ["--data", str(options.data)]
    limit = options.rival_seconds if methods in RIVALS else None
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"{case} {methods} {seed} stopped after {limit:.0f} seconds", flush=True)
        return
    options.parts.mkdir(parents=True, exist_ok=True)
    for line in done.stdout.splitlines():
        row = json.loads(line)
        _part((row["case"], row["method"], row["seed"]), options.parts).write_text(line)
        print(describe(row), flush=True)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:]
        print(f"{case} {methods} {seed} failed with {done.returncode}: {why}", flush=True)


def run_unit(case: str, method: str, seed: int, max_time: str, folder: Path | None) -> dict[str, Any]:
    """One method on one data set."""
    data, truth, comparison = load(case, seed, folder)
    began = time.perf_counter()
    extra: dict[str, Any] = {}
    if method in OURS:
        graph, extra = discover(data, truth, method, seed, max_time, comparison)
    elif method == "predict-all":
        scores = predict_all(data, truth, event_of=comparison.get("event_of"))
        return _unit(case, method, seed, scores, data, time.perf_counter() - began, {})
    elif method in RIVALS:
        graph = RIVALS[method](data, seed)
    else:
        graph = find_boundaries(data, method)
    seconds = time.perf_counter() - began
    scores = evaluate(graph, truth, **comparison)
    extra["first_is_true"] = first_is_true(graph, truth, comparison)
    if "verdicts" in extra:
        extra["edges_by_verdict"] = edges_by_verdict(scores, extra["verdicts"])
    if case in REAL:
        extra["boundaries"] = graph.boundaries
        promoting = LabelGraph.from_edges(graph.edges.filter(graph.edges["sign"] > 0), graph.support)
        extra["promoting"] = _plain(evaluate(promoting, truth, **comparison), "macro")
    return _unit(case, method, seed, scores, data, seconds, extra)


@cache
def load(case: str, seed: int, folder: Path | None) -> tuple[EventDataset, LabelGraph, dict[str, Any]]:
    """Data, truth, and how the two are compared."""
    if case not in REAL:
        regime, settings = {**SIMULATED, **PAPER_SIZE, **WEAK}[case]
        made = simulate(regime, seed=seed, **settings)
        return made.data, made.truth, {}
    assert folder is not None
    data = read_events(folder / case / "events.csv.gz", folder / case / "labels.csv.gz")
    truth = count_support(read_graph(folder / case / "truth.csv"), data)
    labels = [label for label in truth.labels if label not in UNREACHABLE]
    return data, truth, {"labels": labels, "event_of": node}


def node(event: str) -> str:
    """The node of an event `node=value`."""
    return event.split("=")[0]


def discover(
    data: EventDataset,
    truth: LabelGraph,
    method: str,
    seed: int,
    max_time: str,
    comparison: Mapping[str, Any],
) -> tuple[LabelGraph, dict[str, Any]]:
    """A whole run of ours, and what it says besides the graph."""
    config = _changed(OURS[method], seed=seed, max_time=max_time)
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)
        run = Discovery(data, Path(home) / "run", config)
        found = run.run()
        edges = EdgeTable.read(found.edges).edges.filter(polarity="present")
        oneshot = evaluate_oneshot(edges, data, truth, event_of=comparison.get("event_of"))
        levels = {label: verdict.level for label, verdict in found.verdicts.items()}
        reasons = {label: list(verdict.reasons) for label, verdict in found.verdicts.items()}
        rules = {label: None if rule is None else rule.text for label, rule in found.rules.items()}
        extra = {
            "oneshot": {name: _plain(oneshot, name) for name in ("micro", "macro", "weighted")},
            "label_model": None if found.quality is None else dict(found.quality.overall),
            "stages": run.manifest.seconds,
            "fused": fused(run.folder, truth, comparison),
            "verdicts": levels,
            "reasons": reasons,
            "rules": rules,
        }
        return found.graph, extra


def fused(folder: Path, truth: LabelGraph, comparison: Mapping[str, Any]) -> dict[str, float]:
    """Macro F1 of the same votes by each of the paper's rules, and by ours without the test on the data."""
    graphs = {name: fuse_run(folder, FuseConfig(**rule)) for name, rule in RULES.items()}
    return {name: evaluate(graph, truth, **comparison).macro.f1 for name, graph in graphs.items()}


def _changed(config: DiscoverConfig, **changes: Any) -> DiscoverConfig:
    return DiscoverConfig(**{**config.__dict__, **changes})


def first_is_true(graph: LabelGraph, truth: LabelGraph, comparison: Mapping[str, Any]) -> int:
    """For how many labels the strongest event of the boundary is a true one."""
    event_of: Callable[[str], str] = comparison.get("event_of") or str
    labels = comparison.get("labels") or truth.labels
    true = {label: {event_of(event) for event in truth.boundary(label)} for label in labels}
    found = {label: graph.boundaries.get(label, []) for label in labels}
    return sum(bool(found[label]) and event_of(found[label][0]) in true[label] for label in labels)


def edges(labels: pl.DataFrame) -> list[int]:
    """How many of the edges found for some labels are true, and how many there are."""
    return [int(labels["n_hit"].sum()), int(labels["n_found"].sum())]


def edges_by_verdict(scores: Scores, verdicts: Mapping[str, str]) -> dict[str, list[int]]:
    """True edges and all edges of the labels of each verdict."""
    table = scores.per_label
    levels = pl.Series([verdicts.get(label, "none") for label in table["label"]], dtype=pl.String)
    return {level: edges(table.filter(levels == level)) for level in sorted(set(levels.to_list()))}


def _unit(
    case: str,
    method: str,
    seed: int,
    scores: Scores,
    data: EventDataset,
    seconds: float,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    wrong = scores.per_label.filter(scores.per_label["precision"] < 1)
    return {
        "case": case,
        "method": method,
        "seed": seed,
        "commit": provenance(seed)["commit"],
        "sequences": len(data),
        **{name: _plain(scores, name) for name in ("micro", "macro", "weighted")},
        "quartiles": quartiles(scores),
        "edges": edges(scores.per_label),
        "labels_with_a_wrong_event": len(wrong) / max(len(scores.per_label), 1),
        "seconds": round(seconds, 1),
        "gigabytes": round(peak_gigabytes(), 2),
        **extra,
    }


def _plain(scores: Scores, name: str) -> dict[str, float] | None:
    average = scores.average(name)
    if average is None:
        return None
    return {part: getattr(average, part) for part in ("precision", "recall", "f1")}


def quartiles(scores: Scores) -> list[dict[str, float]]:
    """Mean recall and F1 of the labels of each quartile of support, rarest first."""
    table = scores.per_label.sort("support")
    if table["support"].null_count() or len(table) < 4:
        return []
    figures = {name: table[name].to_numpy() for name in ("recall", "f1")}
    return [
        {name: float(values[part].mean()) for name, values in figures.items()}
        for part in np.array_split(np.arange(len(table)), 4)
    ]


def shortened(row: dict[str, Any]) -> dict[str, Any]:
    """A unit without the words that, for simulated data, only its own file keeps."""
    return row if row["case"] in REAL else {name: row[name] for name in row if name not in WORDS}


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds, one line for each case and method."""
    lines = []
    for case, method in dict.fromkeys((row["case"], row["method"]) for row in rows):
        part = [row for row in rows if (row["case"], row["method"]) == (case, method)]
        line: dict[str, Any] = {"case": case, "method": method, "seeds": sorted(row["seed"] for row in part)}
        for average in ("micro", "macro", "weighted"):
            known = [row[average] for row in part if row[average] is not None]
            line[average] = {
                name: float(np.mean([figures[name] for figures in known])) if known else None
                for name in ("precision", "recall", "f1")
            }
            line[average]["f1_error"] = _error([figures["f1"] for figures in known])
        f1 = [row["macro"]["f1"] for row in part]
        line["macro_f1_range"] = [min(f1), max(f1)]
        for name in ("seconds", "gigabytes", "labels_with_a_wrong_event"):
            line[name] = float(np.mean([row[name] for row in part]))
        line["quartiles"] = _mean_quartiles([row["quartiles"] for row in part])
        line |= _counted_edges(part)
        told = [row["oneshot"]["weighted"]["f1"] for row in part if row.get("oneshot")]
        line["oneshot_f1"] = float(np.mean(told)) if told else None
        lines.append(line)
    return lines


def _error(values: list[float]) -> float | None:
    """The standard error of a mean over seeds; None with one seed."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _counted_edges(part: list[dict[str, Any]]) -> dict[str, Any]:
    """True edges and all edges of all seeds, and of each verdict; and the share of false ones."""
    known = [row for row in part if "edges" in row]
    true, found = (sum(row["edges"][at] for row in known) for at in (0, 1))
    rate = 1 - true / found if found else None
    levels = sorted({level for row in known for level in row.get("edges_by_verdict", {})})
    by_level = {
        level: [sum(row["edges_by_verdict"].get(level, [0, 0])[at] for row in known) for at in (0, 1)]
        for level in levels
    }
    told = {"edges_by_verdict": by_level} if by_level else {}
    return {"edges": [true, found], "false_discovery_rate": rate, **told}


def _mean_quartiles(parts: list[list[dict[str, float]]]) -> list[dict[str, float]]:
    whole = [part for part in parts if part]
    return [
        {name: float(np.mean([part[at][name] for part in whole])) for name in ("recall", "f1")}
        for at in range(4)
        if whole
    ]


def describe(line: Mapping[str, Any]) -> str:
    """One line for people."""
    weighted = line["weighted"] or {}
    f1 = weighted.get("f1")
    parts = [
        f"{line['case']:12} {line['method']:20}",
        "macro P {precision:.3f} R {recall:.3f} F1 {f1:.3f}".format(**line["macro"]),
        "" if f1 is None else f"weighted F1 {f1:.3f}",
        f"{line['seconds']:.0f} s {line['gigabytes']:.1f} GB",
    ]
    return "  ".join(parts)


if __name__ == "__main__":
    main()
