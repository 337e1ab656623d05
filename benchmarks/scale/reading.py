"""Speed and memory of `read_events` on one large Parquet file.

Makes a file of `--rows` events (one per 100 rows is a sequence, 5,000 event types) in a temporary folder,
reads it in a fresh process and reports rows, seconds and the peak of resident memory, beside the size of the
same rows as Python tuples. `--order interleaved` mixes the sequences row by row, the hard case;
`--order sorted` has them one after the other.

    .venv/bin/python -m benchmarks.scale.reading --rows 20000000
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.record import peak_gigabytes, provenance, save

SAMPLE = 100_000
CHUNK = 1_000_000


def main() -> None:
    arguments = _arguments()
    if arguments.make:
        make(Path(arguments.make), arguments.rows, arguments.order, arguments.seed)
    elif arguments.read:
        print(json.dumps(read(Path(arguments.read))))
    else:
        result = measure(arguments)
        print(json.dumps(result, indent=1))
        print(f"written to {save('reading', result, arguments.out)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--order", choices=["interleaved", "sorted"], default="interleaved")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--read", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    """Make and read in processes of their own: a parent's memory would count in the child's peak."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        options = ["--rows", str(arguments.rows), "--order", arguments.order, "--seed", str(arguments.seed)]
        again = [sys.executable, "-m", "benchmarks.scale.reading"]
        subprocess.run([*again, "--make", str(path), *options], check=True)
        child = subprocess.run([*again, "--read", str(path)], check=True, capture_output=True, text=True)
        size = path.stat().st_size
    return {
        **json.loads(child.stdout),
        "file_mb": round(size / 1e6, 1),
        "order": arguments.order,
        **provenance(arguments.seed),
    }


def make(path: Path, rows: int, order: str, seed: int) -> None:
    """A Parquet file of events, written in chunks."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    n_sequences = max(rows // 100, 1)
    ids = pa.array([f"vehicle{i:07d}" for i in range(n_sequences)])
    names = pa.array([f"code{i:04d}" for i in range(5_000)])
    schema = pa.schema({"sequence_id": pa.string(), "time": pa.float64(), "event": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, CHUNK):
            at = np.arange(start, min(start + CHUNK, rows))
            which = at * n_sequences // rows if order == "sorted" else rng.integers(n_sequences, size=len(at))
            columns = [
                ids.take(pa.array(which)),
                pa.array(at / 10),
                names.take(pa.array(_events(rng, len(at)))),
            ]
            writer.write_table(pa.table(columns, schema=schema))


def _events(rng: "object", size: int) -> "object":
    """Event types with a long tail, as real ones have."""
    return (5_000 * rng.random(size) ** 3).astype(int)  # type: ignore[attr-defined]


def read(path: Path) -> dict[str, object]:
    """Rows, seconds and peak of one reading in this process, and the size of the rows as Python objects."""
    from eventcargo import read_events

    begin = time.perf_counter()
    data = read_events(path)
    seconds = time.perf_counter() - begin
    peak = peak_gigabytes()
    return {
        "rows": data.n_events,
        "sequences": len(data),
        "event_types": len(data.event_names),
        "seconds": round(seconds, 2),
        "rows_per_second": round(data.n_events / seconds),
        "peak_gigabytes": round(peak, 2),
        "python_objects_gigabytes": round(_object_bytes(path) * data.n_events / 1024**3, 2),
    }


def _object_bytes(path: Path) -> float:
    """Bytes of one row as a Python tuple in a list, on average over the first rows."""
    import pyarrow.parquet as pq

    batch = next(pq.ParquetFile(path).iter_batches(SAMPLE))
    rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    total = sys.getsizeof(rows) + sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in rows)
    return total / len(rows)


if __name__ == "__main__":
    main()
