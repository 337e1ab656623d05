"""How often verdicts are right: on edges that are real or not, and on boundaries that are complete or not.

In `confounded` the decoy, which every method finds, is added to the true boundaries. "less one member" takes
a random one from every boundary of two or more; "random" are as many event types that cause no label. "with a
record" adds an event type to the data and the boundaries that is recorded because of the label. Validation
seeds.
Run: `.venv/bin/python -m benchmarks.accuracy.verdicts`
"""

import argparse
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import EventDataset, EventSequence, LabelGraph
from eventcargo.simulation import Simulated, simulate
from eventcargo.verdicts import Verdict
from eventcargo.verdicts.judge import judge

from benchmarks.record import provenance, save

SEEDS = [100, 101, 102, 103]

SMALL = {"sequences": 4000, "event_types": 400, "labels": 12, "max_boundary": 8}

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("confounded", "with decoy", {}),
    ("confounded", "true", {}),
    *((name, "true", {}) for name in ("fleet", "chain", "ordered", "timing", "follows", "repeat")),
    *((name, "true", {}) for name in ("recency", "short", "exact", "noisy_or", "log_odds", "family")),
    *((name, "less one member", {}) for name in ("fleet", "noisy_or", "log_odds")),
    *((name, "random", {}) for name in ("fleet", "chain", "noisy_or", "log_odds")),
    ("confounded", "with decoy", {"hidden_share": 0.1}),
    ("confounded", "with decoy", {"decoy": 0.9, "decoy_alone": 0.02}),
    (
        "confounded",
        "with decoy",
        {"decoy": 0.9, "decoy_alone": 0.02, "hidden_strength": 0.9, "strength": 0.9},
    ),
    ("confounded", "with decoy", {"hidden_strength": 0.4, "strength": 0.4}),
    ("chain", "true", {"causes": 0.8}),
    ("chain", "true", {"causes": 0.7}),
    *(
        (name, kind, settings)
        for name, settings in (("chain", {}), ("chain", {"sequences": 60}), ("fleet", SMALL))
        for kind in ("with a record", "with a record at the end", "with a record of 95 %")
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = [summary(*case) for case in CASES]
    print(f"written to {save('verdicts', {**provenance(SEEDS), 'rows': rows}, options.out)}")


def summary(regime: str, kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Verdicts of all seeds of one case."""
    runs = [run(regime, kind, settings, seed) for seed in SEEDS]
    explained = [share for found in runs for share in found["explained"]]
    row = {
        "regime": regime,
        "boundaries": kind,
        "settings": settings,
        **{
            key: sum(found[key] for found in runs)
            for key in ("labels", "not_trusted", "incomplete", "incomplete_by_share_alone")
        },
        **{key: sum(found[key] for found in runs) for key in ("decoy_suspected", "decoy_missing", "leaks")},
        "min_explained": min(explained, default=None),
        "max_explained": max(explained, default=None),
        "seconds": sum(found["seconds"] for found in runs) / len(runs),
    }
    print(row, flush=True)
    return row


def run(regime: str, kind: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    simulated = simulate(regime, seed=seed, **settings)
    data = recorded(simulated, kind, seed) if "record" in kind else simulated.data
    graph, began = boundaries(simulated, kind, seed), time.perf_counter()
    found = judge(data, graph)
    reasons = {label: " ".join(verdict.reasons) for label, verdict in found.items()}
    missing = {label: " ".join(verdict.missing) for label, verdict in found.items()}
    told = [re.search(r"explains (\d+)%", f"{reasons[label]} {missing[label]}") for label in found]
    decoys = {label: name for label in found if (name := decoy(simulated, label))}
    return {
        "seconds": time.perf_counter() - began,
        "labels": len(found),
        "not_trusted": sum(verdict.level != "trust" for verdict in found.values()),
        "incomplete": sum(bool(verdict.missing) for verdict in found.values()),
        "incomplete_by_share_alone": sum(is_by_share_alone(verdict) for verdict in found.values()),
        "decoy_suspected": sum(f"decided: {name};" in reasons[label] for label, name in decoys.items()),
        "decoy_missing": sum(f"{name} is not in" in missing[label] for label, name in decoys.items()),
        "leaks": sum("record of the outcome" in text for text in reasons.values()),
        "explained": [int(share[1]) / 100 for share in told if share],
    }


def is_by_share_alone(verdict: Verdict) -> bool:
    """Whether a boundary is said to be incomplete for no other reason than that it explains little."""
    return bool(verdict.missing) and all("random or not recorded" in reason for reason in verdict.missing)


def decoy(simulated: Simulated, label: str) -> str | None:
    found = re.search(r"also raises (\S+)", simulated.rules[label])
    return found[1] if found else None


def boundaries(simulated: Simulated, kind: str, seed: int) -> LabelGraph:
    """The true boundaries, changed as `kind` says."""
    true = simulated.truth.boundaries
    if kind == "with decoy":
        return LabelGraph.from_boundaries(
            {label: [*events, str(decoy(simulated, label))] for label, events in true.items()}
        )
    if kind == "true":
        return simulated.truth
    if "record" in kind:
        return LabelGraph.from_boundaries(
            {label: [*events, f"record of {label}"] for label, events in true.items()}
        )
    rng = np.random.default_rng(seed)
    if kind == "random":
        others = sorted(set(simulated.data.event_names).difference(*true.values()))
        return LabelGraph.from_boundaries(
            {label: rng.choice(others, len(events), replace=False) for label, events in true.items()}
        )
    lost = {label: rng.choice(events) for label, events in true.items() if len(events) > 1}
    return LabelGraph.from_boundaries(
        {label: [event for event in true[label] if event != lost[label]] for label in lost}
    )


def recorded(simulated: Simulated, kind: str, seed: int) -> EventDataset:
    """The data with a record of every label in the sequences that carry it, at some instant or the last."""
    rng, share = np.random.default_rng(seed), 0.95 if "95 %" in kind else 1.0
    return EventDataset.from_sequences(
        [_with_records(sequence, rng, share, "at the end" in kind) for sequence in simulated.data]
    )


def _with_records(
    sequence: EventSequence, rng: np.random.Generator, share: float, at_end: bool
) -> EventSequence:
    last = max(sequence.times, default=0.0)
    rows = list(zip(sequence.times, sequence.events, strict=True))
    for label in sequence.labels:
        at = last + 1.0 if at_end else float(rng.uniform(0.0, last))
        if rng.random() < share:
            rows.append((at, f"record of {label}"))
    rows.sort(key=lambda row: row[0])
    times, events = tuple(time for time, _ in rows), tuple(event for _, event in rows)
    return EventSequence(sequence.id, events, times, sequence.labels)


if __name__ == "__main__":
    main()
