"""The methods of Table 1 on a simulated fleet: whole runs of ours, our baselines, and those of pyCausalFS."""

import contextlib
import importlib.util
import math
import multiprocessing
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import EdgeTable, LabelGraph, find_boundaries
from eventcargo.discovery import DiscoverConfig, Discovery
from eventcargo.verification.verify import verify

from benchmarks.accuracy.pycausalfs import theirs
from benchmarks.paper.parts import Setup, global_scores

WHOLE = {"paper": 3, "default": 2}
"""Time of whole runs, by preset, as multiples of the time of training; the paper's test takes longer."""


def baseline(setup: Setup, method: str) -> dict[str, Any]:
    """One of our own baselines on the sequences of Table 1."""
    data = setup.split[0]
    began = time.process_time()
    graph = find_boundaries(data, method)
    seconds = time.process_time() - began
    return {"method": method, "seconds": seconds, **global_scores(graph, data, setup)}


def cargo(setup: Setup, name: str) -> dict[str, Any]:
    """A whole run of ours, training included; that of the paper also with its edges verified on the data."""
    config = DiscoverConfig(
        preset=name,  # type: ignore[arg-type]  # it checks
        size="small",
        max_time=f"{60 * WHOLE[name] * setup.minutes:.0f}s",
        steps=setup.steps,
        workers=1,
        seed=setup.seed,
    )
    data = setup.split[0]
    with tempfile.TemporaryDirectory() as home:
        run = Discovery(data, Path(home) / "run", config)
        began = time.process_time()
        found = run.run()
        seconds = time.process_time() - began
        row = {"method": f"cargo-{name}", "seconds": seconds, "stages": run.manifest.seconds}
        row |= global_scores(found.graph, data, setup)
        if name == "paper":
            table = EdgeTable.read(found.edges)
            row["verified"] = global_scores(verify(found.graph, data), data, setup)
            row["sequences_tested"] = int(table.positives["sequences"].max() or 0)  # type: ignore[arg-type]
        return row


def their_baseline(setup: Setup, method: str, limit: str) -> dict[str, Any]:
    """pyCausalFS, label after label, in a process that is killed after so many seconds of processor time."""
    if importlib.util.find_spec("pyCausalFS") is None:
        return {"method": method, "absent": True}
    labels = len(setup.split[0].label_names)
    here, there = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=_their_work, args=(there, setup, method, float(limit)))
    worker.start()
    there.close()
    found, seconds = dict[str, list[str]](), float(limit)
    with contextlib.suppress(EOFError):  # the other end is closed: all labels done, or killed
        while True:
            label, events, seconds = here.recv()
            found[label] = events
    worker.join()
    if worker.exitcode not in (0, -signal.SIGKILL, -signal.SIGXCPU):
        raise RuntimeError(f"pyCausalFS's {method} failed with exit code {worker.exitcode}")
    if len(found) < labels:
        return {"method": method, "seconds": float(limit), "labels_done": len(found), "labels": labels}
    scores = global_scores(LabelGraph.from_boundaries(found), setup.split[0], setup)
    return {"method": method, "seconds": seconds, "labels_done": labels, **scores}


def _their_work(pipe: Any, setup: Setup, method: str, limit: float) -> None:
    """One label after the other, in an order drawn at random; each target is the last column."""
    data = setup.split[0]
    presence = data.presence().toarray().astype(np.int16)
    labels = data.label_matrix().toarray()
    began = time.process_time()
    most = math.ceil(began + limit)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    for label in np.random.default_rng(setup.seed).permutation(labels.shape[1]).tolist():
        found = theirs(method, np.column_stack([presence, labels[:, label]]).astype(np.int16))
        names = [data.event_names[column] for column in found]
        pipe.send((data.label_names[label], names, time.process_time() - began))
