from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo import ConfigError, DataError
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.thresholds import (
    FLOOR,
    PAPER_THRESHOLD,
    RelativeThreshold,
    StaticThreshold,
    fit_pooled_threshold,
)


def _scores(*groups: Sequence[float] | NDArray[np.float64]) -> EventScores:
    """EventScores of one label; one sequence for each group of strengths."""
    sizes = [len(group) for group in groups]
    strength = np.concatenate([np.asarray(group, np.float64) for group in groups])
    zeros, ones = np.zeros(len(strength)), np.ones(len(strength), np.int64)
    positions = np.concatenate([np.arange(size) for size in sizes])
    return EventScores(
        np.repeat(np.arange(len(sizes)), sizes), 0 * ones, positions, strength, zeros, zeros, ones
    )


def _peak(n: int, height: float = 1.0) -> list[float]:
    return [height] + [0.0] * (n - 1)


def test_the_relative_threshold_is_mean_plus_deviations_by_hand() -> None:
    # the mean is 0.25, the standard deviation sqrt((4 * 0.05^2 + 0.2^2) / 4) = 0.1118
    scores = _scores([0.2, 0.2, 0.2, 0.2, 0.45])
    assert RelativeThreshold(1.7).keep(scores).tolist() == [False] * 4 + [
        True
    ]  # above 0.25 + 1.7 * 0.1118 = 0.440
    assert not RelativeThreshold(1.8).keep(scores).any()  # below 0.25 + 1.8 * 0.1118 = 0.451


def test_constant_strength_gives_no_edge() -> None:
    assert not RelativeThreshold(2.75).keep(_scores([0.1] * 23)).any()


def test_constant_strength_gives_no_edge_even_without_deviations() -> None:
    assert not RelativeThreshold(0.0).keep(_scores([0.25] * 16)).any()


def test_a_relative_peak_below_the_floor_is_no_edge() -> None:
    assert not RelativeThreshold(2.75).keep(_scores(_peak(50, 5e-12))).any()


def test_the_floor_can_be_lowered() -> None:
    assert (
        RelativeThreshold(2.75, floor=1e-12).keep(_scores(_peak(50, 5e-12))).tolist() == [True] + [False] * 49
    )


def test_nine_positions_never_give_an_edge_at_the_papers_cut() -> None:
    assert not PAPER_THRESHOLD.keep(_scores(_peak(9))).any()


def test_ten_positions_can_give_an_edge_at_the_papers_cut() -> None:
    assert PAPER_THRESHOLD.keep(_scores(_peak(10))).sum() == 1


@pytest.mark.parametrize("z_threshold", [0.0, 0.5, 1.0, 1.5, 2.0, 2.75, 3.5])
def test_the_least_number_of_positions_is_where_a_single_peak_is_first_kept(z_threshold: float) -> None:
    cut = RelativeThreshold(z_threshold)
    kept = [bool(cut.keep(_scores(_peak(n))).any()) for n in range(1, 30)]
    assert kept.index(True) + 1 == cut.min_positions


def test_a_sequence_of_one_position_has_no_deviation_and_no_edge() -> None:
    assert not RelativeThreshold(0.0).keep(_scores([3.0])).any()


def test_every_sequence_has_a_threshold_of_its_own() -> None:
    alone = RelativeThreshold(2.0).keep(_scores(_peak(12)))
    beside = RelativeThreshold(2.0).keep(_scores(_peak(12), [9.0, 0.0] * 8))
    assert beside[:12].tolist() == alone.tolist()


def test_every_label_has_a_threshold_of_its_own() -> None:
    one = _scores(_peak(12), [9.0, 0.0] * 8)
    labels = EventScores(
        0 * one.rows, one.rows, one.positions, one.strength, one.effect, one.effect_sd, one.particles
    )
    assert RelativeThreshold(2.0).keep(labels).tolist() == RelativeThreshold(2.0).keep(one).tolist()


def test_no_scores_give_no_edges() -> None:
    assert len(RelativeThreshold().keep(_scores([]))) == 0


def test_a_static_threshold_itself_is_not_reached() -> None:
    assert StaticThreshold(0.5).keep(_scores([0.5, 0.5000001])).tolist() == [False, True]


def test_a_static_cut_below_its_floor_cuts_at_the_floor() -> None:
    assert StaticThreshold(0.0, FLOOR).keep(_scores([FLOOR, 2 * FLOOR])).tolist() == [False, True]


@pytest.mark.parametrize(
    "cut", [RelativeThreshold(1.5), RelativeThreshold(1.5, floor=2.0), StaticThreshold(0.3)]
)
def test_margins_are_mean_strength_minus_threshold(cut: RelativeThreshold | StaticThreshold) -> None:
    draws = np.random.default_rng(1).gamma(0.2, size=(3, 6, 20))
    strength = draws.mean(axis=1)
    if isinstance(cut, StaticThreshold):
        threshold = np.full(3, 0.3)
    else:
        threshold = np.maximum(strength.mean(axis=1) + 1.5 * strength.std(axis=1, ddof=1), cut.floor)
    assert np.allclose(cut.margins(draws)[0], strength - threshold[:, None])


def test_margins_vary_as_the_difference_of_strength_and_threshold_does() -> None:
    # many sets of few particles: the deviation over particles predicts that of the decision variable
    rng, cut = np.random.default_rng(2), RelativeThreshold(2.0)
    level = rng.gamma(0.3, size=30)
    sets = level * rng.uniform(0.5, 1.5, (2000, 1, 16, 30))
    predicted = np.mean([cut.margins(draws)[1] ** 2 / 16 for draws in sets[:200]], axis=0)
    seen = np.var([cut.margins(draws)[0] for draws in sets], axis=0)
    assert np.allclose(predicted, seen, rtol=0.25)


@pytest.mark.parametrize("cut", [RelativeThreshold(1.5, floor=2.0), StaticThreshold(0.3)])
def test_a_threshold_that_does_not_move_leaves_the_deviation_of_strengths(
    cut: RelativeThreshold | StaticThreshold,
) -> None:
    draws = np.random.default_rng(3).gamma(0.2, size=(2, 6, 20))
    assert np.allclose(cut.margins(draws)[1], draws.std(axis=1, ddof=1))


def test_margins_of_constant_strengths_are_finite() -> None:
    assert np.isfinite(RelativeThreshold().margins(np.full((1, 4, 12), 0.5))).all()


def test_the_pooled_threshold_is_the_mean_over_all_sequences() -> None:
    assert fit_pooled_threshold([_scores([0.0, 0.1]), _scores([0.5], [0.0, 0.4])]).threshold == pytest.approx(
        0.2
    )


def test_the_pooled_threshold_does_not_depend_on_how_sequences_are_parted() -> None:
    strength = np.random.default_rng(4).gamma(0.1, size=1000)
    whole = fit_pooled_threshold([_scores(strength)]).threshold
    assert (
        whole
        == fit_pooled_threshold([_scores(strength[at]) for at in (slice(700, None), slice(700))]).threshold
    )


def test_the_pooled_threshold_is_where_the_curve_of_shares_bends_most() -> None:
    strength = np.sort(np.random.default_rng(5).gamma(0.1, size=500))[::-1]
    bend = np.cumsum(strength) / strength.sum() - np.arange(1, 501) / 500
    kept = fit_pooled_threshold([_scores(strength)], floor=0.0).keep(_scores(strength))
    assert kept.sum() == bend.argmax() + 1


def test_the_pooled_threshold_keeps_its_floor() -> None:
    assert not fit_pooled_threshold([_scores([0.0, 1e-9])]).keep(_scores([1e-9])).any()


def test_a_pooled_threshold_needs_scores() -> None:
    with pytest.raises(DataError, match="0 scored pairs"):
        fit_pooled_threshold([_scores([])])


@pytest.mark.parametrize("value", [-0.1, np.inf, np.nan])
def test_cuts_refuse_what_is_no_number_of_nats(value: float) -> None:
    with pytest.raises(ConfigError, match=f"threshold={value}"):
        StaticThreshold(value)
    with pytest.raises(ConfigError, match=f"floor={value}"):
        RelativeThreshold(floor=value)
    with pytest.raises(ConfigError, match=f"z_threshold={value}"):
        RelativeThreshold(value)


def test_cuts_of_zero_are_allowed() -> None:
    assert StaticThreshold(0.0, floor=0.0).keep(_scores([0.0, 1e-300])).tolist() == [False, True]
