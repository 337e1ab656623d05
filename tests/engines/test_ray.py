"""The Ray engine on a cluster of several nodes on this machine, in a network of its own."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import eventcargo.engines.ray as engine_ray
from eventcargo.engines import EngineConfig, make_engine
from eventcargo.errors import ConfigError
from eventcargo.release import RELEASE

from .squares import Squares

ROOT = Path(__file__).parents[2]
OWN_NETWORK = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
"""Runs a command in a network with nothing but the loopback device."""

SECONDS = 600

pytestmark = pytest.mark.slow


def is_permitted() -> bool:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return subprocess.run([*OWN_NETWORK, "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("ray", reason="NOT TESTED: the engine ray; install the extra ray")
    if not is_permitted():
        pytest.skip("NOT TESTED: the engine ray; a network namespace (unshare -rn, ip) is not permitted here")
    folder = tmp_path_factory.mktemp("ray")
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [*OWN_NETWORK, sys.executable, "-m", "tests.engines.on_ray", str(folder)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-5_000:]
    return json.loads((folder / "results.json").read_text())  # type: ignore[no-any-return]


SQUARED = [number**2 for number in range(12)]


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_a_run_ends_with_the_same_bytes_as_in_one_process(results: dict[str, Any], nodes: int) -> None:
    assert results[f"nodes {nodes}"] == []


def test_units_are_done_on_the_nodes(results: dict[str, Any]) -> None:
    assert results["squares"]["results"] == SQUARED
    assert results["squares"]["processes"] == 4
    assert not results["squares"]["is_driver"]


def test_units_of_a_node_that_is_killed_are_done_elsewhere(results: dict[str, Any]) -> None:
    assert results["node killed"]["results"] == SQUARED
    assert results["node killed"]["told"] == ""


def test_nodes_killed_in_the_middle_of_stages_change_no_byte(results: dict[str, Any]) -> None:
    assert results["stages killed"] == []


def test_a_unit_that_kills_its_worker_three_times_is_named(results: dict[str, Any]) -> None:
    found = results["poison"]
    assert found["told"].startswith("UnitError: 1 unit of work killed 3 workers each: ")
    assert "unit-00005.txt" in found["told"]
    assert found["tried"].count(5) == 3
    assert found["results"] == [None if number == 5 else square for number, square in enumerate(SQUARED)]


def test_what_a_unit_raises_is_raised(results: dict[str, Any]) -> None:
    assert results["wrong"]["told"] == "DataError: unit 5 cannot be squared"


def test_a_node_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the node \S+ does not see \S+elsewhere; put the run on storage"):
        engine_ray._do(RELEASE, Squares(tmp_path / "elsewhere"), 0)


def test_a_node_of_another_release_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"a node has eventcargo {RELEASE}, the driver 0\.0\.9"):
        engine_ray._do("0.0.9", Squares(tmp_path), 0)


def test_a_file_that_a_node_has_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "unit"
    timer = threading.Timer(0.3, path.touch)
    timer.start()
    engine_ray._wait_for(path)
    timer.join()
    monkeypatch.setattr(engine_ray, "UNSEEN_SECONDS", 0.0)
    with pytest.raises(ConfigError, match=r"a node has written \S+never, which is not seen here"):
        engine_ray._wait_for(tmp_path / "never")


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="NOT TESTED: the engine ray; install the extra ray")
    with pytest.raises(ConfigError, match="address='nowhere': no Ray cluster there"):
        make_engine(EngineConfig("ray", "nowhere"), tmp_path)
