import numpy as np
import pytest

from eventcargo.fusion.confidence import lower_end_border, share_border, stability
from eventcargo.fusion.fuse import TAIL
from eventcargo.statistics.intervals import jeffreys

SAMPLES = 2_000
CASES = [(3, 5, 12), (8, 40, 100), (30, 31, 400), (60, 400, 1_000), (12, 12, 12), (1, 1, 3), (90, 700, 1_500)]
CASES += [(15, 95, 100), (75, 1_000, 1_000)]
"""Votes, sequences that had the event type, sequences tested."""

VOTES, MET, TESTED = (np.array(part) for part in zip(*CASES, strict=True))


def resampled(votes: int, met: int, tested: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three counts in Poisson bootstrap samples of the sequences themselves."""
    weights = np.random.default_rng(7).poisson(1.0, (SAMPLES, tested))
    return tuple(weights[:, :n].sum(axis=1) for n in (votes, met, tested))  # type: ignore[return-value]


def test_stability_by_a_share_is_that_of_a_bootstrap() -> None:
    min_share = np.full(len(CASES), 0.07)
    found = stability(VOTES, MET, TESTED, share_border(min_share), share_border(0 * min_share))
    drawn = []
    for case in CASES:
        votes, _, tested = resampled(*case)
        drawn.append(((votes > 0) & (votes >= 0.07 * tested)).mean())
    assert found == pytest.approx(drawn, abs=0.03)


def test_stability_by_lower_ends_is_that_of_a_bootstrap() -> None:
    borders = [lower_end_border(min_share, TAIL, min_votes=2) for min_share in (0.05, 0.1)]
    found = stability(VOTES, MET, TESTED, *borders)
    drawn = []
    for case in CASES:
        votes, met, tested = resampled(*case)
        kept = (jeffreys(votes, tested)[0] >= 0.05) & (jeffreys(votes, met)[0] >= 0.1)
        drawn.append((kept & (votes >= 2)).mean())
    assert found == pytest.approx(drawn, abs=0.03)
    assert len({round(share, 1) for share in drawn}) > 3  # from surely dropped to surely kept


def test_one_vote_of_a_union_is_kept_when_its_sequence_is_drawn() -> None:
    one = np.array([1])
    border = share_border(np.zeros(1))
    assert stability(one, one, 100 * one, border, border) == pytest.approx(1 - np.exp(-1), abs=1e-6)


def test_a_threshold_of_one_is_kept_only_without_misses() -> None:
    votes, tested = np.array([50]), np.array([52])
    border = share_border(np.ones(1))
    assert stability(votes, tested, tested, border, border) == pytest.approx(np.exp(-2), abs=1e-6)


def test_an_edge_far_above_its_border_is_always_kept() -> None:
    n = np.array([900])
    assert stability(n, n, n + 100, share_border(np.array([0.05])), share_border(np.zeros(1)))[0] == 1


def test_no_edges_have_no_stability() -> None:
    none = np.zeros(0, np.int64)
    assert len(stability(none, none, none, share_border(np.zeros(0)), share_border(np.zeros(0)))) == 0
