import pytest

from eventcargo import ConfigError, ReadConfig


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"time_format": "dd.mm.yyyy"}, "time_format='dd.mm.yyyy': use a format such as %d"),
        ({"separator": ";;"}, "separator=';;': use one character"),
        ({"separator": '"'}, "separator='\"': use one character"),
        ({"encoding": "klingon"}, "encoding='klingon' is unknown"),
        ({"encoding": "base64"}, "encoding='base64' is unknown"),
        ({"time_zone": "Mars/Olympus"}, "time_zone='Mars/Olympus' is unknown; use UTC or a name such as"),
        ({"time_zone": "../etc"}, "time_zone='../etc' is unknown"),
        ({"on_bad_row": "keep"}, "on_bad_row='keep': use refuse or drop"),
    ],
)
def test_a_setting_out_of_range_is_refused_with_its_value(settings, reason):
    with pytest.raises(ConfigError) as refusal:
        ReadConfig(**settings)
    assert reason in str(refusal.value)


@pytest.mark.parametrize("separator", ["\t", "\\t", "tab"])
def test_a_tab_can_be_written_in_several_ways(separator):
    assert ReadConfig(separator=separator).delimiter == "\t"
