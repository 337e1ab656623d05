"""without: how many fewer sequences would carry a label if an event type, or several, did not occur.

Compared are the sequences with one of the event types and those with none of them that are alike in the rest
of the label's boundary (`statistics.attributable`). The answer is about the direct effect: what an event type
causes that causes the label in turn is held as it was. It is as good as its assumptions, which stand beside
it, and the verdict on the label says whether something speaks against them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eventcargo.cohort.config import Cohort
from eventcargo.errors import ConfigError, argument, counted, did_you_mean
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.statistics.attributable import AttributableNumber
from eventcargo.verdicts import Verdict

Bools = NDArray[np.bool_]

ASSUMPTIONS = (
    "No hidden common cause: whatever raises or lowers both the event types and the label is in the label's "
    "boundary.",
    "Direct effect: the rest of the boundary stays as it was, also where the event types would change it.",
    "The event types come before the label, and preventing them changes nothing else about a sequence.",
    "The number is that expected in as many sequences of the same kind as these.",
)
"""What every answer rests on."""

FEW = 10
"""With fewer sequences that have the event types and carry the label, intervals are rough."""

MAX_UNMATCHED = 0.05
"""Largest share of sequences with the event types that may be without a counterpart."""


@dataclass(frozen=True)
class Without:
    """The answer for one label."""

    label: str
    events: tuple[str, ...]
    sequences: int
    """sequences for which the label is known"""
    exposed: int
    """sequences with at least one of the event types"""
    carrying: int
    """those of them that carry the label"""
    now: int
    """sequences that carry the label"""
    without: float
    """as many are expected to, without the event types"""
    without_low: float
    without_high: float
    fewer: float
    """`now` less `without`; negative if there would be more"""
    fewer_low: float
    fewer_high: float
    share: float
    """`fewer` as a share of `now`: the attributable fraction"""
    level: str | None
    """level of the verdict on the label; None without a verdict"""
    warnings: tuple[str, ...]
    """what speaks against the assumptions or the interval; empty: nothing is known to"""

    def to_dict(self) -> dict[str, Any]:
        return {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(self).items()}

    @property
    def in_words(self) -> str:
        """The answer as a sentence."""
        names = " and ".join(filter(None, [", ".join(self.events[:-1]), self.events[-1]]))
        more = self.fewer < 0
        ends = sorted(abs(end) for end in (self.fewer_low, self.fewer_high))
        if self.fewer_low <= 0 <= self.fewer_high:
            span = f"from {max(self.fewer_high, 0):,.0f} fewer to {max(-self.fewer_low, 0):,.0f} more"
        else:
            span = f"{ends[0]:,.0f} to {ends[1]:,.0f}"
        return (
            f"Without {names}, {self.without:,.0f} instead of {self.now:,} sequences would carry "
            f"{self.label}: {abs(self.fewer):,.0f} {'more' if more else 'fewer'} (95 % interval {span})"
        )


def without(
    graph: LabelGraph,
    data: EventDataset,
    events: str | Sequence[str],
    labels: str | Sequence[str] | None = None,
    *,
    verdicts: Mapping[str, Verdict] | None = None,
    n_controls: int = 0,
) -> list[Without]:
    """The expected number of sequences with each label if none of the event types occurred.

    By default the labels are those whose boundary has one of the event types. `verdicts` are those on the
    graph: one that is not trusted becomes a warning. `n_controls` is the number of controls that were sampled
    for each case, 0 if sequences were not chosen by their label.

    >>> from eventcargo.simulation import simulate
    >>> simulated = simulate("noisy_or", sequences=3000, labels=2, seed=1)
    >>> cause = simulated.truth.boundary("L001")[0]
    >>> print(without(simulated.truth, simulated.data, cause)[0].in_words)
    Without E00001, 311 instead of 453 sequences would carry L001: 142 fewer (95 % interval 117 to 167)
    """
    names = _checked(_listed(events), data.event_names, "event")
    asked = _checked(_listed(labels), data.label_names, "label")
    if not names:
        raise ConfigError("no event type is named; name one or more")
    chosen = asked or [label for label in graph.labels if set(names) & set(graph.boundary(label))]
    if not chosen:
        raise ConfigError(
            f"{', '.join(names)}: in the boundary of no label, so by this graph no label would change; name "
            f"a label with {argument('label')} to estimate it all the same"
        )
    with threadpool_limits(1, "blas"):  # its products are small
        answers = {
            answer.label: answer
            for study in data.studies()
            for answer in _of_study(study, graph, names, chosen)
        }
    return [
        _with_warnings(answers[label], graph, verdicts, n_controls) for label in chosen if label in answers
    ]


def _listed(names: str | Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else list(dict.fromkeys(names or ()))


def _checked(names: Sequence[str], known: Sequence[str], kind: str) -> list[str]:
    """The names; refuses one that the data do not have, with the nearest that they have."""
    for name in names:
        if name not in set(known):
            meant = did_you_mean(name, list(known))
            what = "event type" if kind == "event" else kind
            raise ConfigError(
                f"no {what} {name!r} among the {len(known):,} of the data"
                + (f"; did you mean {meant!r}?" if meant else "")
            )
    return list(names)


def _of_study(
    study: EventDataset, graph: LabelGraph, events: Sequence[str], labels: Collection[str]
) -> Iterator[Without]:
    """The answers for the labels of one study, without warnings but those of the numbers."""
    exposed: Bools = np.asarray(_columns(study, events).any(axis=1))
    for label, positives in zip(study.label_names, study.positives(), strict=True):
        if label not in labels:
            continue
        _check_comparable(label, events, exposed)
        carries = np.zeros(len(study), bool)
        carries[positives] = True
        others = _others(study, graph.boundaries.get(label, ()), events)
        number = AttributableNumber.of(exposed, carries, others, study.groups)
        yield _answer(label, tuple(events), len(study), len(positives), number)


def _columns(study: EventDataset, names: Sequence[str]) -> Bools:
    """In which sequences event types are present: (sequences, names)."""
    place = {name: number for number, name in enumerate(study.event_names)}
    return study.incidence.dense([place[name] for name in names])


def _others(study: EventDataset, boundary: Sequence[str], events: Sequence[str]) -> Bools:
    """What is held as it was, (sequences, columns): the rest of the boundary and what the data adjust for.

    A family of one of the event types is held as far as its other members are there. Members of a family
    among the event types, and thresholds that share their moments with them, are gone with them.
    """
    names = [name for name in dict.fromkeys((*boundary, *study.kinds.adjusted)) if name in study.event_names]
    columns = []
    for name in names:
        members = study.kinds.families.get(name, ())
        rest = [member for member in members if member not in events]
        if name in events:
            continue
        if not any(study.kinds.accompany(name, event) for event in events):
            columns.append(_columns(study, [name])[:, 0])
        elif rest and set(events) & set(members):
            columns.append(np.asarray(_columns(study, rest).any(axis=1)))
    return np.stack(columns, axis=1) if columns else np.zeros((len(study), 0), bool)


def _check_comparable(label: str, events: Sequence[str], exposed: Bools) -> None:
    names = " or ".join(events)
    if not exposed.any():
        raise ConfigError(f"no sequence in which {label} is known has {names}; there is nothing to prevent")
    if exposed.all():
        raise ConfigError(
            f"all {len(exposed):,} sequences in which {label} is known have {names}; there is no sequence "
            "without to compare with"
        )


def _answer(
    label: str, events: tuple[str, ...], sequences: int, now: int, number: AttributableNumber
) -> Without:
    unmatched = number.n_unmatched / number.n_exposed
    warnings = []
    if number.n_carrying < FEW:
        warnings.append(
            f"of {counted(number.n_exposed, 'sequence')} with the event types only {number.n_carrying:,} "
            "carry the label: the interval is rough"
        )
    if unmatched > MAX_UNMATCHED:
        warnings.append(
            f"{unmatched:.0%} of the sequences with the event types have other causes in a combination that "
            "never occurs without them: for these the answer is extrapolated"
        )
    return Without(
        label=label,
        events=events,
        sequences=sequences,
        exposed=number.n_exposed,
        carrying=number.n_carrying,
        now=now,
        without=now - number.fewer,
        without_low=max(now - number.high, 0.0),
        without_high=min(now - number.low, float(sequences)),
        fewer=number.fewer,
        fewer_low=number.low,
        fewer_high=number.high,
        share=number.fewer / max(now, 1),
        level=None,
        warnings=tuple(warnings),
    )


def _with_warnings(
    answer: Without, graph: LabelGraph, verdicts: Mapping[str, Verdict] | None, n_controls: int
) -> Without:
    """The answer with what speaks against its assumptions, the most serious first."""
    verdict = (verdicts or {}).get(answer.label)
    told = list(_doubts(answer, graph, verdict, n_controls))
    return replace(
        answer, level=None if verdict is None else verdict.level, warnings=(*told, *answer.warnings)
    )


def _doubts(answer: Without, graph: LabelGraph, verdict: Verdict | None, n_controls: int) -> Iterator[str]:
    if verdict is None:
        yield "there is no verdict on the label, so nothing is known of hidden causes; judge the run first"
    elif verdict.level != "trust":
        yield (
            f"the verdict on the label is {verdict.level}, so the assumptions may not hold: "
            f"{'; '.join(verdict.reasons)}"
        )
    strange = [event for event in answer.events if event not in graph.boundaries.get(answer.label, ())]
    if strange:
        yield (
            f"{', '.join(strange)}: not in the boundary of {answer.label}, so by this graph without an "
            "effect of its own; what it does by way of others is not counted"
        )
    if n_controls:
        yield (
            f"{counted(n_controls, 'control')} sampled for each case: the number is that of sequences as "
            "sampled, and the share is too small if the label is rarer outside"
        )


def sampled_controls(cohort: Cohort | None) -> int:
    """How many controls a cohort samples for each case; 0 if it does not choose sequences by their label."""
    if cohort is None or cohort.index not in ("", "outcome") or not (cohort.label_time or cohort.outcomes):
        return 0
    return cohort.controls
