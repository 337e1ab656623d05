"""A run ends with the same bytes wherever its work is done, whoever is killed, and in whatever order."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from eventcargo.engines import EngineConfig, Local, UnitsLeftError, Work
from eventcargo.events import EventDataset

from .runs import CONFIG, STAGES, bytes_of, run, small

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return small()


@pytest.fixture(scope="module")
def whole(data: EventDataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of a run in one process that nothing disturbed."""
    folder = tmp_path_factory.mktemp("one") / "run"
    run(data, folder, EngineConfig())
    assert not (folder / "work").exists()
    return bytes_of(folder)


class Killed(Local):
    """Two processes, which are killed in the middle of some stages."""

    def __init__(self, stages: Sequence[str] = STAGES) -> None:
        super().__init__(2)
        self._stages, self.killed = stages, list[str]()

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        for unit in super().run(work, units):
            children = workers()
            if children and work.folder.name in set(self._stages) - set(self.killed):
                for child in children:
                    os.kill(child, signal.SIGKILL)
                self.killed.append(work.folder.name)
            yield unit


def workers() -> list[int]:
    """The worker processes of this process."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += [int(name) for name in (task / "children").read_text().split()]
    return [child for child in found if b"eventcargo.engines.worker" in command(child)]


def command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks processes up in /proc")
def test_two_processes_that_are_killed_in_every_stage(
    data: EventDataset, whole: dict[str, bytes], tmp_path: Path
) -> None:
    engine = Killed()
    run(data, tmp_path / "run", engine)
    assert engine.killed == list(STAGES)
    assert bytes_of(tmp_path / "run") == whole
    assert not (tmp_path / "run" / "work").exists()


def test_parts_of_a_job_array_in_any_order(
    data: EventDataset, whole: dict[str, bytes], tmp_path: Path
) -> None:
    order, stopped = random.Random(7), list[str]()
    for _ in range(2 * len(STAGES)):
        part = order.choice((1, 2))
        try:
            run(data, tmp_path, EngineConfig(shards=f"{part}/2"))
        except UnitsLeftError as left:
            stopped.append(str(left))
    assert any("of baseline is done" in left for left in stopped)
    assert any("of fits is done" in left for left in stopped)
    run(data, tmp_path, EngineConfig(), resume=True)
    assert bytes_of(tmp_path) == whole


@pytest.mark.parametrize("stage", ["fits", "verify"])
def test_a_driver_that_is_killed_resumes_with_what_its_workers_finished(
    data: EventDataset, whole: dict[str, bytes], tmp_path: Path, stage: str
) -> None:
    script = (
        "from pathlib import Path\n"
        "from eventcargo.engines import Local\n"
        "from tests.engines.runs import run, small\n"
        f"run(small(), Path({str(tmp_path / 'run')!r}), Local(2))\n"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    driver = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path})
    at, begun = tmp_path / "run" / "work" / stage, False
    while driver.poll() is None and not begun:
        begun = any(at.glob("*-00000.*")) and (at / "inputs").exists()
        time.sleep(0.01)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert begun
    assert not (tmp_path / "run" / "report.html").exists()
    run(data, tmp_path / "run", EngineConfig(), resume=True)
    assert bytes_of(tmp_path / "run") == whole


def test_settings_of_the_engine_are_no_settings_of_the_run() -> None:
    assert not set(EngineConfig.__dataclass_fields__) & set(CONFIG.__dataclass_fields__)
