import numpy as np
import pytest

from eventcargo.rules import Literal
from eventcargo.rules.description_length import DescriptionLength
from eventcargo.rules.patterns import LiteralPatterns


@pytest.fixture
def worth() -> DescriptionLength:
    """Literals A and `A before B`; the label is carried where both hold."""
    literals = (Literal("presence", ("A",)), Literal("ordered", ("A", "B")))
    held = np.array([[0, 1, 1], [0, 0, 1]], np.float32)
    return DescriptionLength(
        LiteralPatterns(literals, held, np.array([0, 0, 9], np.float32), np.array([50, 20, 0], np.float32)),
        1.0,
    )


def test_a_rule_holds_where_one_of_its_conjunctions_does(worth: DescriptionLength) -> None:
    rule = frozenset([frozenset([0, 3]), frozenset([2])])
    assert worth.holds(rule).tolist() == [True, True, False]


def test_negation_and_arrangement_cost_more_than_presence(worth: DescriptionLength) -> None:
    present, arranged, absent, not_arranged = worth.prices
    assert present < absent < arranged < not_arranged


def test_what_conjunctions_share_is_paid_once(worth: DescriptionLength) -> None:
    parts = [frozenset([0, 1]), frozenset([0, 3])]
    assert worth.price(frozenset(parts)) == pytest.approx(worth.prices[[0, 1, 3]].sum() + 2)


def test_a_rule_is_worth_what_it_saves_less_its_price(worth: DescriptionLength) -> None:
    exact, loose = frozenset([frozenset([1])]), frozenset([frozenset([0])])
    assert worth.of(exact) == pytest.approx(worth.saved(exact) - worth.prices[1] - 1)
    assert worth.of(exact) > worth.of(loose)


def test_no_rule_is_worth_nothing(worth: DescriptionLength) -> None:
    assert worth.of(frozenset()) == 0.0


def test_a_limit_and_a_third_event_type_cost_more() -> None:
    literals = (
        Literal("subsequence", ("A", "B")),
        Literal("distance", ("A", "B"), 4.0),
        Literal("subsequence", ("A", "B", "C")),
    )
    patterns = LiteralPatterns(literals, np.zeros((3, 1), np.float32), *np.ones((2, 1), np.float32))
    plain, limited, third = DescriptionLength(patterns, 1.0).prices[:3]
    assert plain < third < limited
