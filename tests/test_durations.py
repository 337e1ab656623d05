import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventcargo import ConfigError
from eventcargo.durations import parse_duration, show_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m30s", 90.0),
        ("1h30m", 5400.0),
        ("2d", 172_800.0),
        ("90s", 90.0),
        ("90", 90.0),
        ("1.5h", 5400.0),
        ("1w", 604_800.0),
        ("500ms", 0.5),
        ("1m500ms", 60.5),
        (" 1h 5s ", 3605.0),
    ],
)
def test_durations_are_read(text, seconds):
    assert parse_duration(text, "max_time") == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "soon", "-5m", "0", "0s", "5x", "1s1h", "1h1h", "h", "1.h", "m5", "1 2"]
)
def test_what_is_no_duration_is_refused_with_the_argument(text):
    with pytest.raises(ConfigError) as refusal:
        parse_duration(text, "gap")
    assert str(refusal.value).startswith(f"gap={text!r}: use a duration such as 90s, 1h30m")


def test_zero_is_a_duration_where_it_is_allowed():
    assert parse_duration("0s", "gap", allow_zero=True) == 0.0
    assert parse_duration("0", "gap", allow_zero=True) == 0.0


@given(st.integers(1, 10**12))
def test_what_is_shown_is_read_back(milliseconds):
    read = parse_duration(show_duration(milliseconds / 1000), "max_time")
    assert round(read * 1000) == milliseconds
