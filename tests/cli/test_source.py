import json
from pathlib import Path

import pytest

from eventcargo.cli.source import data_of
from eventcargo.cohort import Cohort
from eventcargo.discovery.data_source import DataSource, recall, remember, source_of
from eventcargo.errors import DataError
from eventcargo.files import sealed


def test_a_source_is_found_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    remember(tmp_path / "run", DataSource("events.csv", "labels.csv", time="when", values=("km",)))
    monkeypatch.chdir("/")
    found = source_of(tmp_path / "run")
    assert found == DataSource(
        str(tmp_path / "events.csv"), str(tmp_path / "labels.csv"), time="when", values=("km",)
    )


def test_a_run_without_a_source_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="name the table of events"):
        source_of(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "not written by eventcargo"),
        (json.dumps({"format": "eventcargo-data", "version": 99}), "another release"),
        (sealed("eventcargo-data", 1, {"odd": 1}), "odd"),
    ],
)
def test_a_damaged_or_foreign_source_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "data.json").write_text(text)
    with pytest.raises(DataError, match=said):
        source_of(tmp_path)


def test_data_that_are_gone_are_named(tmp_path: Path) -> None:
    remember(tmp_path, DataSource(str(tmp_path / "gone.parquet")))
    with pytest.raises(DataError, match=r"gone\.parquet.*does not exist"):
        recall(tmp_path)


def test_the_data_are_read_with_their_own_names_of_columns(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("vin,code\na,X\na,Y\nb,X\n")
    remember(tmp_path, DataSource(str(tmp_path / "log.csv"), sequence_id="vin", event="code"))
    assert recall(tmp_path).data["a"].events == ("X", "Y")


def test_the_cohort_of_a_source_is_found_again(tmp_path: Path) -> None:
    source = DataSource(
        "/events.csv", ("/one.csv", "/two.csv"), static="/s.csv", cohort=Cohort(lookback="30d")
    )
    remember(tmp_path, source)
    assert source_of(tmp_path) == source


def test_new_data_of_a_run_are_read_through_its_cohort(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("sequence_id,event,time\na,P01,1\na,P02,2\nb,Q,1\n")
    remember(tmp_path, DataSource("/gone.csv", cohort=Cohort(prefix=1)))
    data = data_of(tmp_path, str(tmp_path / "log.csv"), None).data
    assert data["a"].events == ("P01", "P", "P02", "P")
