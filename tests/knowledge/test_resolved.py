import numpy as np
import pytest

from eventcargo.knowledge import Knowledge, Resolved


@pytest.fixture
def resolved() -> Resolved:
    return Knowledge(forbidden={"a": "x", "b": "y"}).resolve(["a", "b"], ["x", "y", "z"])


def test_the_table_is_in_the_order_asked_for(resolved: Resolved) -> None:
    assert resolved.table(["b", "a"], ["z", "x"]).tolist() == [[True, True], [True, False]]


def test_names_that_were_not_resolved_are_open(resolved: Resolved) -> None:
    assert resolved.table(["new", "a"], ["[PAD]", "x"]).tolist() == [[True, True], [True, False]]


def test_nothing_known_is_everything_open() -> None:
    assert Resolved((), (), np.ones((0, 0), bool), frozenset()).table(["a"], ["x"]).tolist() == [[True]]


@pytest.mark.parametrize(
    ("label", "event", "permitted"),
    [("a", "x", False), ("a", "y", True), ("new", "x", True), ("a", "new", True)],
)
def test_pairs_are_permitted_by_name(resolved: Resolved, label: str, event: str, permitted: bool) -> None:
    assert resolved.permits(label, event) is permitted
