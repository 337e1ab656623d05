"""verify in units: each grows, tests or eliminates the claims of a block of labels.

There are three passes, because what confirms a claim depends on all others: the level of a test on their
number, the false-discovery rate on their p-values. A pass reads what the one before it has written.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from eventcargo.deadline import Deadline, OutOfTime
from eventcargo.engines.work import Work, read_unit, write_unit
from eventcargo.events import EventDataset
from eventcargo.files import read_document, write_document
from eventcargo.knowledge import Resolved
from eventcargo.shared_data import share_data, shared_data
from eventcargo.verification.claims import Claim, Levels
from eventcargo.verification.config import VerifyConfig
from eventcargo.verification.forward import BLOCK_LABELS, forward_select, swap_companions, type_level
from eventcargo.verification.label_test import LabelTest, VerifyData
from eventcargo.verification.levels import settle_levels

Pass = Literal["grow", "ask", "eliminate"]
BEFORE: dict[Pass, Pass] = {"ask": "grow", "eliminate": "ask"}
"""The pass that a pass follows."""

COLUMNS = ("label", "event", "frequency", "strength", "evidence")
"""The columns of a graph's edges that claims are made of."""

PROPOSED = 0.2
"""Share of `alpha` at which edges that pooled evidence alone proposes are confirmed among themselves (the
evidence, which names them, has read the same sequences), and edges that nothing names among event types."""

KNOWLEDGE = "eventcargo-resolved", 1
"""Format and version of the file of knowledge about pairs."""


@dataclass(frozen=True)
class TestedLabel:
    """The claims of a label after a pass, and whether there was no time for it."""

    name: str
    claims: list[Claim]
    alternatives: dict[int, dict[int, float]]
    is_late: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "claims": [{**asdict(claim), "event": int(claim.event)} for claim in self.claims],
            "alternatives": [
                [int(one), [[int(other), gain] for other, gain in gains.items()]]
                for one, gains in self.alternatives.items()
            ],
            "late": self.is_late,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "TestedLabel":
        claims = [Claim(**claim) for claim in content["claims"]]
        alternatives = {one: dict(gains) for one, gains in content["alternatives"]}
        return cls(content["name"], claims, alternatives, content["late"])


@dataclass(frozen=True)
class Verification:
    """A graph's edges and the data they are tested on."""

    edges: pl.DataFrame
    data: EventDataset
    config: VerifyConfig
    knowledge: Resolved | None
    untrusted: frozenset[str]

    @cached_property
    def label_tests(self) -> list[LabelTest]:
        """One test for each label of the data, the most frequent first."""
        tests = [
            label_test for study in self.data.studies() for label_test in self._of_study(VerifyData(study))
        ]
        return sorted(tests, key=lambda label_test: -len(label_test.positives))

    @cached_property
    def blocks(self) -> list[list[LabelTest]]:
        """Neighbours in this order that are tested on the same sequences."""
        blocks = list[list[LabelTest]]()
        for label_test in self.label_tests:
            last = blocks[-1] if blocks else []
            if last and len(last) < BLOCK_LABELS and last[0].verify_data is label_test.verify_data:
                last.append(label_test)
            else:
                blocks.append([label_test])
        return blocks

    def _of_study(self, verify_data: VerifyData) -> list[LabelTest]:
        """One test for each label of a study, with its claims."""
        required = frozenset[tuple[str, str]]() if self.knowledge is None else self.knowledge.required
        numbers = {name: number for number, name in enumerate(verify_data.data.event_names)}
        supports = [len(positives) for positives in verify_data.positives]
        label_tests = [
            LabelTest(verify_data, label, [], self.config.min_gain * support)
            for label, support in enumerate(supports)
        ]
        if self.knowledge is not None:
            for label_test in label_tests:
                label_test.barred = ~self.knowledge.table([label_test.name], verify_data.data.event_names)[0]
        places = {name: number for number, name in enumerate(verify_data.data.label_names)}
        for label, event, frequency, strength, evidence in self.edges.select(COLUMNS).iter_rows():
            if label not in places or event in verify_data.data.kinds.adjusted:
                continue
            at = places[label]
            votes = None if frequency is None else frequency * supports[at]
            claim = Claim(numbers[event], votes, strength, evidence)
            claim.is_required = (label, event) in required
            label_tests[at].claims.append(claim)
        return label_tests

    def taken_up(self, block: int, tested: Sequence[TestedLabel]) -> list[LabelTest]:
        """The tests of a block with the claims that another pass has left."""
        tests = [one.with_claims(own.claims) for one, own in zip(self.blocks[block], tested, strict=True)]
        for one, own in zip(tests, tested, strict=True):
            one.alternatives = own.alternatives
        return tests


@dataclass(frozen=True)
class VerifyWork(Work[Verification]):
    """One pass over blocks of labels; the levels are those that follow from all claims so far."""

    data: str
    """the fingerprint of the data"""
    config: VerifyConfig
    kind: Pass
    level: float = 1.0
    """largest p-value of a claim that is not doubtful"""
    levels: Levels = Levels(0.0, 0.0, 0.0)  # noqa: RUF009 (frozen)
    """those of voted and proposed claims and, over all pairs of a label and an event type, of unnamed ones"""

    def save(self, state: Verification, folder: Path) -> None:
        share_data(state.data, self.folder.parent)
        state.edges.select(COLUMNS).write_parquet(folder / "edges.parquet")
        content: dict[str, Any] = {"untrusted": sorted(state.untrusted)}
        if (known := state.knowledge) is not None:
            np.save(folder / "allowed.npy", known.allowed)
            names = {"label_names": known.label_names, "event_names": known.event_names}
            content |= {**names, "required": sorted(known.required)}
        write_document(folder / "known.json", *KNOWLEDGE, content)

    def open(self, folder: Path) -> Verification:
        content, known = read_document(folder / "known.json", *KNOWLEDGE), None
        if "required" in content:
            known = Resolved(
                tuple(content["label_names"]),
                tuple(content["event_names"]),
                np.load(folder / "allowed.npy", allow_pickle=False),
                frozenset((label, event) for label, event in content["required"]),
            )
        data, edges = shared_data(self.data, self.folder.parent), pl.read_parquet(folder / "edges.parquet")
        return Verification(edges, data, self.config, known, frozenset(content["untrusted"]))

    def do(self, state: Verification, unit: int) -> None:
        do = {"grow": self._grow, "ask": self._ask, "eliminate": self._eliminate}[self.kind]
        # products are small: on a busy machine threads wait for each other
        with threadpool_limits(1, "blas"):
            tested = do(state, unit, self.deadline)
        write_unit(self.path(unit), {"labels": [label.to_dict() for label in tested]})

    def path(self, unit: int) -> Path:
        return self._path(self.kind, unit)

    def _path(self, kind: Pass, unit: int) -> Path:
        return self.folder / f"{kind}-{unit:05}.json"

    def read(self, unit: int) -> list[TestedLabel]:
        """What this pass has left of a block."""
        return _read(self.path(unit))

    def _before(self, state: Verification, unit: int) -> tuple[list[LabelTest], list[TestedLabel]]:
        before = _read(self._path(BEFORE[self.kind], unit))
        return state.taken_up(unit, before), before

    def _grow(self, state: Verification, unit: int, deadline: Deadline) -> list[TestedLabel]:
        """Add what boundaries lack, swap companions in, settle levels."""
        claims = [list(label_test.claims) for label_test in state.blocks[unit]]
        block = [one.with_claims(own) for one, own in zip(state.blocks[unit], claims, strict=True)]
        late = {one.label for one in forward_select(block, self.config.rounds, self.config.alpha, deadline)}
        swap_companions(block, self.config.alpha, deadline)
        for label_test in block:
            settle_levels(label_test, self.config.alpha)
        return [_left(label_test, label_test.label in late) for label_test in block]

    def _ask(self, state: Verification, unit: int, deadline: Deadline) -> list[TestedLabel]:
        """Test all claims."""
        return [_left(one, not _is_asked(one, self.level, deadline)) for one in self._before(state, unit)[0]]

    def _eliminate(self, state: Verification, unit: int, deadline: Deadline) -> list[TestedLabel]:
        """Drop the claims that fall."""
        tests, before = self._before(state, unit)
        done = [
            own.is_late or self._is_eliminated(one, one.name in state.untrusted, deadline)
            for one, own in zip(tests, before, strict=True)
        ]
        return [_left(one, not is_done) for one, is_done in zip(tests, done, strict=True)]

    def _is_eliminated(self, label_test: LabelTest, untrusted: bool, deadline: Deadline) -> bool:
        """Drop the claims of a label that fall; if there is no time for that, all stay and it is false."""
        claims = list(label_test.claims)
        try:
            label_test.backward_eliminate(self.level, self._levels_of(label_test), untrusted, deadline)
        except OutOfTime:
            label_test.replace(claims)
            return False
        return True

    def _levels_of(self, label_test: LabelTest) -> Levels:
        """The levels of a label: what nothing names must be a discovery, or significant among event types."""
        own, alpha = [claim for claim in label_test.claims if claim.is_mute], self.config.alpha
        of_unnamed = min(self.levels.unnamed, type_level(label_test, own, alpha))
        if len(own) < len(label_test.claims):
            of_unnamed = max(of_unnamed, type_level(label_test, own, PROPOSED * alpha))
        return Levels(self.levels.voted, max(self.levels.proposed, of_unnamed), of_unnamed)


def _is_asked(label_test: LabelTest, level: float, deadline: Deadline) -> bool:
    """Whether there was time to test the claims of a label."""
    if deadline.is_over:
        return False
    try:
        label_test.ask(level, deadline=deadline)
    except OutOfTime:
        return False
    return True


def _left(label_test: LabelTest, is_late: bool) -> TestedLabel:
    return TestedLabel(label_test.name, label_test.claims, label_test.alternatives, is_late)


def _read(path: Path) -> list[TestedLabel]:
    return [TestedLabel.from_dict(content) for content in read_unit(path)["labels"]]
