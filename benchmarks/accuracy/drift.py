"""When `update` calls a model out of date: false alarms without a change, and planted changes that are found.

A process makes the sequences that a model was trained on and new ones; its own probabilities are the model,
so that a finding is due to the sequences alone. Changes: three event types occur twice as often, a label is
carried twice as often, a tenth of the events has types that are new.
Run: `OMP_NUM_THREADS=1 python -m benchmarks.accuracy.drift [--seeds 40] [--out FILE]`; about 3 minutes.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from eventcargo import EventDataset
from eventcargo.drift import find_drift
from eventcargo.models import Oracle
from eventcargo.simulation.exact import ExactConfig, ExactProcess

from benchmarks.record import provenance, save

BEFORE = 4_000
NEW = (500, 2_000)
"""Sequences that a model was trained on, and new ones."""

Change = Callable[[EventDataset, np.random.Generator], EventDataset]


def doubled_types(data: EventDataset, draw: np.random.Generator) -> EventDataset:
    """Three event types, drawn at random, occur twice as often."""
    chosen = set(draw.choice(data.event_names, 3, replace=False).tolist())
    sequences = []
    for one in data:
        events = tuple(name for event in one.events for name in [event] * (1 + (event in chosen)))
        sequences.append(replace(one, events=events, times=tuple(map(float, range(len(events))))))
    return EventDataset.from_sequences(sequences)


def doubled_label(data: EventDataset, draw: np.random.Generator) -> EventDataset:
    """As many sequences without the first label as carry it carry it, too."""
    label = data.label_names[0]
    without = [at for at, one in enumerate(data) if label not in one.labels]
    chosen = set(draw.choice(without, min(data.label_support[label], len(without)), replace=False).tolist())
    return EventDataset.from_sequences(
        [replace(one, labels=(*one.labels, label)) if at in chosen else one for at, one in enumerate(data)]
    )


def new_types(data: EventDataset, draw: np.random.Generator) -> EventDataset:
    """A tenth of the events has one of five types that nobody has seen."""
    return EventDataset.from_sequences(
        [
            replace(
                one,
                events=tuple(f"N{draw.integers(5)}" if draw.random() < 0.1 else name for name in one.events),
            )
            for one in data
        ]
    )


CHANGES: dict[str, Change] = {
    "none": lambda data, _: data,
    "rates of three event types doubled": doubled_types,
    "base rate of a label doubled": doubled_label,
    "a tenth of the events of new types": new_types,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for n_new in NEW:
        found = dict.fromkeys(CHANGES, 0)
        for seed in range(options.seeds):
            process = ExactProcess.from_config(ExactConfig(), seed=seed)
            data = process.sample(BEFORE + n_new, seed=seed).data
            for name, change in CHANGES.items():
                new = change(data[BEFORE:], np.random.default_rng(seed))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # longer sequences than the process makes
                    found[name] += find_drift(Oracle(process), data[:BEFORE], new).is_out_of_date
        rows += [{"new": n_new, "change": name, "found": n, "of": options.seeds} for name, n in found.items()]
        for row in rows[-len(CHANGES) :]:
            print(row, flush=True)
    path = save("drift", {**provenance(list(range(options.seeds))), "runs": rows}, options.out)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
