"""Data several times as large as the memory that a worker may take."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from eventcargo import EventDataset, read_graph
from eventcargo.ragged import Ragged

from tests.reliability import programs
from tests.reliability.little_memory import NotPermittedError, memory_group

LENGTH, SEQUENCES = 2_000, 5_000
COLUMNS = LENGTH * SEQUENCES * 12
"""Bytes of event types and times."""


def noise(n_sequences: int, length: int, n_types: int, cause: bool = False) -> EventDataset:
    """Random events; with a `cause`, half of the sequences have the event type E0, and with it a label."""
    rng, starts = np.random.default_rng(0), np.arange(n_sequences) * length
    events = rng.integers(1, n_types, length * n_sequences, dtype=np.int32)
    carriers = np.flatnonzero(rng.random(n_sequences) < 0.5) if cause else np.zeros(0, np.int64)
    events[starts[carriers] + length - 3] = 0
    ends = np.searchsorted(carriers, np.arange(n_sequences + 1))
    return EventDataset(
        sequence_ids=pa.array([f"car{i:05}" for i in range(n_sequences)], pa.large_string()),
        events=events,
        times=np.tile(np.arange(length, dtype=np.float64), n_sequences),
        rows=Ragged(starts, starts + length),
        labels=np.zeros(len(carriers), np.int32),
        label_rows=Ragged(ends[:-1], ends[1:]),
        event_names=[f"E{i}" for i in range(n_types)],
        label_names=["brake"] if cause else [],
    )


UNIT = """
import resource, sys
import numpy as np
from eventcargo import EventDataset, Vocabulary
from eventcargo.batches import Batches

def count(data, shard):
    rows = np.arange(shard, shard + 100)
    return int(Batches(data.select(rows), vocabulary, 512).take(np.arange(100)).lengths.sum())

vocabulary = Vocabulary(tuple(f"E{i}" for i in range(50)))
count(EventDataset.load(sys.argv[1]), 0)  # loads the libraries
taken = next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]
most = int(taken) * 1024 + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # which does not count mapped files
data = EventDataset.load(sys.argv[1])
print(len(data), sum(count(data, shard) for shard in range(0, len(data), 100)))
try:
    np.array(data.times)
except MemoryError:
    print("a copy of a column does not fit")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_shards_of_data_five_times_as_large_as_the_memory_are_read(tmp_path: Path) -> None:
    noise(SEQUENCES, LENGTH, n_types=50).save(tmp_path / "data")
    done = subprocess.run(
        [sys.executable, "-c", UNIT, str(tmp_path / "data"), str(COLUMNS // 5)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{SEQUENCES} {512 * SEQUENCES}",
        "a copy of a column does not fit",
    ]


LONG, MANY, TYPES = 5_000, 14_000, 2_000
MEMORY = 650_000_000
"""What a whole run may take: less than its data, and not much more than the libraries and a few blocks."""


@pytest.mark.slow
def test_a_whole_run_on_data_larger_than_the_memory_of_the_machine(tmp_path: Path) -> None:
    data, run = tmp_path / "data", tmp_path / "run"
    noise(MANY, LONG, TYPES, cause=True).save(data)
    assert sum(path.stat().st_size for path in data.iterdir()) > 1.25 * MEMORY
    try:
        with memory_group(MEMORY) as group:
            done = programs.run(
                *("discover", data, "--out", run, "--workers", "1"),
                *("--max-length", "64", "--preset", "fast", "--steps", "2"),
                before=group.before,
            )
            assert group.peak <= MEMORY
    except NotPermittedError as error:
        pytest.skip(f"NOT TESTED: data larger than memory; {error}")
    assert done.code == 0, done
    assert read_graph(run / "graph.parquet").boundaries == {"brake": ["E0"]}
    shutil.rmtree(data)
