import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from eventcargo.cohort.controls import Histories, RiskSets, draw_controls, follow_up, resolution
from eventcargo.cohort.outcomes import Outcomes


def risk_sets(
    end: list[float], outcomes: list[tuple[int, float]], horizon: float = 0.0, unit: float = 0.0
) -> RiskSets:
    """Histories that begin at 0, 1, 2, ... and last this long."""
    subjects, times = (np.array([row[at] for row in outcomes]) for at in (0, 1))
    first = np.arange(len(end), dtype=np.float64)
    found = Outcomes.of(subjects, times.astype(np.float64), np.zeros(len(outcomes), int), pa.array(["bad"]))
    return RiskSets(Histories(first, first + end), found, found.of_subjects(len(end)), horizon, unit)


def draw(risk: RiskSets, per_case: int = 5) -> list[tuple[int, float]]:
    outcomes = risk.outcomes
    found = draw_controls(risk, outcomes.subjects, outcomes.times, per_case, seed=0)[:2]
    return sorted(zip(*(column.tolist() for column in found), strict=True))


def test_controls_are_at_risk_at_the_time_since_the_start_of_the_case() -> None:
    assert draw(risk_sets([9.0, 9.0, 9.0, 3.0], [(0, 4.0)])) == [(1, 5.0), (2, 6.0)]


def test_an_outcome_at_the_moment_or_within_the_horizon_is_no_control() -> None:
    outcomes = [(0, 4.0), (1, 5.0), (2, 8.0)]
    at_four = {(1, 5.0), (2, 6.0), (3, 7.0)}
    assert at_four & set(draw(risk_sets([9.0] * 4, outcomes))) == {(2, 6.0), (3, 7.0)}
    assert at_four & set(draw(risk_sets([9.0] * 4, outcomes, horizon=2.0))) == {(3, 7.0)}


def test_a_control_has_an_outcome_behind_it_if_the_case_has() -> None:
    outcomes = [(0, 2.0), (0, 6.0), (1, 2.0)]
    found = set(draw(risk_sets([9.0] * 4, outcomes)))
    assert {(2, 8.0), (3, 9.0)} & found == set()  # as old as the second outcome, but without a first
    assert (1, 7.0) in found
    assert {subject for subject, time in found if time - subject == 2.0} == {2, 3}


def test_a_control_is_as_old_as_the_case_it_was_drawn_for() -> None:
    risk = risk_sets([9.0] * 9, [(0, 4.0), (1, 3.0), (1, 8.0)])
    subjects, times = risk.outcomes.subjects, risk.outcomes.times
    found, moments, cases = draw_controls(risk, subjects, times, 6, seed=0)
    assert len(cases) > 4
    assert (moments - found == (times - subjects)[cases]).all()


def test_no_control_is_drawn_twice() -> None:
    found = draw(risk_sets([9.0] * 9, [(0, 4.0), (1, 5.0), (2, 6.0)]))
    assert len(found) == len(set(found)) == 6


def test_controls_fall_on_the_days_of_outcomes() -> None:
    outcomes = [(0, 86_400.0 * day) for day in (4, 7)]
    risk = risk_sets([1e6] * 30, outcomes, unit=resolution(np.array([345_600.0, 604_800.0]), "datetime"))
    assert {time % 86_400 for _, time in draw(risk)} == {0.0}


@pytest.mark.parametrize(
    ("times", "kind", "unit"),
    [
        ([0.0, 86_400.0], "datetime", 86_400.0),
        ([60.0], "datetime", 60.0),
        ([0.5], "datetime", 0.0),
        ([3.0], "number", 1.0),
    ],
)
def test_the_resolution_of_times_is_their_coarsest_unit(times: list[float], kind: str, unit: float) -> None:
    assert resolution(np.array(times), kind) == unit


def test_recording_goes_on_for_a_mean_gap_but_not_beyond_all_data() -> None:
    ends: NDArray[np.float64] = follow_up(np.zeros(3), np.array([4.0, 9.0, 0.0]), np.array([3, 10, 1]))
    assert ends.tolist() == [6.0, 9.0, 1.5]
