"""How many requests a second the service answers, how long they take, and whether its memory stays flat.

A small run is trained and served by a process of its own, on loopback. Clients, each with a connection of its
own, ask about one sequence after the other. A tenth of the requests of each case warm up and are not counted.
Memory is the resident memory of the service after each tenth of many requests. Last, requests that are asked
together are compared with the same sequences in one request: what it could save to coalesce them.
Run: `python -m benchmarks.speed.service [--requests 2000] [--memory 10000]`.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import psutil

from benchmarks.record import provenance, save
from benchmarks.speed.start import SEED, make_run

CLIENTS = (1, 8, 32)
PATHS = ("/predict", "/explain")
TOGETHER = 8
PROGRAM = "from eventcargo.cli import main; main()"


@contextmanager
def service(run: Path, source: Path) -> Iterator[tuple[int, int]]:
    """A service of the run: the number of its process and its port."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", str(run), "--port", "0", "--json"],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    port = urlsplit(json.loads(process.stdout.readline())["address"]).port
    assert port is not None
    try:
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


def bodies(table: Path) -> list[bytes]:
    """Each sequence of a table of events as the body of a request."""
    events = pl.read_parquet(table).sort("sequence_id", "time")
    return [
        json.dumps(
            {
                "id": name,
                "events": [{"name": e["event"], "time": e["time"]} for e in own.iter_rows(named=True)],
            }
        ).encode()
        for (name,), own in events.group_by("sequence_id", maintain_order=True)
    ]


def ask(port: int, path: str, every: list[bytes], clients: int, requests: int) -> list[float]:
    """Seconds of each request, shared by some clients; every answer must be a good one."""
    taken: list[float] = []

    def work(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for at in range(number, requests, clients):
            began = time.perf_counter()
            connection.request("POST", path, every[at % len(every)], {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            taken.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == requests
    return taken


def case(port: int, path: str, every: list[bytes], clients: int, requests: int) -> dict[str, Any]:
    """Requests a second and how long they take."""
    ask(port, path, every, clients, max(requests // 10, clients))
    began = time.perf_counter()
    taken = sorted(1000 * seconds for seconds in ask(port, path, every, clients, requests))
    seconds = time.perf_counter() - began
    result = {
        "path": path,
        "clients": clients,
        "per_second": round(requests / seconds, 1),
        "median_ms": round(statistics.median(taken), 1),
        "p99_ms": round(taken[int(0.99 * (len(taken) - 1))], 1),
    }
    print(result, flush=True)
    return result


def memory(port: int, pid: int, every: list[bytes], requests: int) -> list[float]:
    """Resident megabytes of the service at first and after each tenth of the requests."""
    process, sizes = psutil.Process(pid), []
    for _ in range(11):
        sizes.append(round(process.memory_info().rss / 1e6, 1))
        ask(port, "/explain", every, 8, max(requests // 10, 8))
    print("megabytes", sizes, flush=True)
    return sizes


def together(port: int, every: list[bytes], rounds: int = 50) -> dict[str, float]:
    """Milliseconds a sequence: in requests of their own, and several in one request."""
    several = [
        json.dumps([json.loads(body) for body in every[at : at + TOGETHER]]).encode()
        for at in range(0, TOGETHER * 10, TOGETHER)
    ]
    alone = statistics.median(ask(port, "/predict", every, 1, rounds))
    joined = statistics.median(ask(port, "/predict", several, 1, rounds)) / TOGETHER
    result = {"alone_ms": round(1000 * alone, 2), "in_one_request_ms": round(1000 * joined, 2)}
    print(result, flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--memory", type=int, default=10_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    source = Path(__file__).parents[2] / "src"
    with tempfile.TemporaryDirectory() as name:
        run = make_run(Path(name), source)
        every = bodies(Path(name) / "data" / "events.parquet")
        with service(run, source) as (pid, port):
            cases = [case(port, path, every, n, options.requests) for path in PATHS for n in CLIENTS]
            coalesced = together(port, every)
            sizes = memory(port, pid, every, options.memory)
    result = {"requests": options.requests, "cases": cases, "together": coalesced}
    sizes_of = {"requests": options.memory, "megabytes": sizes}
    print(save("service", {**provenance(SEED), **result, "memory": sizes_of}, options.out))


if __name__ == "__main__":
    main()
