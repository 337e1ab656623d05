import numpy as np
import pytest

from eventcargo import EventDataset, LabelGraph
from eventcargo.report.counts import Counts
from eventcargo.rules import Rule
from eventcargo.rules.literals import Literal

from .material import dataset

RULE = Rule("x", ((Literal("ordered", ("A", "B")),),), 1, 1, 1.0, 1.0)


def by_hand(data: EventDataset, known: np.ndarray, label: str, event: str) -> tuple[int, int]:
    column = data.label_names.index(label)
    having = [s for at, s in enumerate(data) if event in s.events and known[at, column]]
    return sum(label in s.labels for s in having), len(having)


@pytest.fixture
def random() -> EventDataset:
    rng = np.random.default_rng(3)
    rows = [
        (
            f"s{at:02}",
            " ".join(rng.choice(list("ABCD"), rng.integers(0, 5))),
            " ".join(set(rng.choice(["x", "y"], rng.integers(0, 3)))),
        )
        for at in range(60)
    ]
    return dataset(rows)


@pytest.mark.parametrize("at_once", [7, 1000])
def test_counts_are_those_of_counting_by_hand(
    random: EventDataset, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eventcargo.report.counts.AT_ONCE", at_once)
    counts = Counts.of(random, LabelGraph.from_boundaries({"x": ["A", "C"], "y": ["A"]}), {"x": RULE})
    every = np.ones((len(random), 2), bool)
    assert counts.causes == {
        pair: by_hand(random, every, *pair) for pair in (("x", "A"), ("x", "C"), ("y", "A"))
    }
    assert counts.labels["x"] == (sum("x" in s.labels for s in random), 60)
    assert counts.events["B"] == sum("B" in s.events for s in random)
    held = [s for s in random if "A" in s.events and "B" not in s.events[: s.events.index("A")]]
    assert counts.rules == {"x": (sum("x" in s.labels for s in held), len(held))}


def test_sequences_for_which_the_label_is_unknown_are_not_counted(random: EventDataset) -> None:
    known = np.random.default_rng(5).random((60, 2)) < 0.5
    known |= random.label_matrix().toarray().astype(bool)  # what is carried is known
    partly = random.knowing(known)
    counts = Counts.of(partly, LabelGraph.from_boundaries({"x": ["A"], "y": ["D"]}), {"x": RULE})
    assert counts.causes == {pair: by_hand(random, known, *pair) for pair in (("x", "A"), ("y", "D"))}
    assert counts.labels["y"] == (sum("y" in s.labels for s in random), int(known[:, 1].sum()))
    held = RULE.holds(random) & known[:, 0]
    assert counts.rules["x"][1] == held.sum()


def test_what_the_data_do_not_have_is_not_counted() -> None:
    graph = LabelGraph.from_boundaries({"x": ["A", "gone"], "odd": ["A"]})
    counts = Counts.of(dataset([("s1", "A", "x")]), graph, {"odd": RULE, "x": None})
    assert (set(counts.causes), counts.rules) == ({("x", "A")}, {})
