"""How often `compare` reports an edge that did not change, and finds one whose effect was halved.

Pairs of fleets of the regimes `log_odds` and `noisy_or`: the two halves of the sequences of one simulation,
so that both fleets have the same process of events. In the second fleet a random half of the causes has half
its effect: half the log odds, or half the probability to produce the label. The labels of both fleets are
drawn by the rules that the simulator tells. Boundaries are found in each fleet by itself, by IAMB, and with
`--runs` by `discover --preset fast --steps 2`, and compared. Counted are all pairs looked at: unchanged edges
(true causes that stayed as they were), false edges, and halved ones. Beside that stand pairs of fleets in
which nothing changed. What is done is kept in benchmarks/parts; `--regimes` does a part of it.

Test seeds 0 to 4, validation seeds 100 to 104. Run:
`.venv/bin/python -m benchmarks.accuracy.compare [--seeds validation] [--docs docs/results.md]`
"""

import argparse
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo import Cargo, EventDataset, LabelGraph, compare, find_boundaries
from eventcargo.events import Ragged
from eventcargo.simulation import Simulated, simulate

from benchmarks.record import PARTS, kept, provenance, save, show

SEEDS = {"test": range(5), "validation": range(100, 105)}
SIZES = (1_000, 3_000, 8_000, 20_000)
"""Sequences of each fleet."""

RUN_SIZE, STEPS = 3_000, 2
"""Size at which whole runs find the boundaries, too, and their training steps: the linear term is enough."""

KINDS = ("unchanged", "false", "halved")

EFFECT = re.compile(r"(E\d+) (?:x ([\d.e+-]+)|\(([\d.]+))")
"""A cause and its factor of the odds, or its probability, in the words of a rule."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", choices=list(SEEDS), default="test")
    parser.add_argument("--regimes", nargs="+", default=["log_odds", "noisy_or"])
    parser.add_argument("--runs", action="store_true", help="boundaries of whole runs, too: an hour")
    parser.add_argument("--docs", type=Path, default=None, help="text whose tables are made anew")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cases = [("iamb", size, is_same) for size in SIZES for is_same in (True, False)]
    cases += [("fast", RUN_SIZE, False)] if options.runs else []
    rows = [measure(regime, *case, SEEDS[options.seeds]) for regime in options.regimes for case in cases]
    result = {**provenance(list(SEEDS[options.seeds])), "rows": rows}
    print(f"written to {save('compare', result, options.out)}")
    show({"compare": table(rows)}, options.docs)


def measure(regime: str, method: str, size: int, is_same: bool, seeds: range) -> dict[str, Any]:
    """The counts over all seeds."""
    total: dict[str, int] = {}
    for seed in seeds:
        unit = (regime, method, size, is_same, seed)
        part = PARTS / "compare" / f"{'_'.join(map(str, unit))}.json"
        for name, count in kept(part, partial(counts, *unit)).items():
            total[name] = total.get(name, 0) + count
    row = {"regime": regime, "boundaries by": method, "sequences": size, "halved": not is_same, **total}
    print(row, flush=True)
    return row


def counts(regime: str, method: str, size: int, is_same: bool, seed: int) -> dict[str, int]:
    """Pairs looked at and reported in one pair of fleets."""
    simulated = simulate(regime, sequences=2 * size, seed=seed)
    rng = np.random.default_rng([seed, size, 7])
    effects = effects_of(simulated)
    halved = set() if is_same else {pair for pair in effects if rng.random() < 0.5}
    fleets = [
        labelled(
            simulated,
            rows,
            {pair: weaker(regime, value, pair in cut) for pair, value in effects.items()},
            rng,
        )
        for rows, cut in ((slice(0, size), set()), (slice(size, None), halved))
    ]
    graphs = [boundaries(method, fleet, seed) for fleet in fleets]
    found = compare(*zip(graphs, fleets, strict=True))
    edges = [
        (tuple(pair), change, share)
        for *pair, change, share in found.edges.select(
            "label", "event", "change", "frequency_changed"
        ).iter_rows()
    ]
    kinds = {
        "unchanged": [e for e in edges if e[0] in effects and e[0] not in halved],
        "false": [e for e in edges if e[0] not in effects],
        "halved": [e for e in edges if e[0] in halved],
    }
    changed = {
        kind: sum(change not in ("none", "frequency") for _, change, _ in rows)
        for kind, rows in kinds.items()
    }
    return {
        **{f"{kind} edges": len(rows) for kind, rows in kinds.items()},
        **{f"{kind} reported": changed[kind] for kind in kinds},
        **{f"{kind} frequency": sum(share for *_, share in rows) for kind, rows in kinds.items()},
        "found by one": int((found.edges["found"] != "both").sum()),
        "halved in all": len(halved),
    }


def effects_of(simulated: Simulated) -> dict[tuple[str, str], float]:
    """The factor or probability of every cause, from the rules in words."""
    return {
        (label, event): float(factor or probability)
        for label, rule in simulated.rules.items()
        for event, factor, probability in EFFECT.findall(rule)
    }


def weaker(regime: str, value: float, is_halved: bool) -> float:
    """The effect, or half of it: half the log odds, or half the probability."""
    if not is_halved:
        return value
    return value**0.5 if regime == "log_odds" else value / 2


def labelled(
    simulated: Simulated, rows: slice, effects: dict[tuple[str, str], float], rng: np.random.Generator
) -> EventDataset:
    """Some of the sequences, with labels drawn by these effects."""
    data = simulated.data[rows]
    presence, place = data.presence().tocsc(), {name: at for at, name in enumerate(data.event_names)}
    logits, spared = (np.zeros((len(data), len(data.label_names))) for _ in range(2))
    for (label, event), value in effects.items():
        has = presence[:, [place[event]]].toarray()[:, 0] > 0
        number = data.label_names.index(label)
        if simulated.regime == "log_odds":
            logits[:, number] += np.log(value) * has
        else:
            spared[:, number] += np.log1p(-value) * has
    settings = simulated.settings
    if simulated.regime == "log_odds":
        rate = settings["base_rate"]
        chance = 1 / (1 + (1 - rate) / rate * np.exp(-logits))
    else:
        chance = 1 - (1 - settings["leak"]) * np.exp(spared)
    return with_labels(data, np.asarray(rng.random(chance.shape) < chance))


def with_labels(data: EventDataset, carried: NDArray[np.bool_]) -> EventDataset:
    """The same sequences with other labels."""
    return EventDataset(
        sequence_ids=data.sequence_ids,
        events=data.events,
        times=data.times,
        rows=data.rows,
        labels=np.nonzero(carried)[1].astype(np.int32),
        label_rows=Ragged.from_offsets(np.concatenate([[0], np.cumsum(carried.sum(1))]).astype(np.int64)),
        event_names=data.event_names,
        label_names=data.label_names,
    )


def boundaries(method: str, data: EventDataset, seed: int) -> LabelGraph:
    """The boundaries that a method finds."""
    return (
        find_boundaries(data)
        if method == "iamb"
        else Cargo(preset="fast", steps=STEPS, seed=seed).fit(data).graph_
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The counts in Markdown."""
    lines = [
        "| regime | boundaries by | sequences of each fleet | effects | edges found by one search alone "
        "| unchanged edges reported | false edges reported | halved edges found | of all halved "
        "| reported in frequency |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = "`discover --preset fast`" if row["boundaries by"] == "fast" else "IAMB"
        cells = [
            row["regime"],
            name,
            f"{row['sequences']:,}",
            "half of them halved" if row["halved"] else "all the same",
            f"{row['found by one']:,} of {sum(row[f'{kind} edges'] for kind in KINDS):,}",
            *(_share(row, kind, "reported") for kind in KINDS),
            f"{row['halved reported'] / row['halved in all']:.1%}" if row["halved"] else "-",
            _of_all(row),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _of_all(row: dict[str, Any]) -> str:
    """How many edges are reported to have changed in frequency; none has."""
    count, edges = (sum(row[f"{kind} {what}"] for kind in KINDS) for what in ("frequency", "edges"))
    return f"{count:,} of {edges:,} ({count / edges:.1%})"


def _share(row: dict[str, Any], kind: str, what: str) -> str:
    count, edges = row[f"{kind} {what}"], row[f"{kind} edges"]
    return f"{count:,} of {edges:,} ({count / edges:.1%})" if edges else "-"


if __name__ == "__main__":
    main()
