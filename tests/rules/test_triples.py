import numpy as np
import pytest

from eventcargo.event_kinds import EventKinds
from eventcargo.rules import Literal
from eventcargo.rules.candidates import LearningData
from eventcargo.rules.find import _triples
from eventcargo.rules.occurrences import Occurrences
from eventcargo.rules.triples import MAX_TRIPLED, triple_literals

from ..families import with_kinds
from .drawn import draw_labelled

STATE = Literal("state", ("A", "B", "C"))


def learning(literal: Literal = STATE, kinds: EventKinds | None = None) -> LearningData:
    data, _ = draw_labelled(literal)
    found = Occurrences.locate(data if kinds is None else with_kinds(data, kinds), "ABCDEFGH")
    return LearningData(found, np.ones(len(data), bool), data.label_matrix().toarray()[:, 0] > 0)


@pytest.mark.parametrize("literal", [STATE, Literal("subsequence", ("C", "A", "B"))])
def test_the_triple_behind_a_label_fits_best(literal: Literal) -> None:
    near = learning(literal)
    assert triple_literals(near, "ABCDE", np.zeros(near.found.n, bool))[0] == literal


def test_a_triple_that_says_what_the_rule_says_is_no_candidate() -> None:
    near = learning()
    assert triple_literals(near, "ABC", STATE.holds(near.found)) == []


def test_a_triple_may_replace_a_longer_rule_that_says_the_same() -> None:
    near = learning()
    assert _triples(near, list("ABC"), ((STATE,),)) == []
    assert _triples(near, list("ABC"), ((STATE,), (STATE, Literal("presence", ("A",)))))[0] == STATE


def test_only_the_strongest_event_types_are_tried_in_threes() -> None:
    near = learning()
    others = [f"none {number}" for number in range(MAX_TRIPLED - 2)]
    assert triple_literals(near, [*others, "A", "B", "C"], np.zeros(near.found.n, bool)) == []
    assert triple_literals(near, [*others[1:], "A", "B", "C"], np.zeros(near.found.n, bool))[0] == STATE


def test_attributes_and_what_shares_its_moments_are_in_no_triple() -> None:
    for kinds in (EventKinds(attributes=("A",)), EventKinds(families={"B": ("C",)})):
        near = learning(Literal("subsequence", ("A", "B", "C")), kinds)
        assert triple_literals(near, "ABC", np.zeros(near.found.n, bool)) == []
