"""Forward selection: add event types that a boundary lacks, by forward steps of IAMB from that boundary."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from eventcargo.deadline import NEVER, Deadline
from eventcargo.statistics.exact_g2 import Ints
from eventcargo.statistics.g2 import G2Tests, Target
from eventcargo.statistics.score_test import ScoreTest
from eventcargo.verification.claims import Claim
from eventcargo.verification.label_test import ALIKE, MAX_GIVEN, LabelTest

BLOCK_LABELS = 8
"""Labels that share one sparse product in a step."""

LOOKED_AT = 5
"""Event types of a step, strongest first, that are tested with exact moments."""

MIN_Z = 2.0
"""Event types with a smaller score, in standard deviations, are not tested."""

CORRECTED = 100
"""Event types of a step, strongest first, that are ranked by design effects if sequences come in groups."""


def forward_select(
    label_tests: Sequence[LabelTest], rounds: int, alpha: float, deadline: Deadline = NEVER
) -> list[LabelTest]:
    """Add to each label, round by round, the event type that depends on it most given its boundary.

    Its p-value must not exceed alpha / number of event types that can be significant (`testable`).
    Returns the labels for which not all rounds were done before the deadline.
    """
    growing = list(label_tests)
    for _ in range(rounds):
        if deadline.is_over:
            return growing
        growing = list(_grown(growing, alpha))
    return []


def _grown(growing: Sequence[LabelTest], alpha: float) -> Iterator[LabelTest]:
    """One step for every label; yields those whose boundary grew."""
    at = 0
    while at < len(growing):
        block = _of_one_study(growing[at : at + BLOCK_LABELS])
        at += len(block)
        questions = [(Target(label_test.positives), label_test.members[:MAX_GIVEN]) for label_test in block]
        for label_test, screen in zip(block, block[0].verify_data.test.many(questions), strict=True):
            claim = _missing(label_test, screen, alpha)
            if claim is not None:
                label_test.claims.append(claim)
                yield label_test


def _of_one_study(growing: Sequence[LabelTest]) -> list[LabelTest]:
    """The first labels, as far as they are tested on the same sequences."""
    study = growing[0].verify_data
    return list(itertools.takewhile(lambda label_test: label_test.verify_data is study, growing))


def _missing(label_test: LabelTest, screen: G2Tests, alpha: float) -> Claim | None:
    """The strongest claim among the event types that the screen ranks first; the exact test decides."""
    first = np.argsort(-(screen.g2 - screen.dof), kind="stable")[:CORRECTED]
    excess = screen.excess(np.isin(np.arange(len(screen.g2)), first))
    z = np.abs(label_test.scores())
    for ranking in (excess, z):
        ranking[_taken(label_test)] = -1.0
        if label_test.barred is not None:
            ranking[label_test.barred] = -1.0
    order = [
        int(event)
        for ranking, floor in ((excess, 0.0), (z, MIN_Z))
        for event in np.argsort(-ranking, kind="stable")[:LOOKED_AT]
        if ranking[event] > floor
    ]
    asked = [_asked(label_test, event, []) for event in dict.fromkeys(order)]
    level = type_level(label_test, asked, alpha)
    passing = sorted((claim for claim in asked if _passes(claim, level)), key=lambda claim: -claim.gain)
    return next((claim for claim in map(partial(_arranged, label_test, level=level), passing) if claim), None)


def type_level(label_test: LabelTest, claims: Sequence[Claim], alpha: float) -> float:
    """The level at which claims that nothing names are significant, whichever event type they are about.

    Alpha is divided by the number of event types, or by that of the testable ones if this can decide.
    """
    level = alpha / label_test.verify_data.test.counts.n_columns
    if any(level < claim.p_value <= alpha for claim in claims if claim.p_value is not None):
        return alpha / label_test.n_testable(alpha)
    return level


def _taken(label_test: LabelTest) -> list[int]:
    """The members and what they stand for: a boundary holds one of each scale, or what was measured."""
    kinds = label_test.verify_data.kinds
    scales = (kinds.scale_of.get(member, ()) for member in label_test.members)
    measured = (kinds.measured.get(member, ()) for member in label_test.members)
    return [*label_test.members, *(event for some in (*scales, *measured) for event in some)]


def _arranged(label_test: LabelTest, claim: Claim, level: float) -> Claim | None:
    """A claim that passes given the members, tested given their arrangements too; None if it then fails."""
    arranged = label_test.arranged(level).rows if label_test.claims else []
    if arranged:
        claim = _asked(label_test, claim.event, arranged)
    return claim if _passes(claim, level) else None


def _asked(label_test: LabelTest, event: int, arranged: Sequence[Ints]) -> Claim:
    """The claim on an event type, tested given the members and some of their arrangements."""
    rows = label_test.verify_data.test.counts.rows(event)
    n_members = len(label_test.members)
    further = range(n_members + 1, n_members + 1 + len(arranged))
    patterns = label_test.patterns([rows, *arranged])
    given = [*range(min(n_members, MAX_GIVEN)), *further]
    effect = patterns.design_effect(n_members, given)
    tables, score = patterns.tables(n_members, given), ScoreTest.of(patterns, n_members, given, effect)
    claim = Claim(event, is_new=True)
    claim.judge(tables, effect, score)
    return claim


def _passes(claim: Claim, level: float) -> bool:
    return not claim.falls(level, untrusted=False)


PROMISING = 0.7
"""Smallest score of an event type that may be swapped in, as a share of that of the member."""


def swap_companions(label_tests: Sequence[LabelTest], alpha: float, deadline: Deadline = NEVER) -> None:
    """Put in place of each member the event type among those that mostly come with it that is worth more.

    A model that fits one of two event types that come together has no use for the other, even where the other
    is the cause. What takes the place of a member must be significant, like an added event type.
    """
    for label_test in label_tests:
        if deadline.is_over:
            return
        level = alpha / label_test.verify_data.test.counts.n_columns
        for place, claim in enumerate(label_test.claims):
            best = None if claim.is_required else _better(label_test, claim, level)
            if best is not None:
                label_test.claims[place] = replace(claim, event=best.event)
        label_test.replace(label_test.claims)


def _better(label_test: LabelTest, claim: Claim, level: float) -> Claim | None:
    """The claim on a companion of a member that is worth more than the member, given the others; or None."""
    companions = _companions(label_test, claim.event)
    if not len(companions):
        return None
    alone = label_test.with_claims([each for each in label_test.claims if each is not claim])
    z = np.abs(alone.scores())
    companions = companions[z[companions] >= PROMISING * z[claim.event]]
    own = _asked(alone, claim.event, [])
    if not _passes(own, level):  # it acts by an arrangement, or not at all: presence does not decide
        return None
    asked = [_asked(alone, int(event), []) for event in companions]
    better = [one for one in asked if _passes(one, level) and one.gain > own.gain]
    return max(better, key=lambda one: one.gain, default=None)


def _companions(label_test: LabelTest, event: int) -> Ints:
    """The event types outside the boundary that mostly come with one."""
    share = label_test.verify_data.together_share(event)
    share[_taken(label_test)] = 0.0
    if label_test.barred is not None:
        share[label_test.barred] = 0.0
    return np.flatnonzero(share >= ALIKE)
