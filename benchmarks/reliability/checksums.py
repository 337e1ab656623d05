"""What checksums cost: opening, reading and saving with them, as a share of the work beside which they stand.

python -m benchmarks.reliability.checksums --docs docs/results.md
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from eventcargo import EventDataset, read_events, write_events
from eventcargo.checksums import folder_checksums
from eventcargo.models import Counts
from eventcargo.models.loading import load_model
from eventcargo.models.pretrained import read_tensors
from eventcargo.simulation import simulate

from benchmarks.record import provenance, save, saved, show

REPEATS = 5


def seconds(work: Callable[[], object]) -> float:
    """The shortest of several times, in processor seconds."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=100_000)
    parser.add_argument("--docs", type=Path, default=None, help="text that has a place for the table")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--saved", action="store_true", help="only show the table of the saved result")
    options = parser.parse_args()
    if options.saved:
        show({"checksums": table(saved("checksums")["shares"])}, options.docs)
        return
    data = simulate("fleet", sequences=options.sequences, seed=0).data
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data.save(folder / "saved")
        write_events(data, folder / "tables")
        Counts.fit(data).save_pretrained(folder / "model")
        size = sum(path.stat().st_size for path in (folder / "saved").iterdir())
        figures = {
            "sequences": options.sequences,
            "megabytes": size / 1e6,
            "sums": seconds(lambda: folder_checksums(folder / "saved")),
            "open": seconds(lambda: EventDataset.load(folder / "saved")),
            "open without": seconds(lambda: EventDataset.load(folder / "saved", verify=False)),
            "fingerprint": seconds(lambda: EventDataset.load(folder / "saved", verify=False).fingerprint),
            "presence": seconds(lambda: EventDataset.load(folder / "saved", verify=False).presence()),
            "tables": seconds(lambda: read_events(folder / "tables")),
            "model": seconds(lambda: load_model(folder / "model")),
            "model file": seconds(lambda: read_tensors(folder / "model" / "model.safetensors")),
        }
    extra = figures["open"] - figures["open without"]
    rows = {
        "checksums, gigabytes a second": figures["megabytes"] / 1e3 / figures["sums"],
        "opening with checksums, beside the fingerprint that every run takes": extra / figures["fingerprint"],
        "the same, beside reading the same data from Parquet": extra / figures["tables"],
        "the same, beside one pass over the events (`presence`)": extra / figures["presence"],
    }
    save("checksums", {**provenance(0), **figures, "shares": rows}, options.out)
    show({"checksums": table(rows)}, options.docs)


def table(rows: Mapping[str, float]) -> str:
    """The shares."""
    return "\n".join(["| | |", "|---|---|", *(f"| {words} | {value:.2f} |" for words, value in rows.items())])


if __name__ == "__main__":
    main()
