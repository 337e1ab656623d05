"""Questions: one label, the claims on its boundary, and what the sequences answer.

First presence: each member given the core of the boundary (what IAMB keeps of the members; given all of
them, most strata of a large boundary would hold a single sequence). Then, for members that presence does not
confirm, arrangements among the members: those the label depends on are chosen one by one, like a boundary
of their own, and each member is asked for given the ones that are not about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from eventcargo.baselines.contingency import Rows
from eventcargo.baselines.iamb import iamb
from eventcargo.baselines.independence import IndependenceTest, Target
from eventcargo.events import EventDataset
from eventcargo.fusion.arrangements import Arrangement, Occurrences
from eventcargo.fusion.claims import Claim
from eventcargo.fusion.strata import Dependence, Ints, Patterns, own_leftover

CORE_ALPHA = 1e-3
"""Largest p-value of a member of the core."""

MOST_CHOSEN = 8
"""Arrangements chosen for a label, at most."""

MOST_ARRANGED = 30
"""Members, the strongest first, whose arrangements are looked at; pairs of more would be too many."""

FEW = 5
"""An arrangement that holds, or fails, in fewer sequences is not looked at."""


class Ground:
    """A data set as the questions need it."""

    def __init__(self, data: EventDataset) -> None:
        self.data = data
        self.test = IndependenceTest(data.presence())
        by_label = data.label_matrix().tocsc()
        by_label.sort_indices()
        parts = np.split(by_label.indices.astype(np.int32), by_label.indptr[1:-1])
        self.carriers: list[Rows] = parts[: len(data.label_names)]

    @cached_property
    def occurrences(self) -> Occurrences:
        return Occurrences(self.data)


@dataclass
class Question:
    """A label's carriers and the claims on its boundary.

    Columns of patterns are the members in the order of the claims, then the chosen arrangements.
    """

    ground: Ground
    label: int
    claims: list[Claim]
    least: float
    """What an edge must be worth, in nats."""
    core: list[int] = field(default_factory=list)

    @property
    def carriers(self) -> Rows:
        return self.ground.carriers[self.label]

    @property
    def members(self) -> list[int]:
        return [claim.event for claim in self.claims]

    def ask_presence(self) -> None:
        """What the presence of every member says given the core."""
        test, target = self.ground.test.local(Target(self.carriers), np.array(self.members))
        self.core = iamb(test, target, CORE_ALPHA)
        patterns = self.patterns()
        for place, claim in enumerate(self.claims):
            claim.judge(patterns.tables(place, self.core_without(place)))

    def ask_arrangements(self, alpha: float) -> None:
        """The same for members that presence does not confirm, by how the members are arranged."""
        doubtful = [place for place, claim in enumerate(self.claims) if _is_doubtful(claim, alpha)]
        if not doubtful:
            return
        most = len(self.ground.data) - FEW
        found = self.ground.occurrences.arrangements(self.members[:MOST_ARRANGED], FEW)
        arranged = _Arranged(self, [one for one in found if len(one.rows) <= most], alpha)
        for place in doubtful:
            arranged.ask(place)

    def patterns(self, further: Sequence[Rows | Ints] = ()) -> Patterns:
        """Patterns of the members and of further columns."""
        columns = [*(self.ground.test.counts.rows(event) for event in self.members), *further]
        rows = np.unique(np.concatenate([self.carriers, *columns]))
        table = np.zeros((len(rows), len(columns)), bool)
        for at, column in enumerate(columns):
            table[np.searchsorted(rows, column), at] = True
        carries = np.zeros(len(rows), bool)
        carries[np.searchsorted(rows, self.carriers)] = True
        return Patterns.of(table, carries, len(self.ground.data) - len(rows))

    def core_without(self, place: int) -> list[int]:
        """The places of the core, but for one."""
        return [other for other in self.core if other != place]


def _is_doubtful(claim: Claim, alpha: float) -> bool:
    is_sure = claim.p_value is not None and claim.p_value <= alpha and claim.gain >= claim.least
    return not is_sure and not claim.is_hopeless


class _Arranged:
    """The arrangements of one question's members, and the few the label depends on."""

    def __init__(self, question: Question, found: Sequence[Arrangement], alpha: float) -> None:
        self.question, self.found, self.n_members = question, found, len(question.claims)
        present = [question.ground.test.counts.rows(event) for event in question.members]
        columns: list[Rows | Ints] = [*present, *(one.rows for one in found)]
        every = IndependenceTest(_matrix(columns, len(question.ground.data)))
        self.test, self.target = every.local(Target(question.carriers), np.arange(len(columns)))
        self.columns = np.arange(self.n_members, len(columns))
        self.chosen: list[int] = []
        self._choose(alpha)
        self.patterns = question.patterns([self._arrangement(column).rows for column in self.chosen])

    def _choose(self, alpha: float) -> None:
        """Add the strongest arrangement given the core and those chosen, until none is strong."""
        least = 2 * self.question.least
        while len(self.columns) and len(self.chosen) < MOST_CHOSEN:
            tests = self.test(self.target, [*self.question.core, *self.chosen], self.columns)
            strong = tests.holds(alpha / len(self.columns)) & (tests.g2 - tests.dof >= least)
            if not strong.any():
                return
            self.chosen.append(int(self.columns[np.argmax(np.where(strong, tests.g2, -1.0))]))

    def ask(self, place: int) -> None:
        """What presence and the best arrangement about a member say, given all that is not about it."""
        claim, rest = self.question.claims[place], self._rest(place)
        tables = self.patterns.tables(place, rest)
        claim.bound(tables)
        if self._is_everywhere(claim):
            self._bound_everywhere(
                claim, tables, explained=len(rest) > len(self.question.core_without(place))
            )
        about = self.columns[[place in one.members for one in self.found]]
        found = [Dependence.of(tables)]
        if len(about):
            found.append(self._best(about, rest))
            claim.most = max(claim.most, found[1].most_gain)
        known = [test.p_value for test in found if test.p_value is not None]
        claim.p_value = min(1.0, min(known) * (len(about) + 1)) if known else None
        claim.gain = max(test.gain for test in found)

    def _rest(self, place: int) -> list[int]:
        """Columns of the patterns: the core and the chosen arrangements without this member."""
        others = [
            self.n_members + number
            for number, column in enumerate(self.chosen)
            if place not in self._arrangement(column).members
        ]
        return [*self.question.core_without(place), *others]

    def _best(self, about: Ints, rest: list[int]) -> Dependence:
        """The strongest arrangement about a member, tested as one of few would be."""
        columns = [at if at < self.n_members else self.chosen[at - self.n_members] for at in rest]
        tests = self.test(self.target, columns, about)
        best = int(about[np.argmax(np.where(tests.dof > 0, tests.g2 - tests.dof, -np.inf))])
        rows = [self._arrangement(column).rows for column in (*self.chosen, best)]
        tables = self.question.patterns(rows).tables(self.n_members + len(self.chosen), rest)
        return Dependence.of(tables)

    def _is_everywhere(self, claim: Claim) -> bool:
        counts = self.question.ground.test.counts
        return int(counts.totals[claim.event]) > counts.n_sequences - FEW

    def _bound_everywhere(self, claim: Claim, tables: Ints, explained: bool) -> None:
        """Presence of an event type that every sequence has says nothing, for or against.

        Its arrangements speak against it only where others explain the label: where none do, the partner
        it is arranged with may be missing from the boundary.
        """
        claim.unseen, claim.left = 0.0, own_leftover(tables)
        claim.most = 0.0 if explained else np.inf

    def _arrangement(self, column: int) -> Arrangement:
        return self.found[column - self.n_members]


def _matrix(columns: Sequence[Rows | Ints], n_rows: int) -> sp.csr_array:
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in columns])])
    rows = np.concatenate(columns).astype(np.int32)
    return sp.csc_array((np.ones(len(rows), np.int32), rows, starts), shape=(n_rows, len(columns))).tocsr()
