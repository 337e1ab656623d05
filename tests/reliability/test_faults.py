"""Full disks, read-only folders, missing handles and memory, clocks set back, folders moved, inputs gone.

Each is met by the program in a process of its own: one clear sentence, exit code 1, nothing half-written, and
the run can be resumed to the same result.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from tests.reliability.programs import QUICK, digest, environment, killed_when, leftovers, run, start

pytestmark = pytest.mark.slow

SHELL = """
set -e
mount -t tmpfs -o size={size} tmpfs {disk}
set +e
{program} --out {disk}/run > /dev/null
echo "code $?"
find {disk} -name '.*' -mindepth 1
mount -o remount,{then} {disk}
{program} --out {disk}/run {resume} > /dev/null
echo "code $?"
cp -r {disk}/run {copy}
"""


def on_a_small_disk(data: Path, tmp_path: Path, size: str, then: str, resume: str = "--resume") -> list[str]:
    """Run twice on a disk of its own, which is changed in between; return the lines that were printed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    program = f"python -m eventcargo discover {data} {' '.join(QUICK)}"
    text = SHELL.format(
        size=size, disk=disk, program=program, then=then, resume=resume, copy=tmp_path / "copy"
    )

    environ = {**environment(), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", text],
        capture_output=True,
        text=True,
        env=environ,
        timeout=600,
        check=False,
    )
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"no file system of our own can be mounted here: {done.stderr}")
    assert "Traceback" not in done.stderr, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    return [line for line in done.stdout.splitlines() if line.startswith(("code", "/"))] + errors


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "data"
    assert run("simulate", "chain", folder, "--sequences", "300", "--labels", "2").code == 0
    return folder


@pytest.fixture(scope="module")
def whole(data: Path) -> dict[str, str]:
    """The results of a run that nothing disturbed."""
    assert run("discover", data, "--out", data.parent / "whole", *QUICK).code == 0
    return digest(data.parent / "whole")


@pytest.fixture(scope="module")
def killed(data: Path) -> Path:
    """A run that was killed after phase 1 had begun."""
    folder = data.parent / "killed"
    killed_when(folder / "edges" / "plan.json", "discover", data, "--out", folder, *QUICK)
    assert not (folder / "report.html").exists()
    return folder


def test_a_full_disk_is_told_and_the_run_resumes(data: Path, tmp_path: Path, whole: dict[str, str]) -> None:
    lines = on_a_small_disk(data, tmp_path, size="200k", then="size=80m")
    assert len(lines) == 3, lines
    first, second, error = lines
    assert (first, second) == ("code 1", "code 0")  # and no working folder was left between them
    assert "cannot be written: No space left on device; free some space" in error
    assert digest(tmp_path / "copy") == whole


def test_a_read_only_folder_is_told(data: Path, tmp_path: Path) -> None:
    first, second, error = on_a_small_disk(data, tmp_path, "80m,ro", then="rw", resume="")
    assert (first, second) == ("code 1", "code 0")
    assert "run.json cannot be written: Read-only file system; choose a folder that you may write to" in error


def test_too_large_a_file_is_told(data: Path, tmp_path: Path) -> None:
    done = run("discover", data, "--out", tmp_path / "run", *QUICK, before=["prlimit", "--fsize=60000"])
    assert "File too large; allow larger files (ulimit -f)" in done.error
    assert leftovers(tmp_path) == []


def test_too_few_handles_are_told_and_the_run_resumes(
    data: Path, tmp_path: Path, whole: dict[str, str]
) -> None:
    out = ("--out", tmp_path / "run")
    done = run("discover", data, *out, *QUICK, before=["prlimit", "--nofile=8"])
    assert "Too many open files; allow more open files (ulimit -n)" in done.error
    assert ".part" not in done.error
    assert run("discover", data, *out, *QUICK, "--resume").code == 0
    assert digest(tmp_path / "run") == whole


def test_a_worker_without_memory_is_told_and_the_run_resumes(data: Path, tmp_path: Path) -> None:
    assert run("train", data, "--out", tmp_path / "run", "--size", "tiny", "--steps", "2").code == 0
    arguments = ("extract", tmp_path / "run", data, "--test", "prefix", "--workers", "2", "--shard", "64")
    process = start(*arguments)
    while process.poll() is None:
        for worker in _workers(process.pid):
            subprocess.run(["prlimit", f"--pid={worker}", "--as=200000000"], check=False, capture_output=True)
        time.sleep(0.01)
    error = process.communicate()[1].strip().splitlines()[-1]
    assert process.returncode == 1
    assert "memory" in error
    assert "--workers" in error
    assert run(*arguments, "--resume").code == 0


def _workers(parent: int) -> list[int]:
    """The processes that another one has started to work."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == parent:
                command = (path.parent / "cmdline").read_bytes()
                found += [int(path.parent.name)] if b"eventcargo.engines.worker" in command else []
        except OSError:  # it has ended
            continue
    return found


def test_a_clock_set_back_does_not_disturb_a_resumed_run(
    data: Path, killed: Path, tmp_path: Path, whole: dict[str, str]
) -> None:
    shutil.copytree(killed, tmp_path / "run")
    later = time.time() + 1e7
    for path in (tmp_path / "run").rglob("*"):
        os.utime(path, (later, later))
    assert run("discover", data, "--out", tmp_path / "run", *QUICK, "--resume").code == 0
    assert digest(tmp_path / "run") == whole


def test_a_folder_that_was_moved_is_resumed_and_swept(
    data: Path, killed: Path, tmp_path: Path, whole: dict[str, str]
) -> None:
    shutil.copytree(killed, tmp_path / "elsewhere" / "run")
    left = tmp_path / "elsewhere" / "run" / ".cases.parquet.abc.part"
    left.mkdir()
    (left / "file").write_text("half")
    assert run("discover", data, "--out", tmp_path / "elsewhere" / "run", *QUICK, "--resume").code == 0
    assert digest(tmp_path / "elsewhere" / "run") == whole
    assert leftovers(tmp_path) == []


def test_an_input_that_is_gone_is_told(data: Path, killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed, tmp_path / "run")
    shutil.copytree(data, tmp_path / "data")
    arguments = ("discover", tmp_path / "data", "--out", tmp_path / "run", *QUICK, "--resume")
    shutil.rmtree(tmp_path / "data")
    assert "data does not exist" in run(*arguments).error
    shutil.copytree(data, tmp_path / "data")
    assert run(*arguments).code == 0


def test_an_input_that_has_changed_is_told(data: Path, killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed, tmp_path / "run")
    shutil.copytree(data, tmp_path / "data")
    events = pl.read_parquet(tmp_path / "data" / "events.parquet")
    events.with_columns(time=pl.col("time") + 1).write_parquet(tmp_path / "data" / "events.parquet")
    done = run("discover", tmp_path / "data", "--out", tmp_path / "run", *QUICK, "--resume")
    assert "was begun with data='300 sequences" in done.error


def test_a_run_without_its_settings_is_told(data: Path, killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed, tmp_path / "run")
    (tmp_path / "run" / "run.json").unlink()
    for resume in ((), ("--resume",)):
        done = run("discover", data, "--out", tmp_path / "run", *QUICK, *resume)
        assert "has no run.json but linear.safetensors" in done.error


def test_a_foreign_model_is_told(data: Path, killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed, tmp_path / "run")
    assert run("train", data, "--out", tmp_path / "other", "--size", "tiny", "--steps", "1").code == 0
    shutil.rmtree(tmp_path / "run" / "model")
    shutil.copytree(tmp_path / "other" / "model", tmp_path / "run" / "model")
    done = run("discover", data, "--out", tmp_path / "run", *QUICK, "--resume")
    assert "model is not the model of this run: its files have changed" in done.error
