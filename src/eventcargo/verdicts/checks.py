"""Checks: each looks at one label's evidence and tells, in words, what speaks against its boundary."""

from collections.abc import Callable, Iterator

import polars as pl

from eventcargo.verdicts.evidence import Evidence

Finding = tuple[str, str]
"""A level and the reason for it."""

PROBABLE = 0.05
"""Largest p-value of an edge that the data bear out without the label model."""

DOUBTFUL = 0.2
"""Below this part of what a boundary should explain there is doubt."""


def check_model(evidence: Evidence, number: int) -> Iterator[Finding]:
    """What was found out about the label model in training; the data may bear its edges out even so."""
    row = evidence.quality.get(evidence.labels[number])
    if row is None or row["trusted"]:
        return
    p_values = evidence.graph.edges.filter(label=evidence.labels[number])["p_value"].fill_null(1.0)
    said = f"the label model is not to be trusted: {row['reason']}"
    if len(p_values) and (p_values <= PROBABLE).all():
        yield "caution", f"{said}; its causes are told by the data alone"
    else:
        yield "doubt", said


def check_basis(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether there is enough to go by."""
    support, config = int(evidence.support[number]), evidence.config
    if support < config.too_few:
        yield "doubt", f"only {support:,} sequences carry the label, fewer than {config.too_few:,}"
    elif support == len(evidence.data):
        yield "doubt", f"all {support:,} sequences carry the label: there is nothing to compare with"
    elif support < config.few:
        yield "caution", f"only {support:,} sequences carry the label"
    if not evidence.members[number]:
        yield "doubt", "no event type was found to cause it"


def check_stability(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether its edges would be found again in other sequences."""
    edges = evidence.graph.edges.filter(label=evidence.labels[number])
    shaky = edges.filter(pl.col("stability") < evidence.config.min_stability).sort("stability", "event")
    if len(shaky):
        yield (
            "doubt" if len(shaky) == len(edges) else "caution",
            f"{len(shaky):,} of {len(edges):,} edges are not stable: {shaky['event'][0]} would be found in "
            f"{shaky['stability'][0]:.0%} of resampled data only",
        )


def check_intervals(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether the frequencies of its edges are known well enough."""
    edges = evidence.graph.edges.filter(label=evidence.labels[number])
    wide = edges.filter(pl.col("ci_high") - pl.col("ci_low") > evidence.config.widest)
    if len(wide):
        low, high = (wide[name][0] for name in ("ci_low", "ci_high"))
        yield (
            "caution",
            f"{len(wide):,} of {len(edges):,} edges are uncertain: the frequency of {wide['event'][0]} may "
            f"be anything from {low:.0%} to {high:.0%}",
        )


def check_explained(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether the label can be told from its boundary, or at least as well as the label model tells it."""
    forecast = evidence.forecasts[number]
    if forecast is None or not evidence.members[number]:
        return
    share, least = max(forecast.explained, 0.0), evidence.config.min_explained
    if share < least:
        yield (
            "doubt" if share < DOUBTFUL * least else "caution",
            f"its boundary explains {share:.0%} of the label: the rest is chance or something that is not "
            "recorded, and an event type that only shares a hidden cause with the label would look the "
            f"same{_least_decided(evidence, number)}",
        )
    row = evidence.quality.get(evidence.labels[number])
    if row is None or not row["base_log_loss"]:
        return
    model = 1 - row["log_loss"] / row["base_log_loss"]
    if model - share > evidence.config.lag:
        yield (
            "caution",
            f"its boundary explains {share:.0%} of the label, its model {model:.0%}: causes are missing",
        )


def _least_decided(evidence: Evidence, number: int) -> str:
    """The member that leaves the label most open where it occurs without the others."""
    present = evidence.presence[:, evidence.members[number]].toarray() > 0
    alone = present & (present.sum(axis=1, keepdims=True) == 1)
    rates = {
        name: (float(evidence.carried[rows, number].mean()), int(rows.sum()))
        for name, rows in zip(evidence.graph.boundary(evidence.labels[number]), alone.T, strict=True)
        if rows.sum() >= evidence.config.few
    }
    if not rates:
        return ""
    name = min(rates, key=lambda name: abs(rates[name][0] - 0.5))
    rate, count = rates[name]
    return f" (least decided: {name}; of {count:,} sequences with it alone, {rate:.0%} carry the label)"


def check_beyond(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether event types outside the boundary still tell of the label."""
    found = evidence.beyond.get(number, [])
    if found:
        more = f", and {len(found) - 1:,} other event types likewise" if len(found) > 1 else ""
        yield (
            "caution",
            f"{evidence.data.event_names[found[0].other]} is not in the boundary, yet "
            f"{found[0].observed:,.0f} sequences with it carry the label where the boundary predicts "
            f"{found[0].expected:,.0f}{more}: a cause is missing, or something unseen drives both",
        )


def check_together(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether other labels tell of the label although the boundaries do not."""
    found = evidence.together.get(number, [])
    if found:
        more = f", and {len(found) - 1:,} other labels likewise" if len(found) > 1 else ""
        other = evidence.label_name(found[0].other)
        yield (
            "caution",
            f"{found[0].observed:,.0f} sequences carry it together with {other} where the boundaries predict "
            f"{found[0].expected:,.0f}{more}: something that is in neither "
            "boundary drives both",
        )


def check_echoes(evidence: Evidence, number: int) -> Iterator[Finding]:
    """Whether a member may be a record of the label itself."""
    names = evidence.graph.boundary(evidence.labels[number])
    for name, event in zip(names, evidence.members[number], strict=True):
        echo = evidence.closings.echo(evidence.carried[:, number], event)
        counts = f"{name} occurs in {echo.event:,} sequences, {echo.both:,} of them with the label"
        if echo.is_double:
            yield (
                "caution",
                f"{counts}, which {echo.label:,} carry: it may be a record of the label itself",
            )
        elif echo.is_closing:
            yield (
                "caution",
                f"{counts}, and is the last event of {echo.last:,} of these: it may have been recorded with "
                "the label or because of it",
            )


CHECKS: tuple[Callable[[Evidence, int], Iterator[Finding]], ...] = (
    check_model,
    check_basis,
    check_stability,
    check_intervals,
    check_explained,
    check_beyond,
    check_together,
    check_echoes,
)
"""All checks; reasons of one level stand in this order."""
