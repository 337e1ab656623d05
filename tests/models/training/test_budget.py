import math
import time
from typing import Any

import pytest

from eventcargo.errors import ConfigError
from eventcargo.models.training.budget import BudgetConfig, Clock
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.distributed import ProcessGroup


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("7", 7), ("1m30s", 90)]
)
def test_durations_are_read(text: str, expected: float) -> None:
    assert BudgetConfig(max_time=text).time_limit == expected


@pytest.mark.parametrize("text", ["ten", "10 days", "-5m", "0m", "m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=repr(text)):
        BudgetConfig(max_time=text)


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ({"steps": -1}, "steps=-1"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"learning_rate": math.inf}, "learning_rate=inf"),
        ({"learning_rate": math.nan}, "learning_rate=nan"),
        ({"warmup": 1.0}, "warmup=1.0"),
        ({"warmup": -0.1}, "warmup=-0.1"),
    ],
)
def test_settings_outside_are_refused(refused: dict[str, Any], shown: str) -> None:
    with pytest.raises(ConfigError, match=shown):
        BudgetConfig(**refused)


def test_the_edges_are_allowed() -> None:
    taken = BudgetConfig(steps=1, learning_rate=1e-9, warmup=0.0)
    assert (taken.steps, taken.learning_rate, taken.warmup) == (1, 1e-9, 0.0)


def test_ten_minutes_are_the_bound_where_none_is_given() -> None:
    assert BudgetConfig().time_limit == 600
    assert BudgetConfig(steps=5).time_limit == math.inf
    assert BudgetConfig(steps=5, max_time="1m").time_limit == 60


def test_the_bound_that_comes_first_counts() -> None:
    config = BudgetConfig(steps=10, max_time="100s")
    assert config.used(5, 10.0) == 0.5
    assert config.used(5, 80.0) == 0.8
    assert config.used(99, 0.0) == 1.0


def test_reserved_time_is_kept_free() -> None:
    assert BudgetConfig(max_time="100s").used(0, 80.0, reserved=20.0) == 1.0


def test_the_rate_rises_then_falls_to_nothing() -> None:
    config = BudgetConfig(learning_rate=1.0, warmup=0.2)
    rates = [config.rate(used) for used in (0.0, 0.1, 0.2, 0.6, 1.0)]
    assert rates == pytest.approx([0.0, 0.5, 1.0, 0.5, 0.0])


def clock_of(**settings: object) -> Clock:
    config = TrainConfig(**settings)
    return Clock(config, config.checks, ProcessGroup())  # type: ignore[arg-type]


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
