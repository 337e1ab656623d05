import time

import pytest

from eventcargo.models.clock import Clock
from eventcargo.models.parallel import Team
from eventcargo.models.settings import TrainConfig


def clock_of(**settings: object) -> Clock:
    return Clock(TrainConfig(**settings), Team())  # type: ignore[arg-type]


def test_steps_are_a_share_of_the_steps() -> None:
    clock = clock_of(steps=10)
    clock.begin(0.0)
    assert clock.used(5) == 0.5


def test_time_before_a_checkpoint_counts() -> None:
    clock = clock_of(max_time="100s")
    clock.begin(40.0)
    assert clock.elapsed == pytest.approx(40.0, abs=1.0)
    assert clock.used(1) == pytest.approx(0.4, abs=0.02)


def test_the_linear_term_leaves_the_rest_of_the_time_to_the_steps() -> None:
    clock = clock_of(max_time="100s")
    clock.term_seconds = 50.0
    clock.begin(0.0)
    assert clock.elapsed == pytest.approx(50.0, abs=1.0)
    assert clock.used(1) == pytest.approx(0.0, abs=0.02)


def test_time_is_kept_free_for_the_end() -> None:
    clock = clock_of(max_time="100s")
    clock.begin(50.0)
    clock.end_checks = 4.0
    clock.note_check(time.monotonic() - 5.0)
    assert clock.used(1) == pytest.approx(50 / 80, abs=0.02)


def test_no_more_than_a_share_is_kept_free() -> None:
    clock = clock_of(max_time="100s")
    clock.begin(35.0)
    clock.end_checks = 1000.0
    clock.note_check(time.monotonic() - 5.0)
    assert clock.used(1) == pytest.approx(0.5, abs=0.02)


def test_slow_checks_are_made_less_often() -> None:
    clock = clock_of(max_time="100s", checks=20)
    assert clock.checks() == 20
    clock.note_check(time.monotonic() - 2.5)
    assert clock.checks() in (3, 4)
    clock.note_check(time.monotonic() - 50.0)
    assert clock.checks() == 1


def test_runs_of_steps_are_checked_as_asked_for() -> None:
    clock = clock_of(steps=10, checks=20)
    clock.note_check(time.monotonic() - 50.0)
    assert clock.checks() == 20


def test_what_is_left_follows_from_what_was_used() -> None:
    clock = clock_of(max_time="100s")
    clock.term_seconds = 20.0
    clock.begin(60.0)
    assert clock.left(0.5) == pytest.approx(40.0, abs=1.0)
