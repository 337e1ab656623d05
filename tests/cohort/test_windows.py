import polars as pl
import pytest

from eventcargo import Cohort, ConfigError
from eventcargo.cohort import Tables, build_cohort

ALARMS = pl.DataFrame(
    {
        "host": ["h1", "h1", "h2", "h1"],
        "time": ["2024-01-01T00:10", "2024-01-01T01:00", "2024-01-01T01:30", "2024-01-01T03:00"],
        "event": ["cpu", "disk", "net", "cpu"],
    }
)
OUTAGES = pl.DataFrame({"host": ["h1"], "when": ["2024-01-01T02:00"], "label": ["outage"]})
COHORT = Cohort(index="windows", label_time="when", every="1h", lookback="90min")


def test_a_stream_without_ids_is_cut_every_so_often() -> None:
    built = build_cohort(COHORT, Tables(ALARMS.drop("host"), OUTAGES.drop("host")))
    found = {sequence.id[-8:]: (sequence.events, sequence.labels) for sequence in built.data}
    assert found == {
        "01:00:00": (("cpu",), ()),
        "02:00:00": (("disk", "net"), ("outage",)),
        "03:00:00": (("net",), ()),
    }


def test_a_window_has_the_labels_from_its_index_to_before_the_next() -> None:
    outages = OUTAGES.drop("host").with_columns(when=pl.lit("2024-01-01T01:59:59"))
    data = build_cohort(COHORT, Tables(ALARMS.drop("host"), outages)).data
    assert [sequence.id[-8:] for sequence in data if sequence.labels] == ["01:00:00"]


def test_a_column_of_groups_makes_a_stream_each() -> None:
    data = build_cohort(
        Cohort(index="windows", label_time="when", every="1h", lookback="90min", group="host"),
        Tables(ALARMS, OUTAGES),
    ).data
    assert data["h1@2024-01-01T02:00:00"].events == ("disk",)
    assert data["h1@2024-01-01T02:00:00"].labels == ("outage",)


def test_few_streams_are_grouped_by_blocks_of_time() -> None:
    events = pl.DataFrame({"time": [3600.0 * hour for hour in range(100)], "event": "tick"})
    outcomes = pl.DataFrame({"when": [7200.0], "label": "outage"})
    cohort = Cohort(index="windows", label_time="when", every="3600", lookback="3600")
    built = build_cohort(cohort, Tables(events, outcomes))
    assert (built.summary.groups, built.summary.grouped_by) == (10, "block of time")


def test_windows_need_a_look_back_and_times_of_outcomes() -> None:
    with pytest.raises(ConfigError, match="index='windows' needs lookback="):
        Cohort(index="windows")
    with pytest.raises(ConfigError, match="index='windows' needs the times of outcomes"):
        build_cohort(Cohort(index="windows", lookback="1h"), Tables(ALARMS, OUTAGES))


def test_too_many_windows_are_refused() -> None:
    with pytest.raises(ConfigError, match="windows, more than 100,000,000; use a larger time"):
        build_cohort(
            Cohort(index="windows", label_time="when", every="0.01ms", lookback="1h"),
            Tables(ALARMS.drop("host"), OUTAGES.drop("host")),
        )
