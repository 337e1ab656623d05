import numpy as np

from eventcargo.baselines.mb_by_mb import mb_by_mb

from .tables import chain, independence_of, label, noisy


def test_only_the_direct_cause_of_a_label_is_found() -> None:
    bits, target = chain(3000, seed=0)
    assert mb_by_mb(independence_of(bits), label(target), 0.001) == [1]


def test_a_spouse_of_an_event_type_is_in_its_boundary_but_no_neighbour() -> None:
    rng = np.random.default_rng(1)
    parents = rng.random((5000, 2)) < 0.5
    child = noisy(parents.any(axis=1), seed=2, flips=0.05)
    test = independence_of(np.column_stack([parents, child]))
    assert mb_by_mb(test, test.event(0), 0.001) == [2]
