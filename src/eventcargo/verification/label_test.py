"""LabelTest: test the claims on the boundary of one label against the sequences.

Every member is tested given the core of the boundary (the members that IAMB keeps; given all members, most
strata of a large boundary would hold a single sequence) and given arrangements of the other members. The
arrangements that the label depends on are chosen one by one, like a boundary of their own: if a late `error`
explains the label, an event type that is merely usual without a late `error` must not pass for a cause. The
presence of a member is tested first; if it does not confirm the member, so are its arrangements.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eventcargo.baselines.iamb import iamb
from eventcargo.baselines.levels import named_gains
from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.deadline import NEVER, Deadline
from eventcargo.events import EventDataset
from eventcargo.statistics.contingency import Rows
from eventcargo.statistics.exact_g2 import ExactG2, Ints, PatternCounts, own_residual_information
from eventcargo.statistics.g2 import IndependenceTest, Target
from eventcargo.statistics.score_test import ScoreScreen, ScoreTest
from eventcargo.statistics.testable import log_smallest_p_values, n_testable
from eventcargo.verification.arrangements import Arrangement, MemberArrangements
from eventcargo.verification.claims import Claim, Levels

CORE_ALPHA = 1e-3
"""Largest p-value of a member of the core."""

MAX_GIVEN = 40
"""Most members, strongest first, that a test conditions on; more leave single sequences in a stratum."""

MAX_CHOSEN = 8
"""Most arrangements chosen for a label."""

MAX_ARRANGED = 30
"""Most members, strongest first, whose arrangements are tested; more would have too many pairs."""

ALIKE = 0.3
"""Smallest share of the sequences with either of two event types that have both, if the two come together."""

N_TESTS = 2
"""Tests of presence, whose smaller p-value counts: G2 and the score."""

FEW = 5
"""An arrangement that holds, or fails, in fewer sequences is not tested."""


class VerifyData:
    """A data set prepared for the tests of its labels."""

    def __init__(self, data: EventDataset) -> None:
        self.data = data
        self.kinds = data.kinds.numbered(data.event_names)
        self.presence = data.incidence
        self.test = IndependenceTest(self.presence, groups=data.groups, adjusted=self.kinds.adjusted)
        self.positives: list[Rows] = data.positives()
        self.screen = ScoreScreen(self.presence)

    @property
    def adjusted(self) -> list[Rows]:
        """The sequences with each adjusted event type."""
        return [self.test.counts.rows(event) for event in self.kinds.adjusted]

    def units(self, rows: Rows | Ints) -> int:
        """How many groups these sequences are of; without groups, how many sequences."""
        return len(rows) if self.data.groups is None else len(np.unique(self.data.groups[rows]))

    def units_without(self, rows: Rows | Ints) -> int:
        """How many groups the other sequences are of; without groups, how many sequences."""
        if self.data.groups is None:
            return len(self.data) - len(rows)
        return len(np.unique(np.delete(self.data.groups, rows)))

    def together_share(self, event: int) -> NDArray[np.float64]:
        """The share of the sequences with an event type or another that have both, for every other."""
        both = self.presence.tally(self.test.counts.rows(event))
        totals = self.test.counts.totals
        share: NDArray[np.float64] = both / np.maximum(totals + totals[event] - both, 1)
        return share

    @cached_property
    def occurrences(self) -> MemberArrangements:
        return MemberArrangements(self.data)


@dataclass
class LabelTest:
    """A label's positives and the claims on its boundary.

    The columns of its patterns are the members in the order of the claims, then further columns.
    """

    verify_data: VerifyData
    label: int
    claims: list[Claim]
    min_gain: float
    """Smallest worth of an edge, in nats."""
    core: list[int] = field(default_factory=list)
    alternatives: dict[int, dict[int, float]] = field(default_factory=dict)
    """For a threshold, what each other one of its scale would have gained, in nats."""
    barred: NDArray[np.bool_] | None = None
    """Event types that may not enter the boundary, (event types,); None: all may."""
    _arranged: "Arranged | None" = None

    @property
    def positives(self) -> Rows:
        return self.verify_data.positives[self.label]

    @property
    def members(self) -> list[int]:
        return [claim.event for claim in self.claims]

    @property
    def name(self) -> str:
        """The label's name."""
        return self.verify_data.data.label_names[self.label]

    @property
    def named_alternatives(self) -> dict[str, dict[str, float]]:
        """The alternatives by name, in nats per sequence with the label."""
        return named_gains(self.alternatives, self.verify_data.data.event_names, len(self.positives))

    def with_claims(self, claims: list[Claim]) -> "LabelTest":
        """The same test with other claims."""
        return LabelTest(self.verify_data, self.label, claims, self.min_gain, barred=self.barred)

    def replace(self, claims: list[Claim]) -> None:
        """Put other claims in place of those so far."""
        self.claims, self._arranged = claims, None

    def ask(self, alpha: float, claims: Sequence[Claim] | None = None, deadline: Deadline = NEVER) -> None:
        """Test the presence of all members or some, and arrangements where presence is not conclusive.

        Raises `OutOfTime` at the deadline.
        """
        if not self.claims or claims == []:
            return
        arranged = self.arranged(alpha)
        for place, claim in enumerate(self.claims):
            deadline.check()
            if claims is None or claim in claims:
                arranged.ask_presence(place)
                if claim.is_doubtful(alpha) and not claim.is_hopeless:
                    arranged.ask(place)

    def backward_eliminate(
        self, alpha: float, levels: Levels, untrusted: bool = False, deadline: Deadline = NEVER
    ) -> None:
        """Drop the members that fall, the least sure first, and test the rest again each time.

        The levels confirm members; arrangements are chosen at `alpha`. Raises `OutOfTime` at the deadline.
        """
        is_settled = False
        while not is_settled:
            is_settled, n_claims = True, len(self.claims)
            while doubtful := [one for one in self.claims if self._falls(one, levels, untrusted)]:
                dropped = self._unlike(sorted(doubtful, key=lambda claim: claim.gain))
                self.claims = [claim for claim in self.claims if claim not in dropped]
                self.ask(alpha, [claim for claim in doubtful if claim not in dropped], deadline)
            if 0 < len(self.claims) < n_claims:
                self.ask(alpha, deadline=deadline)  # what was sure beside others may not be so without them
                is_settled = False

    def _unlike(self, claims: Sequence[Claim]) -> list[Claim]:
        """The first of some claims, and those after it that do not come with one taken before.

        Of event types that come together, each may be superfluous only beside the other.
        """
        taken: list[Claim] = []
        for claim in claims:
            share = self.verify_data.together_share(claim.event)
            if not any(share[other.event] >= ALIKE for other in taken):
                taken.append(claim)
        return taken

    def _falls(self, claim: Claim, levels: Levels, untrusted: bool) -> bool:
        return claim.falls(levels.of(claim, untrusted), untrusted) or claim.is_shadow_of(self.claims)

    def arranged(self, alpha: float) -> "Arranged":
        """The arrangements of the current members, and those that the label depends on."""
        if self._arranged is None or self._arranged.n_members != len(self.claims):
            test, target = self.verify_data.test.local(Target(self.positives), np.array(self.members))
            self.core = iamb(test, target, CORE_ALPHA)
            candidates = self.verify_data.occurrences.arrangements(self.members[:MAX_ARRANGED], FEW)
            self._arranged = Arranged(self, [one for one in candidates if self._varies(one)], alpha)
        return self._arranged

    def _varies(self, arrangement: Arrangement) -> bool:
        """Whether an arrangement holds, and fails, in enough sequences or groups of sequences."""
        data, rows = self.verify_data, arrangement.rows
        return data.units(rows) >= FEW and data.units_without(rows) >= FEW

    def patterns(self, further: Sequence[Rows | Ints] = ()) -> PatternCounts:
        """The patterns of the members and of further columns."""
        data = self.verify_data
        columns = [*(data.test.counts.rows(event) for event in self.members), *further]
        return PatternCounts.of_rows(columns, self.positives, len(data.data), data.adjusted, data.data.groups)

    def scores(self) -> NDArray[np.float64]:
        """The score of every event type given the members, in standard deviations."""
        data = self.verify_data
        members = [data.test.counts.rows(event) for event in self.members[:MAX_GIVEN]]
        return data.screen.z(self.positives, [*members, *data.adjusted])

    def n_testable(self, alpha: float) -> int:
        """How many event types can depend on the label significantly, given the members."""
        data = self.verify_data
        given = [*(data.test.counts.rows(event) for event in self.members[:MAX_GIVEN]), *data.adjusted]
        stratum = np.zeros(len(data.data), np.int64)
        for rows in given:
            stratum *= 2
            stratum[rows] += 1
            stratum = np.unique(stratum, return_inverse=True)[1]
        smallest = log_smallest_p_values(data.presence, stratum, self.positives, data.data.groups)
        return n_testable(smallest + np.log(N_TESTS), alpha)

    def core_without(self, place: int) -> list[int]:
        """The places of the core except one."""
        return [other for other in self.core if other != place]


class Arranged:
    """The arrangements of one label's members, and the few that the label depends on."""

    def __init__(self, label_test: LabelTest, found: Sequence[Arrangement], alpha: float) -> None:
        self.label_test, self.found, self.n_members = label_test, found, len(label_test.claims)
        self._alpha, self._known = alpha, dict[tuple[int, ...], PatternCounts]()
        present = [label_test.verify_data.test.counts.rows(event) for event in label_test.members]
        columns: list[Rows | Ints] = [*present, *(one.rows for one in found)]
        data, adjusted = label_test.verify_data.data, label_test.verify_data.adjusted
        every = IndependenceTest(
            BinaryMatrix.of_columns([*columns, *adjusted], len(data)),
            groups=data.groups,
            adjusted=range(len(columns), len(columns) + len(adjusted)),
        )
        self._test, self._target = every.local(Target(label_test.positives), np.arange(len(columns)))
        self._columns = np.arange(self.n_members, len(columns))
        self.chosen = self._choose(label_test.core, self._columns)
        self._others_of = dict[int, list[int]]()

    @property
    def rows(self) -> list[Ints]:
        """The sequences in which each chosen arrangement holds."""
        return self._rows(self.chosen)

    def ask_presence(self, place: int) -> None:
        """Test the presence of a member given everything that does not involve it."""
        others = self._others(place)
        self.label_test.claims[place].judge(*self._tables(place, others), self._score(place, others))

    def _score(self, place: int, others: list[int]) -> ScoreTest:
        """The score test of a member's presence given all other members and other arrangements."""
        patterns = self._patterns(tuple(others))
        members = [at for at in range(self.n_members) if at != place][:MAX_GIVEN]
        given = [*members, *range(self.n_members, self.n_members + len(others))]
        return ScoreTest.of(patterns, place, given, patterns.design_effect(place, self._given(place, others)))

    def ask(self, place: int) -> None:
        """Test a member's presence and best arrangement given everything that does not involve it."""
        claim, others = self.label_test.claims[place], self._others(place)
        tables = self._tables(place, others)
        claim.bound(*tables)
        if self._is_everywhere(claim):
            self._bound_everywhere(claim, tables, explained=bool(others))
        about = self._columns[self._is_about(place)]
        tests: list[ExactG2 | ScoreTest] = [ExactG2.of(*tables), self._score(place, others)]
        if len(about):
            best = self._best(place, about, others)
            claim.max_gain = max(claim.max_gain, best.max_gain)
            tests.append(best)
        # Bonferroni over the two tests of presence and every arrangement that competed
        claim.decide(tests, len(about) + 2)

    def _choose(self, given: list[int], columns: Ints, chosen: Sequence[int] = ()) -> list[int]:
        """Choose the strongest arrangement given some members and those chosen, until none is strong."""
        min_gain, chosen = 2 * self.label_test.min_gain, list(chosen)
        while len(columns) and len(chosen) < MAX_CHOSEN:
            tests = self._test(self._target, [*given, *chosen], columns)
            strong = tests.holds(self._alpha / len(columns))
            strong &= tests.excess(strong) >= min_gain
            if not strong.any():
                break
            chosen.append(int(columns[np.argmax(np.where(strong, tests.g2, -1.0))]))
        return chosen

    def _others(self, place: int) -> list[int]:
        """The arrangements chosen among those that do not involve a member: of all that are, and further."""
        if place not in self._others_of:
            is_about = self._is_about(place)
            kept = [column for column in self.chosen if not is_about[column - self.n_members]]
            if len(kept) < len(self.chosen) or place in self.label_test.core:
                kept = self._choose(self.label_test.core_without(place), self._columns[~is_about], kept)
            self._others_of[place] = kept
        return self._others_of[place]

    def _is_about(self, place: int) -> NDArray[np.bool_]:
        return np.array([place in one.members for one in self.found], bool)

    def _tables(self, place: int, others: list[int]) -> tuple[Ints, float]:
        """Tables of a member's presence given the core and other arrangements, and its design effect."""
        given, patterns = self._given(place, others), self._patterns(tuple(others))
        return patterns.tables(place, given), patterns.design_effect(place, given)

    def _given(self, place: int, others: list[int]) -> list[int]:
        """The columns of the core except one, and of other arrangements."""
        return [*self.label_test.core_without(place), *range(self.n_members, self.n_members + len(others))]

    def _patterns(self, columns: tuple[int, ...]) -> PatternCounts:
        if columns not in self._known:
            self._known[columns] = self.label_test.patterns(self._rows(columns))
        return self._known[columns]

    def _best(self, place: int, about: Ints, others: list[int]) -> ExactG2:
        """The exact test of the strongest arrangement that involves a member."""
        core = self.label_test.core_without(place)
        tests = self._test(self._target, [*core, *others], about)
        best = int(about[np.argmax(np.where(tests.dof > 0, tests.excess(tests.dof > 0), -np.inf))])
        last = self.n_members + len(others)
        patterns, given = self._patterns((*others, best)), [*core, *range(self.n_members, last)]
        return ExactG2.of(patterns.tables(last, given), patterns.design_effect(last, given))

    def _rows(self, columns: Sequence[int]) -> list[Ints]:
        return [self.found[column - self.n_members].rows for column in columns]

    def _is_everywhere(self, claim: Claim) -> bool:
        """Ubiquitous: absent from fewer than `FEW` sequences or groups of sequences."""
        data = self.label_test.verify_data
        return data.units_without(data.test.counts.rows(claim.event)) < FEW

    def _bound_everywhere(self, claim: Claim, tables: tuple[Ints, float], explained: bool) -> None:
        """Set the bounds of a ubiquitous event type, whose presence says nothing for or against it.

        Its arrangements count against it only if others explain the label: if none do, its partner in an
        arrangement may be missing from the boundary.
        """
        claim.unseen, claim.left = 0.0, own_residual_information(*tables)
        claim.max_gain = 0.0 if explained else np.inf
