"""What every benchmark writes beside its figures: when, on what machine, at which commit."""

import json
import os
import platform
import resource
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
"""Where published figures are."""

PARTS = Path(__file__).parent / "parts"
"""Where scripts that can be stopped keep what they have done."""


def provenance(seed: int | list[int]) -> dict[str, Any]:
    """Commit, machine and time, to stand beside a result."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    ).stdout.strip()
    return {
        "seed": seed,
        "commit": commit or "unknown",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def peak_gigabytes() -> float:
    """Largest resident memory of this process so far; not that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024**2
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def save(name: str, result: dict[str, Any], out: Path | None = None) -> Path:
    """Write a result as JSON, by default to benchmarks/results/NAME.json."""
    path = out or RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def saved(name: str) -> dict[str, Any]:
    """A published result."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def kept(part: Path, make: Callable[[], Any]) -> Any:
    """What a part of a script's work has given: read from its file, or made and written there."""
    if not part.exists():
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(make()) + "\n")
    return json.loads(part.read_text())


def filled(text: str, made: Mapping[str, str]) -> str:
    """A text with tables in place of what stands between `<!-- NAME -->` and `<!-- end -->`."""
    for name, table in made.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        if begin in text:
            before, after = text.split(begin)
            text = f"{before}{begin}\n{table}\n\n{end}{after.split(end, 1)[1]}"
    return text


def show(made: Mapping[str, str], docs: Path | None) -> None:
    """Print tables by name, and put them into a text that has places for them."""
    for name, table in made.items():
        print(f"\n{name}\n{table}")
    if docs is not None:
        docs.write_text(filled(docs.read_text(), made))
