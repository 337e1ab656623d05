"""How long the regime `fleet` takes at the paper's size, and what comes out; prints JSON.

.venv/bin/python -m benchmarks.scale.simulating
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo.simulation import Simulated, simulate

from benchmarks.record import peak_gigabytes, provenance, save

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def main() -> None:
    options = _options()
    started = time.perf_counter()
    simulated = simulate(
        "fleet",
        sequences=options.sequences,
        event_types=options.event_types,
        labels=options.labels,
        seed=options.seed,
    )
    seconds = time.perf_counter() - started
    result = {**provenance(options.seed), "seconds": round(seconds, 2), **_summary(simulated)}
    print(json.dumps(result, indent=1))
    print(f"written to {save('simulating', result, options.out)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=100_000)
    parser.add_argument("--event-types", type=int, default=29_100)
    parser.add_argument("--labels", type=int, default=474)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    return parser.parse_args()


def _summary(simulated: Simulated) -> dict[str, Any]:
    data, truth = simulated.data, simulated.truth
    sizes = Counter(len(events) for events in truth.boundaries.values())
    return {
        "peak_gigabytes": round(peak_gigabytes(), 2),
        "sequences": len(data),
        "events": data.n_events,
        "event_types": len(data.event_names),
        "labels": len(data.label_names),
        "labels_per_sequence": round(float(data.label_rows.lengths.mean()), 2),
        "length_quantiles": np.quantile(data.lengths, QUANTILES).tolist(),
        "support_quantiles": np.quantile(data.support, QUANTILES).tolist(),
        "quantiles": QUANTILES,
        "negated_share": round(float(np.mean(truth.edges["sign"].to_numpy() < 0)), 3),
        "distinct_causes": truth.edges["event"].n_unique(),
        "boundary_sizes": {size: sizes[size] for size in sorted(sizes)},
    }


if __name__ == "__main__":
    main()
