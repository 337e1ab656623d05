"""Hand-made columns: a family that helps on held-out sequences joins, one that does not stays out."""

from dataclasses import replace

import numpy as np
import pytest

from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.family_selection import Choice, Trial
from eventcargo.models.linear.lasso import Fit

PENALTIES = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0)


def choice_of(X: np.ndarray, y: np.ndarray, columns: dict[str, list[int]], gain: float = 2.0) -> Choice:
    """The first half of the rows is fitted, the second held out."""
    half = len(y) // 2
    parts = {family: np.array(part, np.int64) for family, part in columns.items()}
    fit, held = Columns.of(X[:half]), Columns.of(X[half:])
    return Choice(fit, held, y[:half], y[half:], parts, PENALTIES, gain, alpha=0.05)


def columns_at_random(n_rows: int, n_columns: int, share: float, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((n_rows, n_columns)) < share).astype(float)


def trial_of(losses: list[float], penalty: float = 4.0) -> Trial:
    nothing = Fit(np.zeros(0), 0.0)
    return Trial(("presence",), penalty, nothing, nothing, np.array(losses))


def made(choice: Choice) -> tuple[tuple[str, ...], float]:
    """The families and the penalty chosen."""
    trial, is_complete = choice.with_families(choice.on_presence())
    assert is_complete
    return trial.families, trial.penalty


def test_a_steady_gain_beats() -> None:
    assert trial_of([0.1, 0.2, 0.1]).beats(trial_of([0.2, 0.3, 0.2]), 2.0)


def test_a_gain_of_one_sequence_alone_does_not_beat() -> None:
    assert not trial_of([0.1, 0.3, 0.3]).beats(trial_of([5.0, 0.3, 0.3]), 2.0)


def test_equal_losses_do_not_beat() -> None:
    assert not trial_of([0.1, 0.2]).beats(trial_of([0.1, 0.2]), 0.0)


@pytest.mark.parametrize("penalty", [2.0, 8.0])
def test_one_nat_of_one_sequence_does_not_move_the_penalty(penalty: float) -> None:
    assert trial_of([2.0, 0.1]).cost < trial_of([1.0, 0.1], penalty).cost


@pytest.mark.parametrize("penalty", [2.0, 8.0])
def test_three_nats_move_the_penalty(penalty: float) -> None:
    assert trial_of([4.0, 0.1]).cost > trial_of([1.0, 0.1], penalty).cost


def test_a_family_that_adds_to_presence_joins() -> None:
    X = columns_at_random(2000, 2, 0.3, seed=1)
    found = made(choice_of(X, X.max(axis=1), {"presence": [0], "count": [1]}))
    assert found[0] == ("presence", "count")


def test_a_family_that_says_the_same_as_presence_stays_out() -> None:
    X = columns_at_random(2000, 1, 0.3, seed=2).repeat(2, axis=1)
    found = made(choice_of(X, X[:, 0], {"presence": [0], "count": [1]}))
    assert found[0] == ("presence",)


@pytest.mark.parametrize("seed", range(5))
def test_a_family_of_noise_stays_out(seed: int) -> None:
    X = columns_at_random(1000, 31, 0.3, seed)
    y = columns_at_random(1000, 1, 0.3, seed + 100)[:, 0]
    assert made(choice_of(X, y, {"presence": [0], "count": list(range(1, 31))}))[0] == ("presence",)


def test_a_family_without_columns_stays_out() -> None:
    X = columns_at_random(200, 1, 0.3, seed=3)
    assert made(choice_of(X, X[:, 0], {"presence": [0], "count": []}))[0] == ("presence",)


def test_a_rare_label_gets_a_penalty_at_which_its_cause_enters() -> None:
    X = np.zeros((2000, 1))
    X[:12], X[-12:] = 1.0, 1.0
    assert made(choice_of(X, X[:, 0], {"presence": [0]}))[1] <= 4.0


def test_a_rare_conjunction_among_near_misses_needs_no_tiny_penalty() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 100)) < 0.1).astype(float)
    X[:, :3] = 0.0
    rows = rng.permutation(3000)
    X[rows[:30], :3] = 1.0
    y = X[:, 0].copy()
    for cause in range(3):
        near = rows[30 + 25 * cause : 55 + 25 * cause]
        X[near, :3] = 1.0
        X[near, cause] = 0.0
    assert made(choice_of(X, y, {"presence": list(range(100))}))[1] >= 2.0


def test_a_decoy_that_enters_before_the_causes_does_not_end_the_search() -> None:
    X = np.zeros((4000, 7))
    for cause in range(6):
        X[10 * cause : 10 * cause + 10, cause] = 1.0
        X[2000 + 10 * cause : 2010 + 10 * cause, cause] = 1.0
    y = X.max(axis=1)
    X[:50, 6], X[200:300, 6] = 1.0, 1.0  # tells something where it is fitted
    X[3000:3300, 6] = 1.0  # and misleads where it is judged
    assert made(choice_of(X, y, {"presence": list(range(7))}))[1] <= 4.0


def test_a_common_label_without_cause_keeps_the_largest_penalty() -> None:
    X = columns_at_random(4000, 200, 0.3, seed=4)
    y = columns_at_random(4000, 1, 0.4, seed=5)[:, 0]
    assert made(choice_of(X, y, {"presence": list(range(200))}))[1] == 32.0


def test_copies_of_held_out_sequences_make_no_gain_surer() -> None:
    X = columns_at_random(400, 2, 0.5, seed=1)
    y = (np.random.default_rng(2).random(400) < 0.3 + 0.2 * X[:, 0]).astype(float)
    once = choice_of(X, y, {"presence": [0, 1]})
    again = np.repeat(np.arange(200), 5)
    copies = replace(once, X_held=Columns.of(X[200:][again]), y_held=once.y_held[again], held_groups=again)
    assert copies.on_presence().losses == pytest.approx(5 * once.on_presence().losses)
