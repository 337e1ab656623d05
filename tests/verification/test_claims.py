import numpy as np
import pytest

from eventcargo.statistics.exact_g2 import ExactG2, Ints, PatternCounts
from eventcargo.statistics.score_test import ScoreTest
from eventcargo.verification.claims import LEANING, PLAUSIBLE, SHADOW, Claim, Levels

UNMOVED = np.array([[[900, 100], [90, 10]]])
MOVED = np.array([[[990, 10], [20, 80]]])
ALONE = np.array([[[0, 0], [20, 80]]])
FEW = np.array([[[6, 2], [3, 3]]])


def judged(
    tables: Ints, votes: float | None = 40.0, strength: float | None = 1.0, evidence: float | None = None
) -> Claim:
    claim = Claim(0, votes, strength, evidence)
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


@pytest.mark.parametrize(("n_alone", "refuted"), [(80, False), (40, True)])
def test_the_share_of_its_sequences_that_cannot_be_compared_speaks_for_a_claim(
    n_alone: int, refuted: bool
) -> None:
    tables = np.array([[[0, 0], [n_alone, 0]], [[500, 0], [100 - n_alone, 0]]])
    claim = judged(tables)
    assert claim.unseen == pytest.approx(n_alone / 100 * 40)
    assert claim.refuted == refuted  # half of the claim must have room


def test_without_a_claim_there_must_be_room_to_lean_on() -> None:
    assert (judged(UNMOVED, None, None).refuted, judged(MOVED, None, None).refuted) == (True, False)
    room = LEANING - 0.1
    assert Claim(0, max_gain=room).refuted
    assert not Claim(0, votes=1.0, strength=1.0, max_gain=room).refuted


def test_a_vote_cannot_claim_more_than_two_nats() -> None:
    assert judged(MOVED, votes=40.0, strength=30.0).worth == 80.0


def test_evidence_says_what_a_claim_is_worth_before_votes_do() -> None:
    assert judged(MOVED, evidence=17.0).worth == 17.0


def test_evidence_against_an_edge_leaves_nothing_unseen() -> None:
    assert judged(ALONE, evidence=-5.0).unseen == 0.0


def test_where_nothing_is_left_to_tell_the_claim_is_hopeless() -> None:
    explained = np.array([[[0, 900], [0, 90]], [[900, 0], [90, 0]]])
    assert (judged(explained).is_hopeless, judged(UNMOVED, votes=30.0).is_hopeless) == (True, False)


def test_effect_is_the_change_of_the_rate() -> None:
    assert round(judged(MOVED).effect, 2) == 0.79


def test_the_p_value_is_twice_that_of_the_surer_of_two_tests_and_the_gain_the_larger() -> None:
    columns = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool)
    patterns = PatternCounts(columns, np.array([[300, 20], [60, 20], [50, 10], [20, 20]]))
    tables, score = patterns.tables(0, [1]), ScoreTest.of(patterns, 0, [1])
    exact = ExactG2.of(tables)
    assert exact.p_value != pytest.approx(score.p_value)
    claim = Claim(0)
    claim.judge(tables, score=score)
    assert claim.p_value == 2 * min(exact.p_value or 1, score.p_value or 1)
    assert claim.gain == max(exact.gain, score.gain)


def test_a_p_value_is_no_more_than_one_and_none_if_no_test_has_one() -> None:
    claim, alike, alone = Claim(0), ExactG2.of(UNMOVED), ExactG2.of(ALONE)
    claim.decide([alike, alone], n_tried=2)
    assert claim.p_value == 1.0
    claim.decide([alone, alone], n_tried=2)
    assert claim.p_value is None


@pytest.mark.parametrize(
    ("claim", "is_mute"),
    [
        (Claim(0, 40.0, 1.0), False),
        (Claim(0, 40.0, 1.0, evidence=9.0), False),
        (Claim(0), False),  # of a graph that says nothing but names
        (Claim(0, evidence=9.0), True),
        (Claim(0, is_new=True), True),
    ],
)
def test_mute_is_what_no_single_sequence_speaks_for(claim: Claim, is_mute: bool) -> None:
    assert claim.is_mute == is_mute


LEVEL = 0.01


def test_a_voted_claim_that_is_neither_confirmed_nor_refuted_stands() -> None:
    claim = judged(FEW, votes=3.0)
    assert claim.is_doubtful(LEVEL)
    assert not claim.falls(LEVEL, untrusted=False)


def test_a_voted_claim_that_is_refuted_falls_unless_it_is_confirmed() -> None:
    refuted = Claim(0, 40.0, 1.0, p_value=0.02, gain=9.0, max_gain=19.9)
    assert refuted.refuted
    assert (refuted.falls(LEVEL, untrusted=False), refuted.falls(0.05, untrusted=False)) == (True, False)


@pytest.mark.parametrize(("gain", "falls"), [(LEANING - 0.01, True), (LEANING, False)])
def test_a_claim_with_evidence_that_is_not_confirmed_needs_data_that_lean_to_it(
    gain: float, falls: bool
) -> None:
    for untrusted in (False, True):
        claim = Claim(0, 40.0, 1.0, evidence=9.0, p_value=0.02, gain=gain)
        assert claim.falls(LEVEL, untrusted) == falls
    assert not Claim(0, 40.0, 1.0, p_value=0.02, gain=gain).falls(LEVEL, untrusted=False)


@pytest.mark.parametrize("evidence", [None, 9.0])
def test_where_no_test_is_possible_only_the_model_counts_if_it_is_trusted(evidence: float | None) -> None:
    claim = Claim(0, 40.0, 1.0, evidence)
    assert (claim.falls(LEVEL, untrusted=False), claim.falls(LEVEL, untrusted=True)) == (False, True)


def test_votes_of_an_untrusted_model_do_not_hold_an_edge() -> None:
    claim = Claim(0, 40.0, 1.0, p_value=0.02, gain=9.0)
    assert (claim.falls(LEVEL, untrusted=True), claim.falls(0.05, untrusted=True)) == (True, False)


@pytest.mark.parametrize("mute", [{"is_new": True}, {"evidence": 30.0}])
def test_a_mute_claim_must_be_confirmed_and_not_refuted(mute: dict[str, float]) -> None:
    gain = 20.0
    confirmed = Claim(0, **mute, p_value=1e-3, gain=gain, max_gain=PLAUSIBLE * gain)  # type: ignore[arg-type]
    assert (confirmed.falls(LEVEL, untrusted=False), confirmed.falls(1e-4, untrusted=False)) == (False, True)
    confirmed.max_gain -= 0.1
    assert confirmed.falls(LEVEL, untrusted=False)
    assert Claim(0, **mute, gain=gain).falls(LEVEL, untrusted=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claim", "untrusted", "level"),
    [
        (Claim(0, votes=40.0, strength=1.0), True, 0.01),
        (Claim(0, votes=40.0, strength=1.0, evidence=9.0), False, 0.01),
        (Claim(0, evidence=9.0), False, 0.002),
        (Claim(0, evidence=9.0), True, 0.002),
        (Claim(0, is_new=True), False, 1e-4),
        (Claim(0), False, 0.01),
        (Claim(0), True, 1e-4),
    ],
)
def test_the_level_goes_by_what_names_the_claim(claim: Claim, untrusted: bool, level: float) -> None:
    assert Levels(voted=0.01, proposed=0.002, unnamed=1e-4).of(claim, untrusted) == level


def test_a_mute_claim_worth_a_small_part_of_the_strongest_is_its_shadow() -> None:
    strongest = Claim(1, 900.0, 1.0, gain=1000.0)
    faint, plain = (Claim(0, is_new=True, gain=1000.0 * SHADOW + by) for by in (-1, 1))
    assert faint.is_shadow_of([strongest, faint, plain])
    assert not plain.is_shadow_of([strongest, faint, plain])
    assert not faint.is_shadow_of([faint, plain])
    voted = Claim(0, 40.0, 1.0, gain=1.0)
    assert not voted.is_shadow_of([strongest, voted])


def test_a_mute_claim_of_little_evidence_beside_the_strongest_is_its_shadow() -> None:
    strongest = Claim(1, 900.0, 1.0, evidence=1000.0, gain=100.0)
    faint, plain = (Claim(0, evidence=1000.0 * SHADOW / 2 + by, gain=90.0) for by in (-1, 1))
    assert faint.is_shadow_of([strongest, faint])
    assert not plain.is_shadow_of([strongest, plain])


def test_a_required_claim_never_falls() -> None:
    claim = Claim(0, is_new=True, is_required=True, p_value=1.0, max_gain=0.0)
    assert not claim.falls(LEVEL, untrusted=True)
    assert not claim.is_shadow_of([Claim(1, gain=1e6), claim])
