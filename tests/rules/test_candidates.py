import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence
from eventcargo.event_kinds import EventKinds
from eventcargo.events import TimeKind
from eventcargo.rules.candidates import MAX_ARRANGED, LearningData, arranged_literals
from eventcargo.rules.occurrences import Occurrences
from eventcargo.simulation import simulate

from ..families import with_kinds


def learning(regime: str, label: int = 0, **knobs: float) -> tuple[LearningData, list[str]]:
    made = simulate(regime, sequences=600, labels=2, seed=100, **knobs)
    events = made.truth.boundary(made.truth.labels[label])
    carried = made.data.label_matrix().toarray()[:, label].astype(bool)
    found = Occurrences.locate(made.data, events)
    return LearningData(found, np.ones(len(carried), bool), carried), events


@pytest.mark.parametrize(
    ("regime", "kind"),
    [
        ("ordered", "ordered"),
        ("follows", "adjacent"),
        ("repeat", "count"),
        ("timing", "gap"),
        ("recency", "lateness"),
    ],
)
def test_the_arrangement_behind_a_label_tells_most(regime: str, kind: str) -> None:
    assert arranged_literals(*learning(regime))[0].kind == kind


def test_presence_alone_needs_no_arrangement() -> None:
    assert arranged_literals(*learning("chain")) == []


def by_gap(limit: float, time_kind: TimeKind) -> LearningData:
    """`b` comes up to a hundred hours after `a`; the label is carried where it is at most `limit`."""
    gaps = np.random.default_rng(0).uniform(0, 360_000, 300)
    sequences = [
        EventSequence(
            f"s{number:03}", ("a", "b", "c"), (0.0, gap, gap + number), ("x",) if gap <= limit else ()
        )
        for number, gap in enumerate(gaps.tolist())
    ]
    data = EventDataset.from_sequences(sequences, time_kind)
    carried = data.label_matrix().toarray()[:, 0].astype(bool)
    return LearningData(Occurrences.locate(data, "ab"), np.ones(len(data), bool), carried, unit="km")


def test_times_of_dates_are_told_in_round_units() -> None:
    told = [literal.text for literal in arranged_literals(by_gap(36_000, "datetime"), ["a", "b"])]
    assert "b within 10 h of a" in told


def test_plain_numbers_are_told_in_the_unit_given() -> None:
    told = [literal.text for literal in arranged_literals(by_gap(36_000, "number"), ["a", "b"])]
    assert any(text.endswith("km of a") for text in told), told


def test_no_time_is_asked_for_where_there_is_only_an_order() -> None:
    kinds = {literal.kind for literal in arranged_literals(by_gap(36_000, "order"), ["a", "b"])}
    assert kinds.isdisjoint({"gap", "since"})


def test_sequences_to_judge_on_are_not_looked_at() -> None:
    whole, events = learning("ordered")
    half = np.arange(len(whole.carried)) < 300
    changed = LearningData(whole.found, half, whole.carried ^ ~half)
    assert arranged_literals(changed, events) == arranged_literals(
        LearningData(whole.found, half, whole.carried), events
    )


def test_only_so_many_literals_on_arrangement_are_kept() -> None:
    made = simulate("recency", sequences=600, labels=1, seed=100)
    carried = made.data.label_matrix().toarray()[:, 0].astype(bool)
    events = list(made.data.event_names)
    kept = arranged_literals(
        LearningData(Occurrences.locate(made.data, events), np.ones(len(carried), bool), carried), events
    )
    assert len(kept) <= MAX_ARRANGED


def test_of_kinds_that_say_the_same_the_plainest_is_tried() -> None:
    """Each event type occurs once, so that the first is the last."""
    learned, events = learning("ordered")
    kinds = {literal.kind for literal in arranged_literals(learned, events)}
    assert "ordered" in kinds
    assert kinds.isdisjoint({"last_after", "subsequence", "more"})


def test_attributes_and_pairs_of_one_moment_have_no_arrangement() -> None:
    sequences = [  # the label is carried where I50.1, and with it I50, comes last
        EventSequence(f"{at:03}", *made, ())
        for at, made in enumerate(
            [
                (("sex=F", "x", "I50.1", "I50"), (0.0, 0.0, 1.0, 1.0)),
                (("sex=F", "I50.1", "I50", "x"), (0.0, 0.0, 0.0, 1.0)),
            ]
            * 50
        )
    ]
    kinds = EventKinds(attributes=("sex=F",), families={"I50": ("I50.1",)})
    data = with_kinds(EventDataset.from_sequences(sequences), kinds)
    events = ["sex=F", "x", "I50.1", "I50"]
    carried = np.arange(100) % 2 == 0
    found = LearningData(Occurrences.locate(data, events), np.ones(100, bool), carried)
    literals = arranged_literals(found, events)
    pairs = {frozenset(one.events) for one in literals if len(one.events) == 2}
    assert not any("sex=F" in one.events for one in literals)
    assert pairs == {frozenset(["x", "I50.1"]), frozenset(["x", "I50"])}
