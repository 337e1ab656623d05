"""The files of the alarms hold their truth: causes before incidents, records at them or after them."""

import polars as pl
import pytest

from .alarms import write_alarms
from .journey import Journey


@pytest.fixture(scope="module")
def alarms(tmp_path_factory: pytest.TempPathFactory) -> Journey:
    return write_alarms(tmp_path_factory.mktemp("alarms"), hosts=40)


@pytest.fixture(scope="module")
def joined(alarms: Journey) -> pl.DataFrame:
    """Every message of a host beside every incident of it, with the hours from message to incident."""
    messages = pl.read_ndjson(alarms.files["alarms"]).with_columns(
        time=pl.col("timestamp").str.to_datetime(time_zone="UTC")
    )
    incidents = pl.read_csv(alarms.files["incidents"]).with_row_index("case")
    incidents = incidents.with_columns(pl.col("time").str.to_datetime(time_zone="UTC"))
    hours = (pl.col("time_incident") - pl.col("time")).dt.total_seconds() / 3600
    return messages.join(incidents, on="host", suffix="_incident").with_columns(hours=hours)


def test_messages_have_no_sequence_and_differ_in_their_offset(alarms: Journey) -> None:
    messages = pl.read_ndjson(alarms.files["alarms"])
    assert messages.columns == ["host", "timestamp", "message"]
    assert set(messages["timestamp"].str.extract(r"(Z|\+\d\d:\d\d)$")) == {"Z", "+01:00", "+02:00"}


def test_causes_come_before_nearly_every_incident(alarms: Journey, joined: pl.DataFrame) -> None:
    for kind, causes in alarms.causes.items():
        cases = joined.filter(pl.col("kind") == kind)
        recent = cases.filter(pl.col("hours").is_between(0, 24, closed="right"))
        for cause in causes:
            held = recent.filter(pl.col("message") == cause)["case"].n_unique()
            assert held > 0.9 * cases["case"].n_unique()


def test_records_come_at_the_incident_or_after_it(alarms: Journey, joined: pl.DataFrame) -> None:
    for kind, records in alarms.post_outcome.items():
        for record in records:
            written = joined.filter((pl.col("kind") == kind) & (pl.col("message") == record))
            nearest = written.group_by("case").agg(pl.col("hours").filter(pl.col("hours") <= 0).max())[
                "hours"
            ]
            assert nearest.null_count() == 0
            assert nearest.min() > -1  # type: ignore[operator]
            assert 0.3 < (nearest == 0).mean() < 0.7  # type: ignore[operator]
