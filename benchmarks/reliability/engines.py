"""Whether a run ends with the same bytes if something is killed in the middle of each of its stages.

For every stage that is done in units: both workers killed with -9; the driver killed with -9 and resumed on
another engine; with `--ray`, a node of a Ray cluster of two killed. `tests/engines/runs.py` has the run. The
cluster is started on this machine; nodes that bind the loopback address need a network of their own:

    unshare -rn sh -c 'ip link set lo up && .venv/bin/python -m benchmarks.reliability.engines --ray'
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from eventcargo.engines import EngineConfig
from eventcargo.events import EventDataset

from benchmarks.record import provenance, save
from tests.engines.runs import STAGES, bytes_of, run, small
from tests.engines.test_same_bytes import Killed

DRIVER = """
from pathlib import Path
from eventcargo.engines import Local
from tests.engines.runs import run, small
run(small(), Path({folder!r}), Local(2))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ray", action="store_true", help="with nodes of a Ray cluster, too")
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=STAGES)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    data, rows = small(), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        run(data, folder / "whole", EngineConfig())
        whole = bytes_of(folder / "whole")
        for stage in options.stages:
            rows.append(
                tell(stage, "workers killed", workers_killed(data, folder / "run", stage), whole, folder)
            )
            rows.append(
                tell(stage, "driver killed", driver_killed(data, folder / "run", stage), whole, folder)
            )
        if options.ray:
            rows += on_ray(data, folder, options.stages, whole)
    wrong = [row for row in rows if not (row["hit"] and row["same"])]
    print(f"{len(rows) - len(wrong)} of {len(rows)} faults ended in the same bytes")
    print(f"written to {save('engine_faults', {**provenance(103), 'rows': rows}, options.out)}")
    sys.exit(bool(wrong))


def tell(stage: str, fault: str, is_hit: bool, whole: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """What became of a run in FOLDER/run, which is then deleted."""
    is_same = bytes_of(folder / "run") == whole
    shutil.rmtree(folder / "run")
    print(f"{stage:10} {fault:16} hit {is_hit}  same bytes {is_same}", flush=True)
    return {"stage": stage, "fault": fault, "hit": is_hit, "same": is_same}


def workers_killed(data: EventDataset, folder: Path, stage: str) -> bool:
    """Run with both workers killed after the first unit of a stage; whether that came to pass."""
    engine = Killed([stage])
    run(data, folder, engine)
    return engine.killed == [stage]


def driver_killed(data: EventDataset, folder: Path, stage: str) -> bool:
    """Run with the driver killed once the first unit of a stage is done, then resume in one process."""
    driver = subprocess.Popen([sys.executable, "-c", DRIVER.format(folder=str(folder))])
    at, is_begun = folder / "work" / stage, False
    if stage == "extract":  # whose units are the edges themselves
        at = folder / "edges"
    while driver.poll() is None and not is_begun:
        is_begun = any(path.stem.rsplit("-", 1)[-1].isdigit() for path in at.glob("[!.]*-0*"))
        time.sleep(0.005)
    driver.kill()
    driver.wait()
    is_cut = not (folder / "report.html").exists()
    run(data, folder, EngineConfig(), resume=True)
    return is_begun and is_cut


def on_ray(
    data: EventDataset, folder: Path, stages: list[str], whole: dict[str, bytes]
) -> list[dict[str, Any]]:
    """The same with a node of a cluster of two killed after the first unit of each stage."""
    from tests.engines import on_ray as cluster

    home = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    nodes, rows = cluster.Nodes(home), list[dict[str, Any]]()
    try:
        nodes.grow(2)
        for stage in stages:
            engine = cluster.Killed(nodes, folder / "run" / "work", [stage])
            run(data, folder / "run", engine)
            rows.append(tell(stage, "node killed", engine.killed == [stage], whole, folder))
    finally:
        nodes.cluster.shutdown()
        shutil.rmtree(home, ignore_errors=True)
    return rows


if __name__ == "__main__":
    main()
