import numpy as np
import pytest

from eventcargo.deadline import Deadline, OutOfTime
from eventcargo.events import EventDataset
from eventcargo.sequences import EventSequence
from eventcargo.verification.claims import Claim, Levels
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


def test_scores_are_those_given_the_members(conjunctive: EventDataset) -> None:
    asked = label_test(conjunctive, "ba")
    z = np.abs(asked.scores())
    names = [conjunctive.event_names.index(name) for name in "abcd"]
    assert (z[names[:2]] == 0).all()  # a member says nothing beyond itself
    assert (z[names[2:]] < 4).all()
    alone = np.abs(label_test(conjunctive, "").scores())
    assert (alone[names[:2]] > 20).all()


def test_other_claims_are_asked_on_the_same_data(conjunctive: EventDataset) -> None:
    asked = label_test(conjunctive, "ab")
    asked.barred = np.array([True, False, False, False])
    other = asked.with_claims(asked.claims[:1])
    assert other.members == asked.members[:1]
    assert (other.verify_data, other.label, other.min_gain) == (asked.verify_data, 0, 20.0)
    assert other.barred is asked.barred


def test_the_share_together_is_that_of_the_sequences_with_either() -> None:
    ways = [("a",), ("a", "b"), ("b", "c"), ("a", "b"), ("c",)]
    data = EventDataset.from_sequences(
        [EventSequence(str(at), way, tuple(map(float, range(len(way)))), ()) for at, way in enumerate(ways)]
    )
    share = VerifyData(data).together_share(data.event_names.index("a"))
    assert share.tolist() == [1.0, 2 / 4, 0.0]


def eliminated(
    asked: LabelTest, of_claimed: float = 0.01, of_new: float = 1e-4, untrusted: bool = False
) -> str:
    """The members left, tested first."""
    asked.ask(ALPHA)
    asked.backward_eliminate(ALPHA, Levels(of_claimed, 1e-3, of_new), untrusted)
    return "".join(sorted(asked.verify_data.data.event_names[claim.event] for claim in asked.claims))


def test_at_the_deadline_nothing_more_is_asked(conjunctive: EventDataset) -> None:
    asked = label_test(conjunctive, "abcd")
    with pytest.raises(OutOfTime):
        asked.ask(ALPHA, deadline=Deadline.after(0.0))
    asked.ask(ALPHA)
    with pytest.raises(OutOfTime):
        asked.backward_eliminate(ALPHA, Levels(0.01, 1e-3, 1e-4), deadline=Deadline.after(0.0))


def test_other_arrangements_are_those_chosen_without_the_member(ordered: EventDataset) -> None:
    arranged = label_test(ordered, "abcd").arranged(ALPHA)
    assert arranged.chosen
    for place in range(4):
        others = arranged._others(place)
        assert not any(place in arranged.found[column - arranged.n_members].members for column in others)
        kept = [c for c in arranged.chosen if place not in arranged.found[c - arranged.n_members].members]
        assert others[: len(kept)] == kept


def test_elimination_drops_what_the_data_refute(conjunctive: EventDataset) -> None:
    assert eliminated(label_test(conjunctive, "abcd")) == "ab"


def test_elimination_leaves_claims_that_are_sure_as_they_are(conjunctive: EventDataset) -> None:
    asked, alone = label_test(conjunctive, "ab"), label_test(conjunctive, "ab")
    alone.ask(ALPHA)
    assert eliminated(asked) == "ab"
    assert asked.claims == alone.claims


def test_after_elimination_figures_are_those_beside_what_is_left(conjunctive: EventDataset) -> None:
    asked, alone = label_test(conjunctive, "abcd"), label_test(conjunctive, "ab")
    alone.ask(ALPHA)
    assert eliminated(asked) == "ab"
    assert asked.claims == alone.claims


@pytest.mark.parametrize("order", ["xyc", "yxc", "cyx"])
def test_of_two_that_come_together_one_is_dropped_at_a_time(order: str) -> None:
    ways = [("x", "y"), ("x", "y", "c"), ("z",), ("z", "c")]
    data = EventDataset.from_sequences(
        [
            EventSequence(
                f"{at:03}", ways[at % 4], tuple(map(float, range(len(ways[at % 4])))), ("bad",) * (at % 4 < 2)
            )
            for at in range(400)
        ]
    )
    assert eliminated(label_test(data, order), untrusted=True) in ("x", "y")


def test_new_claims_are_held_to_the_level_of_new_ones(conjunctive: EventDataset) -> None:
    for of_new, left in ((1e-4, "ab"), (1e-300, "a")):
        asked = label_test(conjunctive, "ab")
        asked.claims[1] = Claim(asked.claims[1].event, is_new=True)
        assert eliminated(asked, of_new=of_new) == left


def test_a_faint_claim_falls_beside_a_strong_one_unless_it_was_voted_for() -> None:
    rng = np.random.default_rng(0)
    sequences = []
    for at in range(20_000):
        a, b = rng.random(2) < 0.5
        events = tuple(name for name, holds in (("a", a), ("b", b), ("z", True)) if holds)
        labels = ("bad",) if rng.random() < (0.9 if a else 0.05) + (0.03 if b else 0) else ()
        sequences.append(EventSequence(f"{at:05}", events, (0.0,) * len(events), labels))
    data = EventDataset.from_sequences(sequences)
    voted, new, alone = label_test(data, "ab", votes=30.0), label_test(data, "ab"), label_test(data, "b")
    new.claims[1] = Claim(new.claims[1].event, is_new=True)
    alone.claims[0] = Claim(alone.claims[0].event, is_new=True)
    assert (eliminated(voted), eliminated(new), eliminated(alone)) == ("ab", "a", "b")
    assert (voted.claims[1].p_value or 1) < 1e-6
