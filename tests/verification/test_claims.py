import numpy as np

from eventcargo.statistics.exact_g2 import Ints
from eventcargo.verification.claims import Claim

UNMOVED = np.array([[[900, 100], [90, 10]]])
MOVED = np.array([[[990, 10], [20, 80]]])
ALONE = np.array([[[0, 0], [20, 80]]])


def judged(tables: Ints, votes: float | None = 40.0, strength: float | None = 1.0, sign: int = 1) -> Claim:
    claim = Claim(0, votes, strength, sign, min_gain=2.0)
    claim.judge(tables)
    return claim


def test_a_claim_without_any_effect_in_the_data_is_refuted() -> None:
    assert judged(UNMOVED).refuted


def test_a_claim_that_the_data_bear_out_is_not() -> None:
    assert not judged(MOVED).refuted


def test_a_claim_that_cannot_be_compared_is_believed() -> None:
    assert not judged(ALONE).refuted


def test_few_sequences_cannot_refute_a_claim() -> None:
    few = np.array([[[2, 1], [40, 20]]])
    assert not judged(few, votes=20.0).refuted


def test_a_claim_on_the_absent_label_is_compared_where_the_label_is_absent() -> None:
    tables = np.array([[[0, 0], [80, 0]], [[500, 0], [20, 0]]])
    assert (judged(tables, sign=1).refuted, judged(tables, sign=-1).refuted) == (True, False)


def test_a_small_claim_cannot_stand_by_itself() -> None:
    assert (judged(ALONE, votes=3.0).refuted, judged(ALONE, votes=5.0).refuted) == (True, False)


def test_without_a_claim_there_must_be_room_for_the_least_gain() -> None:
    assert (judged(UNMOVED, None, None).refuted, judged(MOVED, None, None).refuted) == (True, False)


def test_a_vote_cannot_claim_more_than_two_nats() -> None:
    assert judged(MOVED, votes=40.0, strength=30.0).worth == 80.0


def test_where_nothing_is_left_to_tell_the_claim_is_hopeless() -> None:
    explained = np.array([[[0, 900], [0, 90]], [[900, 0], [90, 0]]])
    assert (judged(explained).is_hopeless, judged(UNMOVED, votes=30.0).is_hopeless) == (True, False)


def test_effect_is_the_change_of_the_rate() -> None:
    assert round(judged(MOVED).effect, 2) == 0.79
