"""The constants of `discovery/estimate.py`, fitted to the points of `growth.py`.

The cost of a stage is a sum of amounts (events, labels, pairs of them ...), each with a constant of its own
that is not negative; the sum of squared relative errors is least. Prints the constants as they stand in
`estimate.py`. Run after `growth.py`: `.venv/bin/python -m benchmarks.scale.growth_model`
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from eventcargo.discovery.estimate import BYTES_A_WEIGHT, amounts, count_weights, weigh

from benchmarks.record import RESULTS
from benchmarks.scale.growth import STAGES, Row, settings

OF_LABELS = ("label", "label_root", "positive", "label_sequence", "label_type")
TERMS = {
    "linear term": ("run", "event", "label_event", *OF_LABELS),
    "network": (
        "run",
        "event",
        "event_type",
        "length",
        "held_event",
        "held_square",
        "label",
        "label_sequence",
    ),
    "extract": ("run", "event", "event_type", *OF_LABELS),
    "fuse": ("run", "event", *OF_LABELS),
    "verify": ("run", "event", *OF_LABELS),
    "baseline": ("run", "event", *OF_LABELS),
    "rules": ("run", "event", *OF_LABELS),
    "judge": ("run", "event", *OF_LABELS),
    "report": ("run", "event", *OF_LABELS),
}
"""The amounts on which the seconds of a stage may depend."""

IN_MEMORY = ("run", "kept_event", "sequence", "event_type", "held_square", "label", "label_type")
ROUNDS = 20
SHORT, SMALL = 0.2, 0.1
"""Seconds and gigabytes below which an error counts as if they were these."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=Path, default=RESULTS / "growth.json")
    rows: list[Row] = json.loads(parser.parse_args().points.read_text())["points"]
    print("COSTS =", json.dumps(fitted_costs(rows), indent=4))
    print("MEMORY =", json.dumps(fitted_memory(rows), indent=4))
    report(rows)


def fitted_costs(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Seconds by stage and amount."""
    return {
        stage: fit(rows, TERMS[stage], [row["stages"][stage]["seconds"] for row in rows], SHORT)
        for stage in STAGES
    }


def fitted_memory(rows: Sequence[Row]) -> dict[str, float]:
    """Bytes by amount, besides those of weights."""
    rest = [row["peak_gigabytes"] - weight_bytes(row) / 1024**3 for row in rows]
    return {name: float(f"{each * 1024**3:.3g}") for name, each in fit(rows, IN_MEMORY, rest, SMALL).items()}


def weight_bytes(row: Row) -> float:
    shape = settings(row["size"]).transformer
    return BYTES_A_WEIGHT * count_weights(shape, row["types_seen"], row["size"]["labels"])


def fit(rows: Sequence[Row], terms: Sequence[str], costs: Sequence[float], least: float) -> dict[str, float]:
    """The constants of these amounts with the least relative error, without those that are 0.

    An error counts relative to the geometric mean of cost and estimate, so that twice is as bad as half.
    """
    matrix: NDArray[Any] = np.array([[amounts_of(row)[name] for name in terms] for row in rows])
    scale = matrix.max(axis=0)  # so that the solver sees numbers of one size
    found, guess = np.zeros(len(terms)), np.array(costs)
    for _ in range(ROUNDS):
        weight = 1 / np.sqrt(np.maximum(costs, least) * np.maximum(guess, least))
        found = nnls(matrix / scale * weight[:, None], np.array(costs) * weight)[0] / scale
        guess = matrix @ found
    return {name: float(f"{each:.3g}") for name, each in zip(terms, found, strict=True) if each > 0}


def amounts_of(row: Row) -> dict[str, float]:
    size = row["size"]
    return amounts(
        size["sequences"],
        row["types_seen"],
        size["labels"],
        row["events"],
        row["positives"],
        settings(size).max_length,
    )


def report(rows: Sequence[Row]) -> None:
    """How well the constants give back the points themselves."""
    costs, memory = fitted_costs(rows), fitted_memory(rows)
    for row in rows:
        amount = amounts_of(row)
        ratios = {stage: weigh(costs[stage], amount) / row["stages"][stage]["seconds"] for stage in STAGES}
        whole = sum(weigh(terms, amount) for terms in costs.values()) / row["seconds"]
        peak = (weigh(memory, amount) + weight_bytes(row)) / 1024**3 / row["peak_gigabytes"]
        shown = ", ".join(f"{stage} {ratio:.2f}" for stage, ratio in ratios.items())
        print(f"{list(row['size'].values())}: seconds {whole:.2f}, memory {peak:.2f}; {shown}")


if __name__ == "__main__":
    main()
