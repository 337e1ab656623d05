"""Growth: event types that a boundary lacks, found by forward steps of IAMB from the boundary as it is."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from eventcargo.statistics.contingency import Rows
from eventcargo.statistics.exact_g2 import Dependence, Ints, risk_difference
from eventcargo.statistics.g2 import Dependence as Screen
from eventcargo.statistics.g2 import Target
from eventcargo.verify.claims import Claim
from eventcargo.verify.label_test import Question

BLOCK_LABELS = 8
"""Labels that take a step together, from one sparse product."""

MOST_GIVEN = 40
"""Members, the strongest first, that a step is conditioned on; more leave a single sequence in a stratum."""

LOOKED_AT = 5
"""Event types of a step, the strongest first, that are tested with the exact moments."""


def grow(
    questions: Sequence[Question], rounds: int, alpha: float, allowed: NDArray[np.bool_] | None = None
) -> None:
    """Add to each label, round by round, the event type that depends on it most given its boundary.

    It must be worth `claim.least` as every edge, with a p-value below alpha divided by all pairs. `allowed`,
    (labels, event types), says which pairs may be added.
    """
    growing = list(questions)
    if not growing:
        return
    level = alpha / (len(questions) * growing[0].ground.test.counts.n_columns)
    for _ in range(rounds):
        growing = list(_blocks(growing, level, allowed))


def _blocks(
    growing: Sequence[Question], level: float, allowed: NDArray[np.bool_] | None
) -> Iterator[Question]:
    """One step of all; gives back those that grew."""
    for at in range(0, len(growing), BLOCK_LABELS):
        block = growing[at : at + BLOCK_LABELS]
        asked = [(Target(question.carriers), question.members[:MOST_GIVEN]) for question in block]
        for question, screen in zip(block, block[0].ground.test.many(asked), strict=True):
            barred = None if allowed is None else ~allowed[question.label]
            claim = _missing(question, screen, level, barred)
            if claim is not None:
                question.claims.append(claim)
                yield question


def _missing(
    question: Question, screen: Screen, level: float, barred: NDArray[np.bool_] | None
) -> Claim | None:
    """The strongest claim of the event types that the screen puts first; it only ranks, the test decides."""
    excess = screen.g2 - screen.dof
    excess[question.members] = -1.0
    if barred is not None:
        excess[barred] = -1.0
    order = np.argsort(-excess, kind="stable")[:LOOKED_AT]
    found = [_tested(question, int(event), level) for event in order if excess[event] > 0]
    known = [claim for claim in found if claim is not None]
    return max(known, key=lambda claim: claim.gain) if known else None


def _tested(question: Question, event: int, level: float) -> Claim | None:
    """A claim on an event type that is not a member; None where the test does not bear it out."""
    rows = question.ground.test.counts.rows(event)
    tables = _tables(question, rows, [])
    test = Dependence.of(tables)
    if _passes(test, question, level) and question.claims:
        arranged = question.arranged(level).rows
        if arranged:
            tables = _tables(question, rows, arranged)
            test = Dependence.of(tables)
    if not _passes(test, question, level):
        return None
    sign = int(np.sign(risk_difference(tables)))
    return Claim(event, None, None, sign, question.least, is_new=True, p_value=test.p_value, gain=test.gain)


def _tables(question: Question, rows: Rows, arranged: Sequence[Ints]) -> Ints:
    """Tables of an event type given the members and some of their arrangements."""
    n_members = len(question.members)
    given = [*range(min(n_members, MOST_GIVEN)), *range(n_members + 1, n_members + 1 + len(arranged))]
    return question.patterns([rows, *arranged]).tables(n_members, given)


def _passes(test: Dependence, question: Question, level: float) -> bool:
    return test.p_value is not None and test.p_value <= level and test.gain >= question.least
