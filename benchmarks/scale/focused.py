"""What focused networks cost: processor seconds and memory of the survey and of the networks themselves.

The survey looks for labels of which the linear term leaves something over, and for the candidates of each; it
is part of every run. Networks are trained only for the labels that it finds.
Run: `.venv/bin/python -m benchmarks.scale.focused [--regime fleet --sequences 50000 --event-types 29100
--labels 474]`
"""

import argparse
import time
from pathlib import Path
from typing import Any

from eventcargo.models.focused.fit import LABELS_AT_ONCE, FocusedConfig, Survey, fit_labels
from eventcargo.models.linear.fit import fit_linear
from eventcargo.simulation import simulate
from eventcargo.vocabulary import Vocabulary

from benchmarks.record import peak_gigabytes, provenance, save


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regime", default="fleet")
    parser.add_argument("--sequences", type=int, default=50_000)
    parser.add_argument("--event-types", type=int, default=29_100)
    parser.add_argument("--labels", type=int, default=474)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    size = {"sequences": options.sequences, "event_types": options.event_types, "labels": options.labels}
    figures = {"regime": options.regime, **size, **measure(options.regime, size, options.seed)}
    for name, value in figures.items():
        print(f"{name:28} {value}")
    print(f"written to {save('focused_scale', {**provenance(options.seed), **figures}, options.out)}")


def measure(regime: str, size: dict[str, int], seed: int) -> dict[str, Any]:
    """Processor seconds of each part, and peak memory after it."""
    data = simulate(regime, seed=seed, **size).data
    vocabulary, config = Vocabulary.from_dataset(data), FocusedConfig()
    began = time.process_time()
    term = fit_linear(data, vocabulary, 512, seed=seed)
    linear, linear_memory = time.process_time() - began, peak_gigabytes()
    survey = Survey.of(data, vocabulary, 512, term, config, seed)
    labels = [label for label in survey.unsure_first() if survey.is_left_over(label)]
    surveyed = time.process_time() - began - linear
    blocks = [labels[at : at + LABELS_AT_ONCE] for at in range(0, len(labels), LABELS_AT_ONCE)]
    fitted = [one for block in blocks for one in fit_labels(survey, block, config)]
    trained = time.process_time() - began - linear - surveyed
    return {
        "events": data.n_events,
        "linear_seconds": round(linear, 1),
        "survey_seconds": round(surveyed, 2),
        "network_seconds": round(trained, 1),
        "unsure_labels": len(survey.unsure),
        "labels_to_learn": len(labels),
        "networks": len(fitted),
        "linear_gigabytes": round(linear_memory, 2),
        "gigabytes": round(peak_gigabytes(), 2),
    }


if __name__ == "__main__":
    main()
