"""Checks: each examines one label and yields reasons not to trust its edges, or to look for more."""

from collections.abc import Callable, Iterator

import polars as pl

from eventcargo.errors import argument, counted
from eventcargo.leaks import Leak
from eventcargo.verdicts.evidence import Evidence

Finding = tuple[str, str]
"""A level and the reason for it."""

PROBABLE = 0.05
"""Largest p-value of an edge that the data confirm without the label model."""

MOST = 0.5
"""A member brings the label by itself if more than this share of the sequences with it alone carry it."""

NOTHING = 0.005
"""A smaller share explained is told as 0 %; event types chosen at random reach it rarely."""

DOUBTFUL = 0.2
"""Below this share of `min_explained` the level is doubt."""


def check_model(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether the label is untrusted; even then the data may confirm its edges."""
    row = evidence.quality.get(evidence.labels[number])
    if row is None or row.trusted:
        return
    reason = f"the label is untrusted: {row.reason}"
    if _is_confirmed(evidence, number):
        yield "caution", f"{reason}; its causes rest on the data alone"
    else:
        yield "doubt", reason


def _is_confirmed(evidence: Evidence, number: int) -> bool:
    """Whether there are edges, and the data confirm them all."""
    p_values = evidence.graph.edges.filter(label=evidence.labels[number])["p_value"].fill_null(1.0)
    return len(p_values) > 0 and bool((p_values <= PROBABLE).all())


def check_basis(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether there are enough sequences, and a boundary at all."""
    support, config = int(evidence.support[number]), evidence.config
    sequences = counted(support, "sequence")
    if support < config.doubt_below:
        yield "doubt", f"only {sequences} with the label, fewer than {config.doubt_below:,}"
    elif support == evidence.n_known[number]:
        yield "doubt", f"of {sequences}, all carry the label: there is nothing to compare with"
    elif evidence.predictabilities[number] is None:
        yield "doubt", "its sequences come in two groups at most: one cannot be predicted from the others"
    elif support < config.caution_below:
        yield "caution", f"only {sequences} with the label"
    if not evidence.members[number]:
        yield "doubt", "no event type was found to cause it"


def check_stability(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether its edges would be found again in resampled data."""
    edges = evidence.graph.edges.filter(label=evidence.labels[number])
    shaky = edges.filter(pl.col("stability") < evidence.config.min_stability).sort("stability", "event")
    if len(shaky):
        yield (
            "doubt" if len(shaky) == len(edges) else "caution",
            f"{len(shaky):,} of {counted(len(edges), 'edge')} unstable: {shaky['event'][0]} is found in only "
            f"{shaky['stability'][0]:.0%} of resampled data",
        )


def check_intervals(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether the frequencies of its edges are precise enough."""
    edges = evidence.graph.edges.filter(label=evidence.labels[number])
    wide = edges.filter(pl.col("ci_high") - pl.col("ci_low") > evidence.config.max_interval)
    if len(wide):
        low, high = (wide[name][0] for name in ("ci_low", "ci_high"))
        yield (
            "caution",
            f"{len(wide):,} of {counted(len(edges), 'edge')} uncertain: the frequency of {wide['event'][0]} "
            f"may be anything from {low:.0%} to {high:.0%}",
        )


def check_predictive(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether the boundary says anything about the label, unless the data confirm its edges one by one."""
    share = _explained(evidence, number)
    if share is not None and share < NOTHING and not _is_confirmed(evidence, number):
        yield (
            "doubt",
            "its boundary explains nothing: it predicts the label no better than the base rate does",
        )


def check_decided(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether a boundary leaves a label undecided though a member by itself brings it.

    Where every cause is weak, a boundary explains little by its nature (`missing_explained`). Where one
    brings the label by itself, what it leaves open is room for a hidden cause that also raises a member.
    """
    share, least = _explained(evidence, number), evidence.config.min_explained
    if share is None or share >= least or not _is_decided(evidence, number):
        return
    yield (
        "doubt" if share < DOUBTFUL * least else "caution",
        f"its boundary explains {share:.0%} of the label, although a member brings it by itself: an event "
        "type that only shares a hidden cause with the label would look the same"
        f"{_least_decided(evidence, number)}",
    )


def check_rule(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether the rule of the label tells clearly less than its model knows."""
    rule = evidence.rules.get(evidence.labels[number])
    if rule is not None and rule.falls_short:
        yield "caution", f"{rule.shortfall}; read it as an approximation"


def check_lag(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether the label model predicts the label clearly better than its boundary does."""
    if _lags(evidence, number):
        yield (
            "caution",
            "its boundary predicts the label clearly worse than the label model does: it is not all that "
            "matters, or its event types matter in a way that no test knows",
        )


def missing_explained(evidence: Evidence, number: int) -> Iterator[str]:
    """How much of the label its boundary leaves open, or how much of that the label model knows."""
    share = _explained(evidence, number)
    if share is None:
        return
    if _lags(evidence, number):
        model = _explained_by_model(evidence, number)
        yield (
            f"the boundary explains {share:.0%} of the label, its model {model:.0%}: causes are missing, or "
            "it depends on their arrangement in a way that no test knows"
        )
    elif share < evidence.config.min_explained:
        yield f"the boundary explains {share:.0%} of the label: the rest is random or not recorded"


def _lags(evidence: Evidence, number: int) -> bool:
    """Whether the boundary explains clearly less than the label model, which reads no barred event type."""
    share = _explained(evidence, number)
    if share is None or number in evidence.barred:
        return False
    return _explained_by_model(evidence, number) - share > evidence.config.max_lag


def _explained_by_model(evidence: Evidence, number: int) -> float:
    """The share of the label that its model explains; 0 if that is not known."""
    row = evidence.quality.get(evidence.labels[number])
    return 1 - row.log_loss / row.base_log_loss if row is not None and row.base_log_loss else 0.0


def _explained(evidence: Evidence, number: int) -> float | None:
    """The share of the label that its boundary explains; None if there is none to judge."""
    predictability = evidence.predictabilities[number]
    if predictability is None or not evidence.members[number]:
        return None
    return max(predictability.explained, 0.0)


def _is_decided(evidence: Evidence, number: int) -> bool:
    """Whether the label is there in most of the sequences with some one member, and without the others."""
    return any(rate > MOST for rate, _ in _rates_alone(evidence, number).values())


def _rates_alone(evidence: Evidence, number: int) -> dict[str, tuple[float, int]]:
    """For every member that occurs without the others: how often with the label, and in how many."""
    present = evidence.data.incidence.dense(evidence.members[number])
    alone = present & (present.sum(axis=1, keepdims=True) == 1) & evidence.known_rows(number)[:, None]
    carries = evidence.carries(number)
    return {
        name: (float(carries[rows].mean()), int(rows.sum()))
        for name, rows in zip(evidence.graph.boundary(evidence.labels[number]), alone.T, strict=True)
        if rows.sum() >= evidence.config.caution_below
    }


def _least_decided(evidence: Evidence, number: int) -> str:
    """The member that leaves the label most uncertain if it occurs without the others."""
    rates = _rates_alone(evidence, number)
    if not rates:
        return ""
    name = min(rates, key=lambda name: abs(rates[name][0] - 0.5))
    rate, count = rates[name]
    sequences = counted(count, "sequence")
    return f" (least decided: {name}; of {sequences} with it alone, {rate:.0%} carry the label)"


def missing_beyond(evidence: Evidence, number: int) -> Iterator[str]:
    """Whether event types outside the boundary are associated with the label."""
    associations = evidence.beyond.get(number, [])
    if associations:
        first, others = associations[0], len(associations) - 1
        more = f", and {counted(others, 'other event type')} likewise" if others else ""
        event = evidence.data.event_names[first.other]
        yield (
            f"{event} is not in the boundary, yet occurs with the label in "
            f"{counted(round(first.observed), 'sequence')} where the boundary predicts "
            f"{first.expected:,.0f}{more}: {_why_beyond(evidence, number, event)}"
        )


def _why_beyond(evidence: Evidence, number: int, event: str) -> str:
    """What an association beyond the boundary may mean; another cut of a member's number means less."""
    members = evidence.graph.boundary(evidence.labels[number])
    for name, cuts in evidence.data.kinds.measured.items():
        nearest = [member for member in members if {event, member} <= {name, *cuts}]
        if nearest:
            return (
                f"the number that decides may be another than that of {nearest[0]}; try others with "
                f"{argument('cut')}"
            )
    return "a cause is missing, or something unrecorded drives both"


def missing_together(evidence: Evidence, number: int) -> Iterator[str]:
    """Whether other labels are associated with the label beyond what the boundaries predict."""
    associations = evidence.together.get(number, [])
    if associations:
        first, others = associations[0], len(associations) - 1
        more = f", and {counted(others, 'other label')} likewise" if others else ""
        yield (
            f"it occurs together with {evidence.label_name(first.other)} in "
            f"{counted(round(first.observed), 'sequence')} where the boundaries predict "
            f"{first.expected:,.0f}{more}: something in neither boundary drives both"
        )


def check_leakage(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether a member, or an event type that the model has read, may be a record of the label itself."""
    leaks = evidence.leaks.get(evidence.labels[number], [])
    boundary = evidence.graph.boundary(evidence.labels[number])
    inside = [leak for leak in leaks if leak.event in boundary]
    outside = [leak for leak in leaks if leak.event not in boundary and leak.signs != ("closing",)]
    if inside:
        certain = any(leak.is_certain for leak in inside)
        yield "doubt" if certain else "caution", f"{_leaks(inside)}; {_advice(inside[0])}"
    if outside:
        yield (
            "caution",
            f"{_leaks(outside)}; it is not in the boundary, but the model has read it; {_advice(outside[0])}",
        )


def check_followers(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether members occur practically only after their outcome, where outcomes have times."""
    late = evidence.followers.get(evidence.labels[number], [])
    if late:
        others = len(late) - 1
        more = f" (and {counted(others, 'other event type')} likewise)" if others else ""
        yield (
            "doubt" if len(late) == len(evidence.members[number]) else "caution",
            f"{late[0].reason}{more}: it may be a record of an earlier outcome; leave it out with "
            f"{argument('exclude', late[0].event)}, or require it by knowledge if it brings the next one",
        )


def check_undated(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether members that mostly occur with the label could have come after it, for all the data say."""
    named = {leak.event for leak in evidence.leaks.get(evidence.labels[number], [])}
    leaks = [leak for leak in evidence.undated(number) if leak.event not in named]
    if leaks:
        yield (
            "caution",
            f"{_leaks(leaks)}; name the dates of outcomes with {argument('label_time')}, or, if it comes "
            "first, require it by knowledge",
        )


def _leaks(leaks: list[Leak]) -> str:
    others = len(leaks) - 1
    more = f" (and {counted(others, 'other event type')} likewise)" if others else ""
    return f"{leaks[0].reason}{more}"


def _advice(leak: Leak) -> str:
    return (
        "check that it comes first; if it does, require it by knowledge, otherwise leave it out with "
        f"{argument('exclude', leak.event)}"
    )


CHECKS: tuple[Callable[[Evidence, int], Iterator[Finding]], ...] = (
    check_model,
    check_basis,
    check_stability,
    check_intervals,
    check_predictive,
    check_decided,
    check_lag,
    check_rule,
    check_leakage,
    check_followers,
    check_undated,
)
"""Checks of the edges there are and of the rule over them; reasons of one level appear in this order."""

MISSING: tuple[Callable[[Evidence, int], Iterator[str]], ...] = (
    missing_explained,
    missing_beyond,
    missing_together,
)
"""Checks for edges that are not there."""
