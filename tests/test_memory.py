import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eventcargo.errors import ConfigError
from eventcargo.memory import (
    MemoryLimitError,
    children,
    limit_memory,
    parse_memory,
    private_bytes,
    show_memory,
)

LARGE = 200 * 2**20

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory in /proc")


@pytest.mark.parametrize(("text", "size"), [("800M", 800 * 2**20), ("4g", 2**32), ("2 GB", 2**31), ("9", 9)])
def test_amounts_are_read(text: str, size: float) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["lots", "0G", "-1G", "4T", "4 4G"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="use a number with M or G, such as 800M or 4G"):
        parse_memory(text)


@pytest.mark.parametrize("size", [1.0, 5e8, 2**30 - 1.0, 2**30, 3.21e9, 7e12])
def test_an_amount_to_allow_is_enough(size: float) -> None:
    assert size <= parse_memory(show_memory(size)) <= max(1.1 * size, 2**20)


def a_little_more() -> str:
    return f"{private_bytes() + LARGE / 2:.0f}"


def wait_until_ended() -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        time.sleep(0.05)


def take_much() -> None:
    taken = np.ones(LARGE, np.uint8)
    wait_until_ended()
    assert taken.all()


def start_one_that_takes_much() -> None:
    code = f"import sys; taken = b'1' * {LARGE}; print('taken', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        try:
            wait_until_ended()
        finally:
            process.kill()


@needs_proc
@pytest.mark.parametrize("work", [take_much, start_one_that_takes_much])
def test_work_that_takes_more_memory_than_its_limit_is_ended(work: Callable[[], None]) -> None:
    words = r"max_memory='\d+': the work takes more, [\d.]+[MG] so far, and was ended; allow"
    with limit_memory(a_little_more()), pytest.raises(MemoryLimitError, match=words):
        work()


@needs_proc
def test_a_child_counts_once_it_runs_a_program_of_its_own() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        fork = os.fork()
        if not fork:
            time.sleep(60)
            os._exit(0)
        try:
            assert str(program.pid) in children()
            assert str(fork) not in children()  # it shares the memory of this process
        finally:
            os.kill(fork, signal.SIGKILL)
            os.waitpid(fork, 0)


@needs_proc
def test_the_signal_means_what_it_meant_before() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with limit_memory("1000G"):
        assert signal.getsignal(signal.SIGUSR1) is not before
    assert signal.getsignal(signal.SIGUSR1) is before


@needs_proc
def test_mapped_files_do_not_count(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.ones(LARGE, np.uint8))
    with limit_memory(a_little_more()):
        assert np.load(tmp_path / "large.npy", mmap_mode="r").sum() == LARGE
        time.sleep(0.3)


def test_work_within_its_limit_runs_to_its_end_and_no_limit_is_none() -> None:
    for text in (f"{private_bytes() + 10 * LARGE:.0f}", ""):
        with limit_memory(text):
            time.sleep(0.3)
