import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from eventcargo import ragged
from eventcargo.binary_matrix import BinaryMatrix
from eventcargo.verdicts import residuals
from eventcargo.verdicts.residuals import ResidualAssociation, event_residuals, label_residuals


def of_events(
    presence: sp.csr_array,
    carried: np.ndarray,
    probabilities: np.ndarray,
    members: list[list[int]],
    alpha: float,
) -> list[ResidualAssociation]:
    return event_residuals(
        BinaryMatrix.of(presence), BinaryMatrix.of(carried), probabilities.T, members, alpha
    )


def of_labels(carried: np.ndarray, probabilities: np.ndarray, alpha: float) -> list[ResidualAssociation]:
    return label_residuals(BinaryMatrix.of(carried), probabilities.T, alpha)


def draw(seed: int = 0, n: int = 2000) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray]:
    """Presence of three event types, three labels with their true probabilities, and something hidden."""
    rng = np.random.default_rng(seed)
    present, hidden = rng.random((n, 3)) < 0.3, rng.random(n) < 0.3
    probabilities = np.full((n, 3), 0.2)
    return sp.csr_array(present.astype(np.int32)), rng.random((n, 3)) < probabilities, probabilities, hidden


def raised(label: int, event: int, share: float) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """The same where an event type raises a label, whose mean chance is known."""
    presence, carried, probabilities, _ = draw()
    holders = presence.toarray()[:, event] > 0
    carried[holders, label] |= np.random.default_rng(1).random(holders.sum()) < share
    probabilities[:, label] = carried[:, label].mean()
    return presence, carried, probabilities


def test_chance_is_no_surplus() -> None:
    presence, carried, probabilities, _ = draw()
    assert of_events(presence, carried, probabilities, [[], [], []], 0.01) == []
    assert of_labels(carried, probabilities, 0.01) == []


def test_an_event_type_that_tells_of_a_label_is_found_with_its_numbers() -> None:
    presence, carried, probabilities = raised(2, 1, 0.5)
    holders, chance = presence.toarray()[:, 1] > 0, probabilities[0, 2]
    (found,) = of_events(presence, carried, probabilities, [[], [], []], 0.01)
    assert (found.label, found.other) == (2, 1)
    assert found.observed == carried[holders, 2].sum()
    assert found.expected == pytest.approx(chance * holders.sum())
    spread = np.sqrt(chance * (1 - chance) * holders.sum() + 1)
    assert found.z == pytest.approx((found.observed - found.expected) / spread, rel=1e-6)


def test_members_of_the_boundary_are_left_out() -> None:
    presence, carried, probabilities = raised(2, 1, 1.0)
    assert of_events(presence, carried, probabilities, [[], [], [1]], 0.01) == []


def test_labels_are_numbered_through_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residuals, "AT_ONCE", 2)
    presence, carried, probabilities = raised(2, 1, 1.0)
    (found,) = of_events(presence, carried, probabilities, [[], [], []], 0.01)
    assert (found.label, found.other) == (2, 1)
    assert of_events(presence, carried, probabilities, [[], [], [1]], 0.01) == []


def test_blocks_of_sequences_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    presence, carried, probabilities = raised(2, 1, 1.0)
    whole = of_events(presence, carried, probabilities, [[], [], []], 0.01)
    monkeypatch.setattr(ragged, "BLOCK", 100)
    monkeypatch.setattr(residuals, "ROWS_AT_ONCE", 300)
    (in_blocks,) = of_events(presence, carried, probabilities, [[], [], []], 0.01)
    assert (in_blocks.observed, in_blocks.other) == (whole[0].observed, whole[0].other)
    assert in_blocks.z == pytest.approx(whole[0].z)
    carried[:, 1] = carried[:, 2]
    assert {(one.label, one.other) for one in of_labels(carried, probabilities, 0.01)} == {(1, 2), (2, 1)}


def test_labels_with_a_hidden_cause_are_found_from_either_side() -> None:
    _, carried, probabilities, hidden = draw()
    for label in (0, 2):
        carried[hidden, label] = np.random.default_rng(label).random(hidden.sum()) < 0.6
    found = of_labels(carried, probabilities + 0.12 * np.array([1, 0, 1]), 0.01)
    assert {(one.label, one.other) for one in found} == {(0, 2), (2, 0)}
    assert found[0].observed == (carried[:, 0] & carried[:, 2]).sum()
    assert found[0].expected < found[0].observed - 50


def test_a_rare_coincidence_is_no_surplus() -> None:
    """Two labels of 1 in 1,000 meet once in 1,000 sequences; without the floor this would be z = 30."""
    carried = np.zeros((1000, 2), bool)
    carried[0] = True
    assert of_labels(carried, np.full((1000, 2), 0.001), 0.01) == []


def test_the_bar_rises_with_the_number_of_questions() -> None:
    """z of 3.3 is enough for one event type, not for a hundred."""
    n, n_events = 400, 100
    presence = np.zeros((n, n_events), np.int32)
    presence[:200, 0] = 1
    probabilities = np.full((n, 1), 0.5)
    carried = np.zeros((n, 1), bool)
    carried[: 100 + 24, 0] = True
    assert norm.isf(0.005) < 24 / np.sqrt(51) < norm.isf(0.005 / n_events)
    assert len(of_events(sp.csr_array(presence[:, :1]), carried, probabilities, [[]], 0.01)) == 1
    assert of_events(sp.csr_array(presence), carried, probabilities, [[]], 0.01) == []


def test_the_clearest_comes_first() -> None:
    presence, carried, probabilities = raised(2, 1, 1.0)
    weaker = presence.toarray()[:, 0] > 0
    carried[weaker, 1] |= np.random.default_rng(0).random(weaker.sum()) < 0.5
    probabilities[:, 1] = carried[:, 1].mean()
    found = of_events(presence, carried, probabilities, [[], [], []], 0.01)
    assert [(one.label, one.other) for one in found] == [(2, 1), (1, 0)]


def test_no_labels_leave_nothing() -> None:
    presence = sp.csr_array(np.ones((5, 3), np.int32))
    assert of_events(presence, np.zeros((5, 0), bool), np.zeros((5, 0)), [], 0.01) == []
    assert of_labels(np.zeros((5, 0), bool), np.zeros((5, 0)), 0.01) == []
