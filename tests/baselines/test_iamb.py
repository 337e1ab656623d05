import numpy as np

from eventcargo.baselines.iamb import _shrink, iamb, iamb_of_many

from ..statistics.tables import chain, columns, independence_of, label, noisy


def test_a_noisy_conjunction_is_found_whole() -> None:
    bits = columns(2000, 40, seed=0)
    target = noisy(bits[:, 3] & bits[:, 11] & ~bits[:, 20], seed=1)
    assert sorted(iamb(independence_of(bits), label(target), 1e-4)) == [3, 11, 20]


def test_the_cause_of_a_cause_is_no_member() -> None:
    bits, target = chain(3000, seed=2)
    assert iamb(independence_of(bits), label(target), 0.001) == [1]


def test_a_stand_in_that_entered_first_leaves_when_the_causes_are_in() -> None:
    rng = np.random.default_rng(3)
    causes = rng.random((4000, 2)) < 0.5
    either = causes[:, 0] ^ causes[:, 1]
    majority = np.where(rng.random(4000) < 0.9, causes[:, 0] & causes[:, 1], rng.random(4000) < 0.5)
    target = noisy(causes[:, 0] & causes[:, 1], seed=4, flips=0.05)
    bits = np.column_stack([causes, majority, either & (rng.random(4000) < 0.1)])
    test = independence_of(bits)
    alone = test(label(target))
    assert alone.candidates[np.argmax(alone.g2)] == 2  # the stand-in looks best alone
    assert sorted(iamb(test, label(target), 0.001)) == [0, 1]


def test_targets_side_by_side_get_the_same_answers_as_one_by_one() -> None:
    bits = columns(800, 30, seed=5)
    targets = [label(noisy(bits[:, i] | bits[:, i + 1], seed=i)) for i in range(0, 12, 2)]
    test = independence_of(bits)
    assert iamb_of_many(test, targets, 0.001) == [iamb(test, target, 0.001) for target in targets]


def test_an_event_type_as_target_is_not_its_own_cause() -> None:
    bits, _ = chain(2000, seed=6)
    test = independence_of(bits)
    assert iamb(test, test.event(1), 0.001) == [0]


def test_a_label_without_sequences_has_an_empty_boundary() -> None:
    bits = columns(100, 5, seed=7)
    assert iamb(independence_of(bits), label(np.zeros(100, bool)), 0.05) == []


def test_of_two_copies_only_the_one_that_entered_first_leaves() -> None:
    cause = columns(500, 1, seed=8)
    test = independence_of(np.column_stack([cause, cause]))
    assert _shrink(test, label(noisy(cause[:, 0], seed=9)), [0, 1], 0.001) == [1]
