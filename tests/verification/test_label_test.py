import numpy as np
import pytest

from eventcargo.events import EventDataset
from eventcargo.sequences import EventSequence
from eventcargo.verification.claims import Claim
from eventcargo.verification.label_test import LabelTest, VerifyData

from .drawn import draw

ALPHA = 1e-3


def label_test(data: EventDataset, members: str, votes: float = 200.0) -> LabelTest:
    """Claims of one nat a vote on these members; a chosen arrangement must be worth 40 nats."""
    claims = [Claim(data.event_names.index(name), votes, 1.0) for name in members]
    return LabelTest(VerifyData(data), 0, claims, min_gain=20.0)


@pytest.fixture(scope="module")
def conjunctive() -> EventDataset:
    return draw(lambda events: "a" in events and "b" in events, dict.fromkeys("abcd", 0.4))


@pytest.fixture(scope="module")
def ordered() -> EventDataset:
    return draw(lambda events: events.index("a") < events.index("b"), dict.fromkeys("abcd", 1.0))


def test_carriers_are_the_sequences_with_the_label(conjunctive: EventDataset) -> None:
    found = label_test(conjunctive, "a").positives.tolist()
    assert found == [row for row, sequence in enumerate(conjunctive) if sequence.labels]


def test_the_core_holds_what_explains_the_label(conjunctive: EventDataset) -> None:
    asked = label_test(conjunctive, "dabc")
    asked.ask(ALPHA)
    assert sorted(asked.core) == [1, 2]


def test_patterns_hold_every_sequence(conjunctive: EventDataset) -> None:
    assert label_test(conjunctive, "ab").patterns().counts.sum() == len(conjunctive)


def test_presence_confirms_a_conjunction_and_refutes_a_stranger(conjunctive: EventDataset) -> None:
    asked = label_test(conjunctive, "abc")
    asked.ask(ALPHA)
    assert [claim.refuted for claim in asked.claims] == [False, False, True]
    assert [(claim.p_value or 1) < 1e-6 for claim in asked.claims] == [True, True, False]


def test_presence_of_what_is_always_there_is_no_test(ordered: EventDataset) -> None:
    asked = label_test(ordered, "ab")
    for place in range(2):
        asked.arranged(ALPHA).ask_presence(place)
    assert [claim.p_value for claim in asked.claims] == [None, None]


def test_arrangements_confirm_the_members_of_an_order(ordered: EventDataset) -> None:
    asked = label_test(ordered, "abc")
    asked.ask(ALPHA)
    assert [claim.gain > 100 for claim in asked.claims] == [True, True, False]
    assert [claim.refuted for claim in asked.claims] == [False, False, True]


def test_p_values_are_corrected_for_the_arrangements_looked_at(ordered: EventDataset) -> None:
    asked = label_test(ordered, "abc")
    asked.ask(ALPHA)
    assert asked.claims[2].p_value == 1.0


def test_order_is_not_asked_for_where_presence_confirms(conjunctive: EventDataset) -> None:
    asked, alone = label_test(conjunctive, "ab"), label_test(conjunctive, "ab")
    asked.ask(ALPHA)
    for place in range(2):
        alone.arranged(ALPHA).ask_presence(place)
    assert [claim.p_value for claim in asked.claims] == [claim.p_value for claim in alone.claims]


@pytest.fixture(scope="module")
def late() -> EventDataset:
    """The label follows a late a; c is there where a is early, and says nothing once that is known."""
    ways = [("a", "b"), ("b", "a"), ("a", "c", "b"), ("b",)]
    return EventDataset.from_sequences(
        [
            EventSequence(
                f"{number}",
                way,
                tuple(map(float, range(len(way)))),
                ("bad",) if way[-1] == "a" and number % 10 else (),
            )
            for number in range(800)
            for way in [ways[number % 4]]
        ]
    )


def test_a_member_is_asked_for_given_the_arrangements_of_others(late: EventDataset) -> None:
    asked = label_test(late, "ac")
    asked.ask(ALPHA)
    assert [claim.refuted for claim in asked.claims] == [False, True]
    assert asked.claims[1].gain < 1


def test_arrangements_are_chosen_again_when_a_member_joins(late: EventDataset) -> None:
    asked = label_test(late, "c")
    before = asked.arranged(ALPHA)
    asked.claims.append(label_test(late, "a").claims[0])
    assert asked.arranged(ALPHA) is not before
    assert asked.arranged(ALPHA) is asked.arranged(ALPHA)


def test_without_an_explanation_arrangements_refute_nothing(ordered: EventDataset) -> None:
    asked = label_test(ordered, "ac", votes=900.0)
    asked.ask(1e-300)
    assert [claim.max_gain for claim in asked.claims] == [np.inf, np.inf]


def test_repetition_confirms_a_member() -> None:
    once = [EventSequence(f"once {i}", ("a", "b"), (0.0, 1.0), ()) for i in range(200)]
    twice = [EventSequence(f"twice {i}", ("a", "b", "a"), (0.0, 1.0, 2.0), ("bad",)) for i in range(200)]
    asked = label_test(EventDataset.from_sequences(once + twice), "a")
    asked.ask(ALPHA)
    assert (asked.claims[0].p_value or 1) < 1e-20
