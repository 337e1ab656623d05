"""Extreme data, at full size, within limits of time and memory: a result or a clear refusal?

    python -m benchmarks.reliability.extremes --docs docs/results.md

Each is run by `discover` in a process of its own, whose memory, workers included, is measured twenty times a
second. `--only` names some; the others keep what the saved result says of them. `tests/reliability` has the
extremes, small in the suite.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eventcargo.durations import parse_duration
from eventcargo.memory import parse_memory

from benchmarks.record import RESULTS, provenance, save, saved, show
from tests.reliability.extremes import FULL, discover

TIGHT = {"5,000 labels": "1G", "200,000 event types": "1G", "one label": "1G"}
"""Extremes that are run with little memory, too."""

GRACE = 60.0
"""Seconds after its time limit in which a run may end what it has begun."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-time", default="20m")
    parser.add_argument("--max-memory", default="6G")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[], help="names of extremes")
    parser.add_argument("--docs", type=Path, default=None, help="text that has a place for the table")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--saved", action="store_true", help="only show the table of the saved result")
    options = parser.parse_args()
    if options.saved:
        show({"extremes": table(saved("extremes"))}, options.docs)
        return
    known = saved("extremes")["runs"] if options.only and (RESULTS / "extremes.json").exists() else []
    runs = [row for row in known if row["name"] not in options.only]
    for name in options.only or FULL:
        for memory in filter(None, (options.max_memory, TIGHT.get(name))):
            runs.append(measure(name, options.max_time, memory, options.seed))
            print(runs[-1], flush=True)
    runs.sort(key=lambda row: list(FULL).index(row["name"]))
    result = {**provenance(options.seed), "max_time": options.max_time, "runs": runs}
    save("extremes", result, options.out)
    show({"extremes": table(result)}, options.docs)


def measure(name: str, max_time: str, max_memory: str, seed: int) -> dict[str, Any]:
    """How a run on an extreme ended."""
    limits = {"max-time": max_time, "max-memory": max_memory}
    most = parse_duration(max_time, "max_time") + GRACE
    with tempfile.TemporaryDirectory() as home:
        ended = discover(FULL[name], Path(home), limits, most, seed)
        words = ended.words.replace(home, "")
    return {
        "name": name,
        "size": asdict(FULL[name]),
        **limits,
        **asdict(ended),
        "words": words,
        "is_clear": ended.is_clear,
        "is_within_memory": ended.private <= parse_memory(max_memory),
    }


def table(result: Mapping[str, Any]) -> str:
    """One row for each run."""
    lines = [
        "| data | `--max-memory` | ended with | seconds | largest memory, GB | without mapped files |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["runs"]:
        ending = "a result" if row["code"] == 0 else f"`{row['words']}`"
        sizes = " | ".join(f"{row[which] / 1e9:.2f}" for which in ("peak", "private"))
        lines.append(f"| {row['name']} | {row['max-memory']} | {ending} | {row['seconds']:.0f} | {sizes} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
