from dataclasses import replace

import numpy as np
import pytest

from eventcargo.models.calibration import (
    Answers,
    Calibration,
    base_losses,
    choose_gates,
    fit_slopes,
    gated,
    lead,
)
from eventcargo.statistics.log_loss import log_losses


def draw(logits: np.ndarray, seed: int = 0) -> np.ndarray:
    """Truths drawn by the probabilities of these logits."""
    return np.random.default_rng(seed).random(logits.shape) < 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_slope_undoes_what_the_logits_were_multiplied_with(factor: float) -> None:
    honest = np.random.default_rng(1).normal(0, 2, (20_000, 2))
    slopes = fit_slopes(draw(honest), honest * factor)
    assert slopes == pytest.approx(1 / factor, rel=0.06)


def test_honest_logits_keep_their_slope() -> None:
    honest = np.random.default_rng(1).normal(0, 2, (20_000, 1))
    assert fit_slopes(draw(honest), honest) == pytest.approx(1.0, abs=0.06)


def test_a_rare_label_takes_the_slope_of_all() -> None:
    honest = np.random.default_rng(1).normal(0, 2, (5_000, 9))
    rare = np.full((5_000, 1), -20.0)  # it never happens: by itself it would want the steepest slope
    logits = np.hstack([honest * 2, rare])
    slopes = fit_slopes(np.hstack([draw(honest), rare > 0]), logits)
    assert slopes[-1] == pytest.approx(0.5, rel=0.1)


def test_without_any_sequence_nothing_is_changed() -> None:
    assert fit_slopes(np.zeros((0, 2), bool), np.zeros((0, 2))) == pytest.approx(1.0)


def test_log_losses_of_extreme_logits_are_finite() -> None:
    assert log_losses(np.array([-800.0, 800.0]), np.array([True, False])).tolist() == [800.0, 800.0]


def test_a_lead_is_in_standard_errors() -> None:
    better = np.zeros((100, 1))
    worse = np.where(np.arange(100) % 2 == 0, 1.0, -0.5)[:, None]  # mean .25, deviation .75
    assert lead(worse, better) == pytest.approx(0.25 * 10 / 0.75)


@pytest.mark.parametrize("groups", [None, np.arange(2_000) // 3])
def test_corrections_rest_on_known_labels(groups: np.ndarray | None) -> None:
    rng = np.random.default_rng(1)
    linear = rng.normal(0, 3, (2_000, 1))
    whole = linear + rng.normal(0, 1, linear.shape)
    truth, known = draw(whole), rng.random(linear.shape) < 0.5
    truth &= known
    answers = Answers(truth, linear, whole, linear / 2, groups, known)
    alone = Answers(truth, linear, whole, linear / 2, groups).rows(known[:, 0])
    found, expected = Calibration.fit(answers), Calibration.fit(alone)
    assert (found.gate, found.end_slope, found.prefix_slope) == (
        expected.gate,
        expected.end_slope,
        expected.prefix_slope,
    )
    assert found.gate == [1.0]
    assert fit_slopes(truth, whole) != found.end_slope
    assert answers.mean_loss(whole) == pytest.approx(alone.mean_loss(alone.whole))
    assert base_losses(truth, known) == pytest.approx(base_losses(truth[known[:, 0]]))


@pytest.mark.parametrize("groups", [None, np.arange(300) // 3])
def test_a_lead_is_measured_in_known_rows(groups: np.ndarray | None) -> None:
    rng = np.random.default_rng(0)
    worse, better, known = rng.random((300, 2)), rng.random((300, 2)), rng.random((300, 2)) < 0.3
    for at, found in enumerate(lead(worse, better, groups, known)):
        rows = known[:, at]
        own = None if groups is None else groups[rows]
        assert found == lead(worse[rows, at : at + 1], better[rows, at : at + 1], own)[0]


def test_a_network_that_always_helps_passes_the_gate_of_a_label_that_is_rarely_known() -> None:
    known, truth = np.arange(2_000)[:, None] < 8, np.arange(2_000)[:, None] % 2 == 0
    whole, linear = np.where(truth, 3.0, -3.0), np.zeros((2_000, 1))
    assert choose_gates(Answers(truth & known, linear, whole, whole, None, known)).tolist() == [1.0]


def test_a_label_known_nowhere_has_no_lead() -> None:
    nothing = np.zeros((9, 1), bool)
    assert lead(np.ones((9, 1)), np.zeros((9, 1)), None, nothing).tolist() == [0.0]


def test_a_transformer_that_adds_noise_is_left_out() -> None:
    linear = np.random.default_rng(1).normal(0, 3, (2_000, 1))
    noisy = linear + np.random.default_rng(2).normal(0, 1, linear.shape)
    answers = Answers(draw(linear), linear, noisy, noisy)
    assert choose_gates(answers).tolist() == [0.0]
    assert np.array_equal(gated(answers, choose_gates(answers)), linear)


def test_a_transformer_that_helps_is_let_through() -> None:
    honest = np.random.default_rng(1).normal(0, 3, (2_000, 1))
    blunt = honest + np.random.default_rng(2).normal(0, 2, honest.shape)
    answers = Answers(draw(honest), blunt, honest, honest)
    assert choose_gates(answers).tolist() == [1.0]
    assert np.array_equal(gated(answers, choose_gates(answers)), honest)


def test_a_gain_within_chance_does_not_open_the_gate() -> None:
    truth = np.arange(40)[:, None] % 2 == 0
    right = np.arange(40)[:, None] < 26  # of 40: more than chance, but not surely
    linear = np.zeros((40, 1))
    answers = Answers(truth, linear, np.where(truth == right, 0.5, -0.5), linear)
    assert choose_gates(answers).tolist() == [0.0]


def test_a_gain_that_hardly_matters_does_not_open_the_gate() -> None:
    truth = np.arange(4_000)[:, None] % 2 == 0
    sure = np.where(truth, 6.0, -6.0)
    answers = Answers(truth, sure, sure * 2, sure)  # from .0025 nats to nothing, always
    assert choose_gates(answers).tolist() == [0.0]


def test_prefixes_have_slopes_of_their_own() -> None:
    honest = np.random.default_rng(1).normal(0, 2, (20_000, 1))
    found = Calibration.fit(Answers(draw(honest), None, honest, honest * 2))
    assert found.end_slope == pytest.approx(1.0, abs=0.06)
    assert found.prefix_slope == pytest.approx(0.5, abs=0.04)


def test_corrections_are_applied_to_other_sequences() -> None:
    linear, whole = np.array([[1.0, 1.0]]), np.array([[3.0, 3.0]])
    answers = Answers(np.array([[True, True]]), linear, whole, whole)
    found = Calibration(np.array([0.0, 1.0]), np.array([2.0, 2.0]), np.array([0.5, 1.0]))
    assert found.whole(answers).tolist() == [[2.0, 6.0]]
    assert found.prefix(answers).tolist() == [[1.5, 3.0]]


def test_a_lead_of_repeated_losses_is_that_of_each_once() -> None:
    rng = np.random.default_rng(0)
    worse, better = rng.random((40, 2)) + 0.1, rng.random((40, 2))
    again, groups = np.tile(np.arange(40), 5), np.tile(np.arange(40), 5)
    assert lead(worse[again], better[again], groups) == pytest.approx(lead(worse, better))
    assert (np.abs(lead(worse[again], better[again])) > 2 * np.abs(lead(worse, better))).all()


def test_a_gate_is_not_opened_by_copies() -> None:
    """What three standard errors would need eighty sequences for, sixteen have five times."""
    rng = np.random.default_rng(3)
    honest = rng.normal(0, 2, (16, 1))
    answers = Answers(draw(honest), np.zeros((16, 1)), honest, honest)
    copies = np.repeat(np.arange(16), 20)
    torn = answers.rows(copies)
    assert choose_gates(answers).tolist() == choose_gates(replace(torn, groups=copies)).tolist() == [0.0]
    assert choose_gates(torn).tolist() == [1.0]
