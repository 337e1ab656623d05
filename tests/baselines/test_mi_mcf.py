import numpy as np
import pytest

from eventcargo.baselines.mi_mcf import MiMcf

from ..statistics.tables import chain, columns, independence_of, label, noisy


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


def test_uncertainty_is_the_same_whether_events_or_labels_are_asked() -> None:
    bits = columns(400, 4, seed=7, density=0.3)
    bits[:, 3] = bits[:, 0] & columns(400, 1, seed=8, density=0.2)[:, 0]  # rare, and never without 0
    search = MiMcf(independence_of(bits), [label(column) for column in bits.T])
    events, labels = search._uncertainty.with_events, search._uncertainty.with_labels
    assert labels == pytest.approx(events)
    assert search._between_events(0, np.arange(4)) == pytest.approx(events[0])


def test_the_entropy_of_a_rare_event_is_that_of_its_share() -> None:
    x = np.arange(100) < 5
    y = np.arange(100) < 10
    found = MiMcf(independence_of(y[:, None]), [label(x)])._uncertainty.with_events[0, 0]
    h_x, h_y = (-(p * np.log(p) + (1 - p) * np.log(1 - p)) for p in (0.05, 0.1))
    h_both = -(0.05 * np.log(0.05) * 2 + 0.9 * np.log(0.9))
    assert found == pytest.approx(2 * (h_x + h_y - h_both) / (h_x + h_y))


def test_an_event_without_uncertainty_is_never_relevant() -> None:
    bits = np.zeros((50, 1), bool)
    assert MiMcf(independence_of(bits), [label(np.arange(50) < 9)], min_uncertainty=0.0)(0) == []


@pytest.mark.parametrize(("flips", "answer"), [(0.30, [0]), (0.45, [])])
def test_relevance_begins_at_a_twentieth(flips: float, answer: list[int]) -> None:
    bits = columns(5000, 1, seed=9, density=0.5)
    search = MiMcf(independence_of(bits), [label(noisy(bits[:, 0], seed=10, flips=flips))])
    assert search._uncertainty.with_events[0, 0] < 0.2
    assert search(0) == answer


def test_an_event_as_near_to_a_stronger_one_as_to_the_label_stays() -> None:
    weaker = columns(1000, 1, seed=11)[:, 0]
    target = noisy(weaker, seed=12, flips=0.2)
    assert MiMcf(independence_of(np.column_stack([target, weaker])), [label(target)])(0) == [0, 1]


def test_the_weaker_event_is_compared_by_its_own_tie_to_the_label() -> None:
    stronger = columns(4000, 1, seed=13)[:, 0]
    weaker = noisy(stronger, seed=14, flips=0.2)
    target = noisy(stronger, seed=15, flips=0.05)
    search = MiMcf(independence_of(np.column_stack([stronger, weaker])), [label(target)], recheck=0.0)
    su = search._uncertainty.with_events[0]
    assert su[1] < search._between_events(0, np.array([1]))[0] < su[0]
    assert search(0) == [0]


def test_events_come_strongest_first() -> None:
    bits = columns(3000, 8, seed=16)
    target = noisy(
        bits[:, 6] & bits[:, 2] | (bits[:, 6] & columns(3000, 1, seed=18, density=0.15)[:, 0]), seed=17
    )
    assert MiMcf(independence_of(bits), [label(target)])(0) == [6, 2]


def test_a_label_less_correlated_than_the_event_masks_nothing() -> None:
    event = columns(5000, 1, seed=19, density=0.3)
    targets = [label(noisy(event[:, 0], seed, flips)) for seed, flips in ((20, 0.1), (21, 0.02))]
    search = MiMcf(independence_of(event), targets, recover=0.0)
    assert search._uncertainty.with_events[1, 0] > search._uncertainty.with_events[0, 0]
    assert search(0) == [0]


def test_a_label_that_explains_the_event_less_masks_nothing() -> None:
    wanted = columns(5000, 1, seed=22, density=0.3)[:, 0]
    event, other = noisy(wanted, seed=23, flips=0.1), noisy(wanted, seed=24, flips=0.02)
    search = MiMcf(independence_of(event[:, None]), [label(wanted), label(other)], recover=0.0)
    assert search._uncertainty.with_labels[0, 1] > search._uncertainty.with_events[0, 0]
    assert search(0) == [0]


def test_seven_tenths_of_the_masked_events_are_tried_again_the_strongest_first() -> None:
    bits = columns(200, 5, seed=25)
    search = MiMcf(independence_of(bits), [label(bits[:, 0])])
    assert search._recovered(np.zeros(5), [], [4, 2, 0, 1, 3]) == [4, 2, 0, 1]


def test_a_masked_event_that_a_kept_one_explains_is_not_recovered() -> None:
    bits, target = chain(4000, seed=0)
    search = MiMcf(independence_of(bits), [label(target)], recover=1.0)
    su = search._uncertainty.with_events[0]
    assert search._recovered(su, [1], [0]) == []
    assert search._recovered(su, [2], [0]) == [0]


def test_only_the_weakest_tenth_is_checked_from_the_other_end() -> None:
    bits, target = chain(4000, seed=0)  # seen from event 0, event 1 explains the label better
    search = MiMcf(independence_of(bits), [label(target)])
    assert search._confirmed(0, [1, 0]) == [1]
    assert search._confirmed(0, [0, 1]) == [0, 1]


def test_a_stronger_event_that_has_nothing_to_do_with_the_weakest_confirms_it() -> None:
    bits = columns(3000, 2, seed=26)
    target = noisy(bits[:, 0], seed=27, flips=0.05) ^ (bits[:, 1] & columns(3000, 1, seed=28)[:, 0])
    assert MiMcf(independence_of(bits), [label(target)])._confirmed(0, [0, 1]) == [0, 1]


def test_a_weaker_event_near_the_weakest_confirms_it() -> None:
    kept = columns(3000, 1, seed=29)[:, 0]
    bits = np.column_stack([kept, noisy(kept, seed=30, flips=0.01)])
    search = MiMcf(independence_of(bits), [label(noisy(kept, seed=31, flips=0.1))])
    assert search._uncertainty.with_events[0, 1] < search._uncertainty.with_events[0, 0]
    assert search._confirmed(0, [0]) == [0]


def test_the_weakest_event_leaves_for_a_stronger_one_that_was_masked() -> None:
    n = 40_000
    wanted = columns(n, 1, seed=32, density=0.5)[:, 0]
    other = noisy(wanted, seed=33, flips=0.1)
    masked_event = noisy(other, seed=34, flips=0.3)
    mixed = np.where(columns(n, 1, seed=35, density=0.6)[:, 0], masked_event, wanted)
    test = independence_of(np.column_stack([masked_event, noisy(mixed, seed=36, flips=0.25)]))
    targets = [label(wanted), label(other)]
    assert MiMcf(test, targets, recover=0.0, recheck=0.0)(0) == [1]
    assert MiMcf(test, targets, recover=0.0)(0) == []
