import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eventcargo.discovery import DiscoverConfig, discover
from eventcargo.errors import ConfigError
from eventcargo.locks import IN_USE, FileLock, hold_folder
from eventcargo.simulation import simulate

from tests.reliability.programs import environment, run

HOLD = """
import sys, time
from eventcargo.locks import hold_folder
lock = hold_folder(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


def _holder(folder: Path) -> "subprocess.Popen[str]":
    """Another process that holds a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_folder_is_held_by_one_process_which_is_named(tmp_path: Path) -> None:
    with _holder(tmp_path) as process:
        with pytest.raises(ConfigError, match=f"{tmp_path} is in use by process {process.pid} on"):
            hold_folder(tmp_path)
        process.kill()


def test_a_kill_leaves_no_lock_behind(tmp_path: Path) -> None:
    with _holder(tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with hold_folder(tmp_path):
        assert str(os.getpid()) in (tmp_path / IN_USE).read_text()


def test_a_released_lock_leaves_no_file(tmp_path: Path) -> None:
    hold_folder(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_parts_of_a_job_array_share_a_folder_but_not_with_a_whole_run(tmp_path: Path) -> None:
    with hold_folder(tmp_path, shared=True):
        with hold_folder(tmp_path, shared=True), pytest.raises(ConfigError, match="in use"):
            hold_folder(tmp_path)
        with pytest.raises(ConfigError, match="in use"):  # the first part still holds it
            hold_folder(tmp_path)
    hold_folder(tmp_path).release()


def test_whoever_waited_for_a_lock_that_was_removed_takes_the_new_one(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    first.take(wait=False)
    first.release()
    assert second.take(wait=True)
    assert not FileLock(tmp_path / "lock").take(wait=False)
    second.release()


def test_a_second_run_in_a_folder_is_refused_before_it_changes_anything(tmp_path: Path) -> None:
    data = simulate("chain", sequences=300, labels=2, seed=100).data
    config = DiscoverConfig(preset="fast", steps=1)
    with _holder(tmp_path) as process:
        with pytest.raises(ConfigError, match="wait until it ends, or choose another folder"):
            discover(data, tmp_path, config)
        assert [path.name for path in tmp_path.iterdir()] == [IN_USE]
        process.kill()
        process.wait()
    discover(data, tmp_path, config)
    assert not (tmp_path / IN_USE).exists()


def test_commands_on_a_run_that_is_being_written_are_refused(tmp_path: Path) -> None:
    data = simulate("chain", sequences=300, labels=2, seed=100).data
    discover(data, tmp_path / "run", DiscoverConfig(preset="fast", steps=1))
    data.save(tmp_path / "data")
    with _holder(tmp_path / "run") as process:
        for command in ("verify", "rules", "judge", "report"):
            again = ["--again"] if command == "rules" else []
            refused = run(command, tmp_path / "run", tmp_path / "data", *again)
            assert f"in use by process {process.pid}" in refused.error
        assert f"in use by process {process.pid}" in run("fuse", tmp_path / "run").error
        process.kill()


@pytest.mark.parametrize("odd", [b"\xff\xfe", b"\x00", b"process 1\n" * 3])
def test_a_holder_that_cannot_be_read_is_another_process(tmp_path: Path, odd: bytes) -> None:
    with hold_folder(tmp_path):
        (tmp_path / IN_USE).write_bytes(odd)
        with pytest.raises(ConfigError, match=r"is in use by (another process|\ufffd+):"):
            hold_folder(tmp_path)


def test_a_holder_of_many_words_is_cut(tmp_path: Path) -> None:
    with hold_folder(tmp_path):
        (tmp_path / IN_USE).write_text("x" * 100_000)
        with pytest.raises(ConfigError, match=r"is in use by x{200}:"):
            hold_folder(tmp_path)
