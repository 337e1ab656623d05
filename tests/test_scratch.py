"""Arrays that may be larger than memory."""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eventcargo import scratch
from eventcargo.errors import WriteError
from eventcargo.scratch import Spool


def test_a_large_array_is_a_file_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "MOST_IN_MEMORY", 100)
    small, large = scratch.scratch(25, np.int32), scratch.scratch(26, np.int32)
    large[:] = np.arange(26)
    assert not isinstance(small, np.memmap)
    assert isinstance(large, np.memmap)
    assert list(tmp_path.iterdir()) == []
    assert large.sum() == 325


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files and mappings as Linux shows them")
def test_a_large_array_gives_its_space_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MOST_IN_MEMORY", 100)
    before = [deleted_mappings(), open_files()]
    arrays = [scratch.scratch(1000, np.int8) for _ in range(20)]
    assert deleted_mappings() == before[0] + 20
    del arrays
    gc.collect()
    assert [deleted_mappings(), open_files()] == before


def deleted_mappings() -> int:
    return sum("(deleted)" in line for line in Path("/proc/self/maps").read_text().splitlines())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("most", [0, 7, 10_000])
def test_a_spool_has_what_it_was_given(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MOST_IN_MEMORY", most)
    spool = Spool(np.int64)
    parts = [np.arange(n) for n in (3, 0, 5, 1)]
    for part in parts:
        spool.add(part.astype(np.int32))
    assert spool.array().tolist() == np.concatenate(parts).tolist()
    assert Spool(np.int32).array().tolist() == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files as Linux does")
@pytest.mark.parametrize("make", ["scratch(10**6, 'i8')", "spool_of(10**6)"])
def test_no_room_is_said_in_one_sentence(make: str) -> None:
    program = (
        "import resource, signal, numpy as np\n"
        "from eventcargo.scratch import Spool, scratch\n"
        "from eventcargo import scratch as module\n"
        "from eventcargo.errors import WriteError\n"
        "module.MOST_IN_MEMORY = 100\n"
        "def spool_of(n):\n"
        "    spool = Spool('i8'); spool.add(np.arange(n)); return spool.array()\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"try:\n    {make}\nexcept WriteError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "has no room for temporary files" in done.stdout, done.stderr
    assert "TMPDIR" in done.stdout
    assert issubclass(WriteError, Exception)


ON_A_SMALL_DISK = """
mount -t tmpfs -o size=1m tmpfs {disk} || exit 99
TMPDIR={disk} exec {python} -c '{program}'
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk as Linux does")
def test_a_full_disk_is_noticed_before_an_array_is_filled(tmp_path: Path) -> None:
    program = (
        "from eventcargo import scratch\n"
        "from eventcargo.errors import WriteError\n"
        "scratch.MOST_IN_MEMORY = 100\n"
        "try:\n"
        '    scratch.scratch(10**7, "i1")[:] = 1\n'
        "except WriteError as error:\n"
        "    print(error)\n"
    )
    script = ON_A_SMALL_DISK.format(disk=tmp_path, python=sys.executable, program=program)
    command = ["unshare", "-rm", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"NOT TESTED: a full disk; no file system can be mounted here: {done.stderr}")
    assert done.returncode == 0, done  # without room reserved, a signal ends the process
    assert f"{tmp_path} has no room for temporary files: No space left" in done.stdout
