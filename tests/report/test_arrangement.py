import numpy as np

from eventcargo.report.arrangement import arrange


def test_labels_that_share_causes_are_neighbours_whatever_their_names() -> None:
    causes = {"a": ["X", "Y"], "b": ["P", "Q"], "c": ["X", "Y", "Z"], "d": ["Q", "R", "P"], "e": ["Y", "X"]}
    labels, _ = arrange(causes)
    block = sorted(labels.index(name) for name in "ace")
    assert block in ([0, 1, 2], [2, 3, 4])


def test_the_causes_of_one_block_stand_together() -> None:
    causes = {"a": ["X", "M"], "b": ["B", "N"], "c": ["X", "A"], "d": ["B", "C"]}
    labels, events = arrange(causes)
    own = {event: {label for label in causes if event in causes[label]} for event in events}
    sides = [bool(own[event] & {"a", "c"}) for event in events]
    assert sides in ([True] * 3 + [False] * 3, [False] * 3 + [True] * 3)
    assert sorted(labels) == list("abcd")


def test_labels_without_a_cause_come_last_and_nothing_is_lost() -> None:
    rng = np.random.default_rng(7)
    causes = {f"L{at}": [f"E{e}" for e in np.unique(rng.integers(0, 40, at % 5))] for at in range(30)}
    labels, events = arrange(causes)
    n_empty = sum(not own for own in causes.values())
    assert all(not causes[label] for label in labels[-n_empty:])
    assert sorted(labels) == sorted(causes)
    assert sorted(events) == sorted({event for own in causes.values() for event in own})


def test_the_order_of_the_input_changes_nothing() -> None:
    causes = {"a": ["X", "Y"], "b": ["P", "Q"], "c": ["Y", "X"], "d": ["Q"]}
    assert arrange(causes) == arrange({name: causes[name] for name in reversed(causes)})
