from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from eventcargo import Cohort
from eventcargo.cohort import Tables, build_cohort


def day(number: int) -> datetime:
    return datetime(2024, 1, number)


@pytest.fixture
def meds(tmp_path: Path) -> Path:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "data").mkdir()
    rows = [
        (1, None, "SEX//F", None),
        (1, day(1), "creatinine", 2.5),
        (1, day(3), "I21.0", None),
        (2, day(1), "creatinine", 0.5),
        (2, day(9), "discharge", None),
    ]
    names = ["subject_id", "time", "code", "numeric_value"]
    pl.DataFrame(rows, names, orient="row").write_parquet(tmp_path / "data" / "0.parquet")
    return tmp_path


def test_codes_of_a_meds_folder_can_be_outcomes(meds: Path) -> None:
    cohort = Cohort(outcomes=("I21*",), numeric_value="numeric_value", cut=("creatinine=2",))
    with pytest.warns(UserWarning, match="label 'I21.0' is also an event type"):
        built = build_cohort(cohort, Tables(meds))
    case, control = built.data
    assert (case.id, case.labels) == ("1@2024-01-03T00:00:00", ("I21.0",))
    assert case.events == ("SEX//F", "creatinine", "creatinine >= 2")
    assert (control.events, control.labels) == (("creatinine", "creatinine < 2"), ())
    assert built.data.kinds.attributes == ("SEX//F",)


def test_prediction_times_are_index_times_with_the_events_at_that_time(meds: Path) -> None:
    task = {"subject_id": [1, 2], "prediction_time": [day(3), day(5)], "boolean_value": [True, False]}
    pl.DataFrame(task).write_parquet(meds / "died.parquet")
    data = build_cohort(Cohort(lookback="30d"), Tables(meds, meds / "died.parquet")).data
    assert [sequence.events for sequence in data] == [("SEX//F", "creatinine", "I21.0"), ("creatinine",)]
    assert [sequence.labels for sequence in data] == [("died",), ()]


def test_a_label_is_unknown_at_prediction_times_of_other_tasks(meds: Path) -> None:
    for task, subject in (("died", 2), ("fell", 1)):
        (meds / "labels" / task).mkdir(parents=True)
        row = {"subject_id": [subject], "prediction_time": [day(5)], "boolean_value": [True]}
        pl.DataFrame(row).write_parquet(meds / "labels" / task / "0.parquet")
    data = build_cohort(Cohort(index="prediction"), Tables(meds, meds / "labels")).data
    assert [sequence.labels for sequence in data] == [("fell",), ("died",)]
    known = data.known_matrix()
    assert known is not None
    assert known.tolist() == [[False, True], [True, False]]
