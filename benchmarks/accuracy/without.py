"""How often the interval of `without` holds what the simulator's own intervention does.

Every cause of the regimes `log_odds` and `noisy_or` is prevented in the simulation itself (the setting
`without`: the same process, the same random numbers), in 200,000 sequences. The mean difference of the labels
is the truth. `without` estimates it from data sets of 1,000 to 8,000 sequences in which nothing was
prevented, given the true boundaries and those that IAMB finds; so it does for pairs of causes of a label that
are prevented together. In the regime `confounded` the assumptions do not hold: a hidden cause raises the
decoy and the label. There whole runs (`discover --preset fast --steps 2`) show how often the verdict warns.
What is done is kept in benchmarks/parts; `--regimes` does a part of it.

Test seeds 0 to 4, validation seeds 100 to 104. Run:
`.venv/bin/python -m benchmarks.accuracy.without [--seeds validation] [--docs docs/results.md]`
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eventcargo import Cargo, EventDataset, LabelGraph, find_boundaries
from eventcargo.intervention import Without, without
from eventcargo.simulation import Simulated, simulate
from eventcargo.verdicts import Verdict

from benchmarks.record import PARTS, kept, provenance, save, show

SEEDS = {"test": range(5), "validation": range(100, 105)}
SIZES = (1_000, 3_000, 8_000)
"""Sequences of a data set."""

RUN_SIZE, STEPS = 3_000, 2
"""Size at which whole runs find the boundaries of `confounded`, and judge them, and their training steps: the
linear term is enough. Verdicts on the other regimes are counted by `run.py --cases weak`."""

MANY = {"log_odds": 200_000, "noisy_or": 200_000, "confounded": 50_000}
"""Sequences in which an intervention shows its effect."""

BARE = {"background_min": 1, "background_max": 1}
"""Settings that leave out the background, which changes neither causes nor labels, and takes most time."""

Target = tuple[str, tuple[str, ...]]
"""A label and the event types that are prevented."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", choices=list(SEEDS), default="test")
    parser.add_argument("--regimes", nargs="+", default=list(MANY))
    parser.add_argument("--docs", type=Path, default=None, help="text whose tables are made anew")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    seeds = SEEDS[options.seeds]
    answers = [
        answer
        for regime in options.regimes
        for seed in seeds
        for answer in kept(PARTS / "without" / f"{regime}_{seed}.json", partial(answers_of, regime, seed))
    ]
    rows = summary(answers)
    result = {**provenance(list(seeds)), "sequences of the truth": MANY, "rows": rows}
    print(f"written to {save('without', result, options.out)}")
    show({"without": table(rows)}, options.docs)


def answers_of(regime: str, seed: int) -> list[dict[str, Any]]:
    """All answers on one process, each beside the truth."""
    answers = []
    bare = {} if regime == "confounded" else BARE
    process = simulate(regime, sequences=MANY[regime], seed=seed, **bare)
    truth = dict(effects(process, seed))
    for size in SIZES:
        simulated = simulate(regime, sequences=size, seed=seed)
        for method, graph, verdicts in boundaries(simulated, seed):
            for (label, events), effect in truth.items():
                if not set(events) <= set(graph.boundaries.get(label, ())):
                    continue
                answer = without(graph, simulated.data, events, label, verdicts=verdicts)[0]
                key = {"regime": kind(process, label, events), "boundaries": method, "sequences": size}
                answers.append({**key, "events": len(events), **measured(answer, effect * size)})
    print(f"{regime} {seed} done", flush=True)
    return answers


def kind(process: Simulated, label: str, events: tuple[str, ...]) -> str:
    """The regime; of `confounded` also whether the cause or the decoy is prevented."""
    if process.regime != "confounded":
        return process.regime
    return "confounded, cause" if set(events) <= set(process.truth.boundary(label)) else "confounded, decoy"


def boundaries(
    simulated: Simulated, seed: int
) -> Iterator[tuple[str, LabelGraph, Mapping[str, Verdict] | None]]:
    """True boundaries and those found, with the verdicts on those of a run."""
    if simulated.regime != "confounded":
        yield "true", simulated.truth, None
    yield "IAMB", find_boundaries(simulated.data), None
    if simulated.regime == "confounded" and len(simulated.data) == RUN_SIZE:
        cargo = Cargo(preset="fast", steps=STEPS, seed=seed).fit(simulated.data)
        yield "`discover --preset fast`", cargo.graph_, cargo.verdicts_


def effects(process: Simulated, seed: int) -> Iterator[tuple[Target, float]]:
    """By how much each intervention lowers the share of sequences with its label.

    Labels have causes of their own, so one simulation prevents one cause of every label.
    """
    targets = {label: list(targets_of(process, label)) for label in process.truth.labels}
    settings = {
        name: value for name, value in process.settings.items() if name not in ("sequences", "without")
    }
    for round_ in range(max(map(len, targets.values()))):
        chosen = {label: own[round_] for label, own in targets.items() if len(own) > round_}
        absent = tuple(event for events in chosen.values() for event in events)
        after = simulate(process.regime, sequences=len(process.data), seed=seed, without=absent, **settings)
        for label, events in chosen.items():
            yield (label, events), share(process.data, label) - share(after.data, label)


def targets_of(process: Simulated, label: str) -> Iterator[tuple[str, ...]]:
    """What is prevented: every cause, the first two causes together, and decoys."""
    causes = process.truth.boundary(label)
    yield from ((cause,) for cause in causes)
    if len(causes) > 1:
        yield tuple(causes[:2])
    if process.regime == "confounded":
        yield (process.rules[label].rsplit(" ", 1)[1],)


def share(data: EventDataset, label: str) -> float:
    return data.label_support[label] / len(data)


def measured(answer: Without, truth: float) -> dict[str, Any]:
    """An answer beside the truth."""
    return {
        "covered": answer.fewer_low <= truth <= answer.fewer_high,
        "above": answer.fewer_low > truth,
        "below": answer.fewer_high < truth,
        "error": answer.fewer - truth,
        "truth": truth,
        "width": answer.fewer_high - answer.fewer_low,
        "warned": answer.level not in (None, "trust"),
        "judged": answer.level is not None,
    }


def summary(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Coverage, bias and warnings by regime, boundaries, size and number of event types."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for answer in answers:
        size = answer["sequences"] if answer["events"] == 1 else 0
        key = (answer["regime"], answer["events"], answer["boundaries"], size)
        groups.setdefault(key, []).append(answer)
    return [row(key, groups[key]) for key in sorted(groups, key=str)]


def row(key: tuple[Any, ...], own: list[dict[str, Any]]) -> dict[str, Any]:
    regime, events, method, size = key
    mean = {
        name: float(np.mean([one[name] for one in own])) for name in ("covered", "above", "below", "warned")
    }
    sizes = float(np.sum(np.abs([one["truth"] for one in own])))
    return {
        "regime": regime,
        "event types": events,
        "boundaries": method,
        "sequences": size,
        "answers": len(own),
        **{name: round(value, 4) for name, value in mean.items()},
        "judged": all(one["judged"] for one in own),
        "mean truth": round(float(np.mean([one["truth"] for one in own])), 1),
        "mean error": round(float(np.mean([one["error"] for one in own])), 2),
        "bias": round(float(np.sum([one["error"] for one in own])) / sizes, 4) if sizes else None,
        "median width": round(float(np.median([one["width"] for one in own])), 1),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The summary in Markdown."""
    lines = [
        "| regime | prevented | boundaries | sequences | answers | covered | interval above / below the "
        "truth | mean fewer, true | mean error | warned by the verdict |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in rows:
        cells = [
            one["regime"],
            "one event type" if one["event types"] == 1 else f"{one['event types']} together",
            one["boundaries"],
            f"{one['sequences']:,}" if one["sequences"] else "all sizes",
            f"{one['answers']:,}",
            f"{one['covered']:.1%}",
            f"{one['above']:.1%} / {one['below']:.1%}",
            f"{one['mean truth']:,.1f}",
            f"{one['mean error']:+,.1f}",
            f"{one['warned']:.0%}" if one["judged"] else "-",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
