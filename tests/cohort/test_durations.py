import pytest

from eventcargo import Cohort, ConfigError
from eventcargo.cohort.durations import parse_duration


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lookback": "a month"}, "lookback='a month': use a duration such as 30d"),
        ({"lookback": "0 events"}, "use at least 1 event"),
        ({"gap": "-1d"}, "gap='-1d': use a duration such as 90s, 1h30m, 2d or 500ms"),
        ({"every": "2 moons"}, "every='2 moons'"),
        ({"quantiles": (0.5, 1.0)}, "quantiles=1.0: use numbers between 0 and 1"),
        ({"cut": ("creatinine",)}, "cut='creatinine': give an event type and its thresholds"),
        ({"cut": ("a=b",)}, "cut='a=b'"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_value(settings: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        Cohort(**settings)  # type: ignore[arg-type]


def test_a_unit_belongs_to_dates_and_a_bare_number_to_numbers() -> None:
    assert parse_duration("gap", "90min", "datetime") == 5400.0
    with pytest.raises(ConfigError, match="gap='5': the times are dates; add a unit"):
        parse_duration("gap", "5", "datetime")
    with pytest.raises(ConfigError, match="gap='5d': the times are plain numbers"):
        parse_duration("gap", "5d", "number")
    assert parse_duration("gap", "0d", "number") == 0.0


@pytest.mark.parametrize("cohort", [Cohort(), Cohort(seed=4), Cohort(index="end")])
def test_a_cohort_that_asks_for_nothing_is_plain(cohort: Cohort) -> None:
    assert cohort.is_plain


@pytest.mark.parametrize("cohort", [Cohort(label_time="when"), Cohort(prefix=3), Cohort(lookback="1d")])
def test_a_cohort_that_asks_for_something_is_not(cohort: Cohort) -> None:
    assert not cohort.is_plain
