"""Runs on a real Ray cluster of several nodes on this machine; started by `test_ray` in its own network.

Usage: `python -m tests.engines.on_ray FOLDER`; writes FOLDER/results.json.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}  # or a busy machine forgets them

import ray
from ray.cluster_utils import Cluster

from eventcargo.engines import EngineConfig, UnitError, Work
from eventcargo.engines.ray import Ray
from eventcargo.errors import DataError, EventCargoError

from .runs import bytes_of, run, small
from .squares import Squares

QUICK_TO_NOTICE = {
    "health_check_initial_delay_ms": 1_000,
    "health_check_period_ms": 1_000,
    "health_check_timeout_ms": 20_000,
    "health_check_failure_threshold": 4,
}
"""How soon the cluster takes a node for dead: one that is gone in seconds; one that is slow to answer,
because others use the machine, in more than a minute."""

NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


class Nodes:
    """A cluster whose head does no work, so that every node that works may be killed."""

    def __init__(self, home: str) -> None:
        os.environ["RAY_TMPDIR"] = home  # else the cluster notes its address in a folder that others share
        folder = Path(home) / "ray"
        folder.mkdir()
        head = {"num_cpus": 0, "object_store_memory": NODE["object_store_memory"], "include_dashboard": False}
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={**head, "temp_dir": str(folder), "_system_config": QUICK_TO_NOTICE},
        )
        self.working = list[Any]()

    def grow(self, n: int) -> None:
        while len(self.working) < n:
            self.working.append(self.cluster.add_node(**NODE))
        self.cluster.wait_for_nodes()

    def kill(self) -> None:
        """Kill the oldest node as it is, and start another one."""
        self.cluster.remove_node(self.working.pop(0), allow_graceful=False)
        self.working.append(self.cluster.add_node(**NODE))


class Killed(Ray):
    """Kills a node in the middle of some stages."""

    def __init__(self, nodes: Nodes, folder: Path, stages: Sequence[str]) -> None:
        super().__init__(nodes.cluster.address, folder)
        self._nodes, self._stages, self.killed = nodes, stages, list[str]()

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        for unit in super().run(work, units):
            if work.folder.name in set(self._stages) - set(self.killed):
                self.killed.append(work.folder.name)
                self._nodes.kill()
            yield unit


def squares(folder: Path, engine: Ray, **settings: Any) -> dict[str, Any]:
    """Square 12 numbers on a cluster."""
    folder.mkdir()
    work, told = Squares(folder, **settings), ""
    try:
        with work.held(list(range(12))):
            list(engine.run(work, range(12)))
    except (UnitError, DataError) as error:
        told = f"{type(error).__name__}: {error}"
    tried = work.tried()
    processes = {process for _, process in tried}
    return {
        "results": work.results(12),
        "told": told,
        "tried": [unit for unit, _ in tried],
        "processes": len(processes),
        "is_driver": os.getpid() in processes,
    }


def main(folder: Path, home: str) -> None:
    results: dict[str, Any] = {}
    data, begun = small(), time.monotonic()

    def note(name: str, result: Any) -> None:
        results[name] = result
        sys.stderr.write(f"{time.monotonic() - begun:6.1f} s {name}\n")

    run(data, folder / "local", EngineConfig())
    whole = bytes_of(folder / "local")
    nodes = Nodes(home)
    try:
        for n in (1, 2, 4):
            nodes.grow(n)
            run(data, folder / f"nodes-{n}", EngineConfig("ray", nodes.cluster.address))
            note(f"nodes {n}", differing(whole, bytes_of(folder / f"nodes-{n}")))
        with Killed(nodes, folder / "squares-work", ["killed"]) as engine:
            note("squares", squares(folder / "squares", engine, seconds=0.1))
            note("node killed", squares(folder / "killed", engine, seconds=0.3))
            note("poison", squares(folder / "poison", engine, poison=(5,)))
            note("wrong", squares(folder / "wrong", engine, wrong=(5,)))
        run(data, folder / "stages", Killed(nodes, folder / "stages" / "work", ["fits", "extract"]))
        note("stages killed", differing(whole, bytes_of(folder / "stages")))
    finally:
        nodes.cluster.shutdown()
    (folder / "results.json").write_text(json.dumps(results))


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """The files that differ, or that only one of two runs has."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


if __name__ == "__main__":
    short = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # sockets need a short path
    try:
        main(Path(sys.argv[1]), short)
    except EventCargoError as error:
        sys.exit(str(error))
    finally:
        ray.shutdown()
        shutil.rmtree(short, ignore_errors=True)
