"""Damaged inputs over everything that is read from outside: refused clearly, read rightly, or our fault.

    python -m benchmarks.reliability.damaged --docs docs/results.md

`tests/reliability` has the surfaces, the damage and the judgement; the suite runs a few hundred inputs.
"""

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.record import provenance, save, saved, show
from tests.reliability.campaign import BAD, GOOD, Ended, run_campaign, tally
from tests.reliability.surfaces import prepare

GROUPS = {
    "tables in files": ("table ", "new table", "cohort tables", "MEDS", "gzip", "odd shapes", "graph."),
    "tables in memory": ("Arrow", "pandas", "polars", "pairs"),
    "knowledge and settings": ("knowledge", "settings", "options"),
    "requests over HTTP": ("request",),
    "saved data sets": ("saved",),
    "edges and votes": ("edges", "votes"),
    "models": ("model",),
    "models from elsewhere": ("elsewhere",),
    "work that goes on": ("units of", "extraction", "thresholds", "run stopped", "update begun", "lock"),
    "documents of a run": ("",),
}
"""Surfaces by the start of their names; the first that fits counts."""

WORDS = {
    "refused": "refused clearly",
    "same": "read as before",
    "other content": "read as what it says now",
    "told": "read with a warning",
    "traceback": "traceback",
    "unclear": "unclear words",
    "silent": "silently other values",
    "hang": "hang",
    "crash": "crash",
}


def group_of(surface: str) -> str:
    return next(group for group, starts in GROUPS.items() if surface.startswith(starts))


def table(surfaces: Mapping[str, Mapping[str, int]]) -> str:
    """The outcomes by group of surfaces."""
    outcomes = [*GOOD, *BAD]
    lines = [
        f"| | inputs | {' | '.join(WORDS[name] for name in outcomes)} |",
        "|---" * (len(outcomes) + 2) + "|",
    ]
    for group in (*GROUPS, "all"):
        counts = Counter[str]()
        for surface, outcome_counts in surfaces.items():
            if group in ("all", group_of(surface)):
                counts.update(outcome_counts)
        figures = [f"{sum(counts.values()):,}", *(f"{counts[name]:,}" for name in outcomes)]
        lines.append(f"| {group} | {' | '.join(figures)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="surfaces with this in their name")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a reading")
    parser.add_argument("--docs", type=Path, default=None, help="text that has a place for the table")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--saved", action="store_true", help="only show the table of the saved result")
    options = parser.parse_args()
    if options.saved:
        show({"damaged": table(saved("damaged")["outcomes"])}, options.docs)
        return
    endings: list[Ended] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        home = Path(folder) / "home"
        home.mkdir()
        prepare(home)
        inputs = run_campaign(
            home, Path(folder) / "one", options.inputs, options.seed, options.seconds, options.only
        )
        for one in inputs:
            endings.append(one)
            if one.outcome in BAD:
                print(
                    f"{one.outcome}: {one.surface}, seed {one.seed}, {one.damage}\n{one.words}\n", flush=True
                )
            elif len(endings) % 500 == 0:
                print(f"{len(endings):,} inputs", flush=True)
    bad = [[one.surface, one.seed, one.outcome, one.damage] for one in endings if one.outcome in BAD]
    save(
        "damaged",
        {**provenance(options.seed), "inputs": len(endings), "outcomes": tally(endings), "bad": bad},
        options.out,
    )
    show({"damaged": table(tally(endings))}, options.docs)


if __name__ == "__main__":
    main()
