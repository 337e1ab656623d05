"""Forward selection: add event types that a boundary lacks, by forward steps of IAMB from that boundary."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from eventcargo.deadline import NEVER, Deadline, warn_of_left_out
from eventcargo.statistics.contingency import Rows
from eventcargo.statistics.exact_g2 import ExactG2, Ints
from eventcargo.statistics.g2 import G2Tests, Target
from eventcargo.statistics.risk_difference import risk_difference
from eventcargo.verification.claims import Claim
from eventcargo.verification.label_test import LabelTest

BLOCK_LABELS = 8
"""Labels that share one sparse product in a step."""

MAX_GIVEN = 40
"""Most members, strongest first, that a step conditions on; more leave single sequences in a stratum."""

LOOKED_AT = 5
"""Event types of a step, strongest first, that are tested with exact moments."""

CORRECTED = 100
"""Event types of a step, strongest first, that are ranked by design effects if sequences come in groups."""


def forward_select(
    label_tests: Sequence[LabelTest],
    rounds: int,
    alpha: float,
    deadline: Deadline = NEVER,
) -> None:
    """Add to each label, round by round, the event type that depends on it most given its boundary.

    Like every edge it must be worth `claim.least`; its p-value must not exceed alpha / number of pairs.
    A warning names the labels not reached before the deadline.
    """
    growing = list(label_tests)
    if not growing:
        return
    level = alpha / (len(label_tests) * growing[0].verify_data.test.counts.n_columns)
    for _ in range(rounds):
        growing = list(_blocks(growing, level, deadline))


def _blocks(growing: Sequence[LabelTest], level: float, deadline: Deadline) -> Iterator[LabelTest]:
    """One step for every label; yields those whose boundary grew."""
    at = 0
    while at < len(growing):
        if deadline.is_over:
            late = [label_test.name for label_test in growing[at:]]
            warn_of_left_out("not all missing event types were looked for", late, len(growing))
            return
        block = _of_one_study(growing[at : at + BLOCK_LABELS])
        at += len(block)
        questions = [(Target(label_test.positives), label_test.members[:MAX_GIVEN]) for label_test in block]
        for label_test, screen in zip(block, block[0].verify_data.test.many(questions), strict=True):
            claim = _missing(label_test, screen, level)
            if claim is not None:
                label_test.claims.append(claim)
                yield label_test


def _of_one_study(growing: Sequence[LabelTest]) -> list[LabelTest]:
    """The first labels, as far as they are tested on the same sequences."""
    study = growing[0].verify_data
    return list(itertools.takewhile(lambda label_test: label_test.verify_data is study, growing))


def _missing(label_test: LabelTest, screen: G2Tests, level: float) -> Claim | None:
    """The strongest claim among the event types that the screen ranks first; the exact test decides."""
    first = np.argsort(-(screen.g2 - screen.dof), kind="stable")[:CORRECTED]
    excess = screen.excess(np.isin(np.arange(len(screen.g2)), first))
    excess[_taken(label_test)] = -1.0
    if label_test.barred is not None:
        excess[label_test.barred] = -1.0
    order = np.argsort(-excess, kind="stable")[:LOOKED_AT]
    tested = [_tested(label_test, int(event), level) for event in order if excess[event] > 0]
    claims = [claim for claim in tested if claim is not None]
    return max(claims, key=lambda claim: claim.gain) if claims else None


def _taken(label_test: LabelTest) -> list[int]:
    """The members and what they stand for: a boundary holds one of each scale, or what was measured."""
    kinds = label_test.verify_data.kinds
    scales = (kinds.scale_of.get(member, ()) for member in label_test.members)
    measured = (kinds.measured.get(member, ()) for member in label_test.members)
    return [*label_test.members, *(event for some in (*scales, *measured) for event in some)]


def _tested(label_test: LabelTest, event: int, level: float) -> Claim | None:
    """A claim on an event type outside the boundary; None if the test does not confirm it."""
    rows = label_test.verify_data.test.counts.rows(event)
    tables = _tables(label_test, rows, [])
    test = ExactG2.of(*tables)
    if _passes(test, label_test, level) and label_test.claims:
        arranged = label_test.arranged(level).rows
        if arranged:
            tables = _tables(label_test, rows, arranged)
            test = ExactG2.of(*tables)
    if not _passes(test, label_test, level):
        return None
    sign = int(np.sign(risk_difference(tables[0])))
    return Claim(
        event, None, None, sign, label_test.min_gain, is_new=True, p_value=test.p_value, gain=test.gain
    )


def _tables(label_test: LabelTest, rows: Rows, arranged: Sequence[Ints]) -> tuple[Ints, float]:
    """Tables of an event type given the members and some of their arrangements, and its design effect."""
    n_members = len(label_test.members)
    given = [*range(min(n_members, MAX_GIVEN)), *range(n_members + 1, n_members + 1 + len(arranged))]
    patterns = label_test.patterns([rows, *arranged])
    return patterns.tables(n_members, given), patterns.design_effect(n_members, given)


def _passes(test: ExactG2, label_test: LabelTest, level: float) -> bool:
    return test.p_value is not None and test.p_value <= level and test.gain >= label_test.min_gain
