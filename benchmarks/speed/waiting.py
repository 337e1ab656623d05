"""How threads of torch compare that wait in a loop, in a loop for a short while, or asleep.

The same training steps, in turns, on a machine that is otherwise idle and beside other jobs.
Run: `.venv/bin/python -m benchmarks.speed.waiting [--jobs 0 2] [--turns 3]`
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.record import provenance, save
from benchmarks.speed.time_limit import busy

POLICIES = {
    "loop": {"OMP_WAIT_POLICY": "ACTIVE"},
    "short": {"GOMP_SPINCOUNT": "2000"},
    "sleep": {"OMP_WAIT_POLICY": "PASSIVE"},
}
"""Settings of the environment; `short` is what the package sets."""

STEPS = """
import time
import torch
from eventcargo import simulate, train
from eventcargo.models.training.config import TrainConfig
data = simulate("fleet", sequences=2_000, event_types=500, labels=10, seed=0).data
config = TrainConfig(steps={steps}, checks=1)
torch.set_num_threads(2)
began = time.monotonic()
train(data, config)
print(time.monotonic() - began)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", nargs="+", type=int, default=[0, 2], help="other jobs that run meanwhile")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for jobs in options.jobs:
        with busy(jobs):
            turns = [
                {name: seconds(policy, options.steps) for name, policy in POLICIES.items()}
                for _ in range(options.turns)
            ]
        medians = {name: statistics.median(turn[name] for turn in turns) for name in POLICIES}
        rows.append({"jobs": jobs, "turns": turns, **medians, "ratio": medians["loop"] / medians["short"]})
        print(f"{jobs} other jobs:", {name: round(took, 1) for name, took in medians.items()}, flush=True)
    print(f"written to {save('waiting', {**provenance(0), 'rows': rows}, options.out)}")


def seconds(policy: dict[str, str], steps: int) -> float:
    """Seconds of the training steps in a process of their own."""
    code, environment = STEPS.format(steps=steps), {**os.environ, **policy}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout)


if __name__ == "__main__":
    main()
