"""What focused networks cost where the linear term is enough: processor seconds of runs with and without.

Whole runs of `discover` in turns, each a process of its own; the ratio is that of the medians.
Run: `.venv/bin/python -m benchmarks.speed.focused [--turns 3]`
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.record import provenance, save

CASES = ("fleet", "ordered", "follows", "repeat", "timing", "recency")
"""Regimes whose labels are in the families of features."""

RUN = """
import resource, tempfile, warnings
from pathlib import Path
from eventcargo import simulate
from eventcargo.discovery import DiscoverConfig, Discovery
warnings.simplefilter("ignore")
if __name__ == "__main__":
    data = simulate("{case}", seed=100).data
    before = resource.getrusage(resource.RUSAGE_SELF)
    with tempfile.TemporaryDirectory() as home:
        Discovery(data, Path(home) / "run", DiscoverConfig(seed=100, workers=1, focused={focused})).run()
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=[*CASES])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for case in options.cases:
        turns = [[seconds(case, focused) for focused in (False, True)] for _ in range(options.turns)]
        without, with_them = (statistics.median(each) for each in zip(*turns, strict=True))
        rows.append({"case": case, "without": without, "with": with_them, "ratio": with_them / without})
        print("{case:8} {without:6.1f} s  {with:6.1f} s  ratio {ratio:.2f}".format(**rows[-1]), flush=True)
    print(f"written to {save('focused_speed', {**provenance(100), 'rows': rows}, options.out)}")


def seconds(case: str, focused: bool) -> float:
    """Processor seconds of a run."""
    code = RUN.format(case=case, focused=focused)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
