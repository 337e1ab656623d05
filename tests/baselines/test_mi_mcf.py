import numpy as np
import pytest

from eventcargo.baselines.mi_mcf import MiMcf

from .tables import chain, columns, independence_of, label, noisy


def test_symmetric_uncertainty_is_one_for_a_copy_and_by_hand_for_a_table() -> None:
    x = np.array([1] * 40 + [0] * 60, bool)
    y = np.array([1] * 30 + [0] * 10 + [1] * 10 + [0] * 50, bool)  # cells 30, 10, 10, 50
    found = MiMcf(independence_of(np.column_stack([x, y])), [label(x)])._uncertainty.with_events[0]

    def entropy(*shares: float) -> float:
        return -sum(share * np.log(share) for share in shares)

    information = entropy(0.4, 0.6) * 2 - entropy(0.3, 0.1, 0.1, 0.5)
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(2 * information / (2 * entropy(0.4, 0.6)))


def test_a_weaker_event_explained_by_a_stronger_one_is_removed() -> None:
    bits, target = chain(4000, seed=0)
    assert MiMcf(independence_of(bits), [label(target)])(0) == [1]


def masked() -> tuple[np.ndarray, list[np.ndarray]]:
    """Event 0 makes label 1, which looks almost like label 0; event 0 also makes label 0."""
    event = columns(5000, 1, seed=1, density=0.3)[:, 0]
    other = noisy(event, seed=2, flips=0.02)
    wanted = noisy(other, seed=3, flips=0.05)
    return event[:, None], [wanted, other]


def test_an_event_masked_by_a_correlated_label_is_recovered() -> None:
    bits, labels = masked()
    targets = [label(part) for part in labels]
    assert MiMcf(independence_of(bits), targets)(0) == [0]
    assert MiMcf(independence_of(bits), targets, recover=0.0)(0) == []


def test_every_label_gets_its_own_answer() -> None:
    bits = columns(3000, 10, seed=4)
    targets = [label(noisy(bits[:, 2], seed=5)), label(noisy(bits[:, 7], seed=6))]
    search = MiMcf(independence_of(bits), targets)
    assert (search(0), search(1)) == ([2], [7])


def test_uncertainty_below_the_limit_is_not_relevant() -> None:
    bits, target = chain(4000, seed=0)
    assert MiMcf(independence_of(bits), [label(target)], min_uncertainty=0.99)(0) == []
