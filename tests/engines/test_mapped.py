"""Data several times as large as the memory that a worker may take."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from eventcargo import EventDataset
from eventcargo.ragged import Ragged

LENGTH, SEQUENCES = 2_000, 5_000
COLUMNS = LENGTH * SEQUENCES * 12
"""Bytes of event types and times."""

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
    rng = np.random.default_rng(0)
    starts = np.arange(SEQUENCES) * LENGTH
    data = EventDataset(
        sequence_ids=pa.array([f"car{i:05}" for i in range(SEQUENCES)], pa.large_string()),
        events=rng.integers(0, 50, LENGTH * SEQUENCES).astype(np.int32),
        times=np.tile(np.arange(LENGTH, dtype=np.float64), SEQUENCES),
        rows=Ragged(starts, starts + LENGTH),
        labels=np.zeros(0, np.int32),
        label_rows=Ragged(np.zeros(SEQUENCES, np.int64), np.zeros(SEQUENCES, np.int64)),
        event_names=[f"E{i}" for i in range(50)],
        label_names=[],
    )
    data.save(tmp_path / "data")
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
