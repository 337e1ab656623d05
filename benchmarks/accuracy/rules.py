"""Whether true boundaries lead to the true rules, and how well those tell the labels of fresh sequences.

A rule over presence is equal to the true one if both hold for the same sets of event types, any other if both
hold in the same sequences. F1 is that of fresh sequences of the same process, half as many as the search has;
`true_f1` is that of the true rule in them. A label without a rule has F1 0 and is not equal.
Run: `.venv/bin/python -m benchmarks.accuracy.rules [--validate]`
"""

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.events import EventDataset
from eventcargo.rules import Literal, Rule, find_rules
from eventcargo.simulation import REGIMES, simulate

from benchmarks.record import provenance, save

SEEDS, VALIDATION_SEEDS = [0, 1, 2], [100, 101, 102]

Presence = dict[str, bool]
"""Event types that a sequence has, or has not."""

Group = tuple[Literal, ...]

NAME = r"(E\d+)"

FORMS: list[tuple[str, Callable[..., Group]]] = [
    (rf"{NAME} before {NAME}", lambda a, b: (Literal("presence", (b,)), Literal("ordered", (a, b)))),
    (rf"{NAME} right after {NAME}", lambda a, b: (Literal("adjacent", (b, a)),)),
    (rf"{NAME} at least (\d+) times", lambda a, k: (Literal("count", (a,), int(k)),)),
    (rf"{NAME} >= (\d+) times", lambda a, k: (Literal("count", (a,), int(k)),)),
    (rf"{NAME} after {NAME} without {NAME} between", lambda *events: (Literal("state", events),)),
    (rf"last {NAME} after last {NAME}", lambda *events: (Literal("last_after", events),)),
    (rf"more {NAME} than {NAME}", lambda *events: (Literal("more", events),)),
    (rf"{NAME} then {NAME}", lambda *events: (Literal("subsequence", events),)),
    (rf"{NAME} then {NAME} then {NAME}", lambda *events: (Literal("subsequence", events),)),
    (
        rf"{NAME} at most (\d+) events after {NAME}",
        lambda b, k, a: (Literal("distance", (a, b), int(k)),),
    ),
    (
        rf"(\d+) times {NAME} within (\d+) events",
        lambda k, a, n: (Literal("burst_events", (a,), int(n), times=int(k)),),
    ),
    (
        rf"(\d+) times {NAME} within ([\d.]+)",
        lambda k, a, t: (Literal("burst", (a,), float(t), times=int(k)),),
    ),
    (
        rf"{NAME} and {NAME} less than (\S+) apart in time",
        lambda a, b, t: (Literal("gap", (a, b), float(np.nextafter(float(t), 0))),),
    ),
    (rf"{NAME} among the last (\d+) events", lambda a, k: (Literal("lateness", (a,), int(k)),)),
    (rf"{NAME}, itself raised by .*", lambda a: (Literal("presence", (a,)),)),
    (rf"{NAME} \| hidden cause.*", lambda a: (Literal("presence", (a,)),)),
    (rf"(!?){NAME}", lambda sign, a: (Literal("presence", (a,), negated=bool(sign)),)),
]
"""How simulations tell their rules, and what that is in literals; a hidden cause is no part of a rule."""

WITHOUT_RULES = ("noisy_or", "log_odds", "family")
"""Regimes in which every cause has a chance or odds of its own, or a family of causes stands for them all."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--validate", action="store_true", help="validation seeds; nothing is published")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    seeds = VALIDATION_SEEDS if options.validate else SEEDS
    rows = [run(regime, seed) for regime in REGIMES if regime not in WITHOUT_RULES for seed in seeds]
    if options.out or not options.validate:
        print(f"written to {save('rules', {**provenance(seeds), 'rows': rows}, options.out)}")


def run(regime: str, seed: int) -> dict[str, Any]:
    """Means over the labels of one simulation."""
    made, n = simulate(regime, seed=seed), REGIMES[regime].config().sequences
    fresh = simulate(regime, seed=seed, sequences=n + n // 2)
    if fresh.rules != made.rules:
        raise ValueError(f"{regime} with seed {seed} has other rules if more sequences are made")
    began = time.perf_counter()
    found = find_rules(made.data, made.truth)
    seconds = time.perf_counter() - began
    figures = [
        compare(found[label], true_rule(label, text), made.data, fresh.data[n:])
        for label, text in made.rules.items()
    ]
    means = {key: float(np.mean([one[key] for one in figures])) for key in figures[0]}
    row = {"regime": regime, "seed": seed, "labels": len(found), **means, "seconds": seconds}
    print(row, flush=True)
    return row


def compare(rule: Rule | None, true: Rule, data: EventDataset, fresh: EventDataset) -> dict[str, float]:
    """One label's rule and the true one."""
    carried = fresh.label_matrix()[:, [fresh.label_names.index(true.label)]].toarray().ravel() > 0
    return {
        "found": float(rule is not None),
        "equal": float(rule is not None and is_equal(rule, true, data)),
        "f1": 0.0 if rule is None else f1(rule.holds(fresh), carried),
        "true_f1": f1(true.holds(fresh), carried),
    }


def true_rule(label: str, text: str) -> Rule:
    """What a simulation says of a label, as a rule."""
    whole = read_group(text)
    parts = [part.strip("()").split(" & ") for part in text.split(" | ")]
    groups = [whole] if whole else [sum((read_group(one) for one in part), ()) for part in parts]
    if not all(groups):
        raise ValueError(f"the rule {text!r} of {label} cannot be read; add its form to FORMS")
    return Rule(label, tuple(groups), support=0, carrying=0, precision=0.0, recall=0.0)


def read_group(text: str) -> Group:
    """The literals of a text; none if it has no known form."""
    for form, literals in FORMS:
        found = re.fullmatch(form, text)
        if found:
            return literals(*found.groups())
    return ()


def is_equal(rule: Rule, true: Rule, data: EventDataset) -> bool:
    if any(part.kind != "presence" for one in (rule, true) for group in one.literals for part in group):
        return bool((rule.holds(data) == true.holds(data)).all())
    ours, theirs = as_presence(rule), as_presence(true)
    return all(follows(group, theirs) for group in ours) and all(follows(group, ours) for group in theirs)


def as_presence(rule: Rule) -> list[Presence]:
    return [{part.events[0]: not part.negated for part in group} for group in rule.literals]


def follows(known: Presence, groups: list[Presence]) -> bool:
    """Whether in every sequence of which `known` is true one of the groups is."""
    possible = [
        group for group in groups if all(known.get(event, has) == has for event, has in group.items())
    ]
    asked = [{event: has for event, has in group.items() if event not in known} for group in possible]
    if not all(asked):
        return True  # a group that asks for nothing more
    return bool(asked) and all(follows({**known, next(iter(asked[0])): has}, asked) for has in (False, True))


def f1(held: NDArray[np.bool_], carried: NDArray[np.bool_]) -> float:
    return float(2 * (held & carried).sum() / max(1, held.sum() + carried.sum()))


if __name__ == "__main__":
    main()
