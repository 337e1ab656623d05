"""Ray: the units of a work as tasks on the nodes of a cluster; of Ray's interface the core alone is used.

A task is sent a work, which is paths and numbers, and returns the number of its unit. Ray starts a task again
if its worker or its node dies.
"""

import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from eventcargo.engines.engine import MOST_DEATHS, MOST_POISONOUS, Engine, poisonous
from eventcargo.engines.work import Timed, Work
from eventcargo.errors import ConfigError, argument
from eventcargo.release import RELEASE

IN_FLIGHT = 2
"""Tasks a core that Ray is given at a time, so that none waits for the driver."""


UNSEEN_SECONDS = 90.0
"""How long a written file may be invisible to the driver; network file systems remember for a minute."""

SHARED = "put the run on storage that all nodes see under the same path"


class Ray(Engine):
    """The nodes of a Ray cluster; all of them must see `folder` under the same path.

    Without an address, that of RAY_ADDRESS is used, or a cluster of this machine alone is started.
    """

    def __init__(self, address: str = "", folder: Path | None = None, cpus: float = 1.0) -> None:
        if folder is None:
            raise ConfigError(
                f"{argument('engine', 'ray')} needs a folder that all nodes see; run it in one with "
                f"{argument('run')}"
            )
        self.folder, self._cpus = folder.absolute(), cpus
        self._ray = _imported()
        self._is_own = not self._ray.is_initialized()
        if self._is_own:
            self._connect(address)
        self._task = self._ray.remote(_do)

    def _connect(self, address: str) -> None:
        try:
            self._ray.init(
                address or None, log_to_driver=False, include_dashboard=False, logging_level="ERROR"
            )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise ConfigError(
                f"{argument('address', address)}: no Ray cluster there that this program can use: {error}"
            ) from None

    @property
    def places(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 0.0) / self._cpus))

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        left, lost, flying = work.missing(units)[::-1], list[int](), dict[Any, int]()
        if left:
            work.share()
        task = self._task.options(
            num_cpus=self._cpus, num_gpus=work.gpus, max_retries=MOST_DEATHS - 1, scheduling_strategy="SPREAD"
        )
        try:
            while (left and len(lost) < MOST_POISONOUS) or flying:
                while left and len(flying) < self._room(work) and len(lost) < MOST_POISONOUS:
                    unit = left.pop()
                    flying[task.remote(RELEASE, work, unit)] = unit
                for done in self._ray.wait(list(flying), num_returns=1)[0]:
                    unit = flying.pop(done)
                    result = self._result(done)
                    if result is None:
                        lost.append(unit)
                        continue
                    if result[0]:
                        _wait_for(work.path(unit))
                    self.elsewhere += result[1]
                    yield unit
        finally:
            for each in flying:
                self._ray.cancel(each, force=True)
        if lost:
            raise poisonous(lost, work)

    def _room(self, work: Work[Any]) -> int:
        """Tasks that may be in flight: some for each place that the cluster has now."""
        resources = self._ray.cluster_resources()
        places = resources.get("CPU", 0.0) / self._cpus
        if work.gpus:
            places = min(places, resources.get("GPU", 0.0) / work.gpus)
        return max(1, int(IN_FLIGHT * places))

    def _result(self, reference: Any) -> tuple[bool, Timed] | None:
        """What became of a unit; None if its worker died each time. What it raised is raised."""
        errors = self._ray.exceptions
        try:
            result: tuple[bool, Timed] = self._ray.get(reference)
            return result
        except errors.RayTaskError as error:
            raise getattr(error, "cause", None) or error from None
        except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError):
            return None

    def close(self) -> None:
        if self._is_own:
            self._ray.shutdown()


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise ConfigError(
            f"{argument('engine', 'ray')} needs Ray; install it with pip install 'eventcargo[ray]'"
        ) from None
    return ray


def _wait_for(path: Path) -> None:
    """Wait until a file that a node has written is seen here: shared storage may take its time."""
    began = time.monotonic()
    while not path.exists():
        if time.monotonic() - began > UNSEEN_SECONDS:
            raise ConfigError(f"a node has written {path}, which is not seen here; {SHARED}")
        os.listdir(path.parent)  # lets a network file system look again  # noqa: PTH208
        time.sleep(0.1)


def _do(version: str, work: Work[Any], unit: int) -> tuple[bool, Timed]:
    """Do a unit on a node of the same release: whether its file was written, and how long it took."""
    if version != RELEASE:
        raise ConfigError(
            f"a node has eventcargo {RELEASE}, the driver {version}; install the same release on all"
        )
    if not work.folder.exists():
        raise ConfigError(f"the node {platform.node()} does not see {work.folder}; {SHARED}")
    with threadpool_limits(1, "blas"):
        taken = work.timed(unit)
    return work.is_done(unit), taken
