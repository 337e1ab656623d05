import math
from datetime import datetime

import polars as pl
import pytest

from eventcargo import ConfigError, DataError, EventCargoWarning, read_meds
from eventcargo.io import read_meds_splits


def _day(day, hour=0):
    return datetime(2024, 1, day, hour)


def test_without_labels_every_subject_is_a_sequence(root):
    data = read_meds(root)
    assert data.sequence_ids.to_pylist() == ["10", "7", "9"]
    assert (data.time_kind, data.label_names) == ("datetime", ())
    assert data["9"].events == ("B", "A")


def test_events_after_the_prediction_time_are_cut_and_counted(root, write_task):
    write_task(root / "task.parquet", [(10, _day(2), True), (9, _day(9), False), (7, _day(1), False)])
    with pytest.warns(EventCargoWarning, match="dropped 1 event after the prediction time") as caught:
        data = read_meds(root, root / "task.parquet")
    assert data["10"].events == ("SEX//F", "A", "B")
    assert (data["10"].labels, data["9"].labels) == (("task",), ())
    assert caught[0].filename == __file__


def test_a_subject_with_two_prediction_times_is_two_sequences(root, write_task):
    rows = [(10, _day(1, 12), False), (10, _day(3), True), (9, _day(5), True), (7, _day(1), False)]
    write_task(root / "task.parquet", rows)
    with pytest.warns(EventCargoWarning, match="dropped 2 events after"):
        data = read_meds(root, root / "task.parquet")
    assert data.sequence_ids.to_pylist() == ["10@2024-01-01T12:00:00", "10@2024-01-03T00:00:00", "7", "9"]
    assert data[0].events == ("SEX//F", "A")
    assert (data[0].labels, data[1].labels) == ((), ("task",))


def test_no_sequence_holds_an_event_after_its_prediction_time(root, write_task):
    moments = [_day(day) for day in (1, 2, 3)]
    write_task(root / "task.parquet", [(10, moment, True) for moment in moments])
    with pytest.warns(EventCargoWarning, match="no task's cohort|after the prediction time"):
        data = read_meds(root, root / "task.parquet")
    assert [len(sequence) for sequence in data] == [2, 3, 4]


def test_the_default_labels_are_those_of_the_root(root, write_task):
    for task, value in (("death", True), ("stay", False)):
        write_task(root / "labels" / task / "train" / "0.parquet", [(10, _day(9), value)])
    with pytest.warns(EventCargoWarning, match="dropped 2 of 3 subjects: in no task's cohort"):
        data = read_meds(root)
    assert data.label_names == ("death", "stay")
    assert (data["10"].labels, data.support.tolist()) == (("death",), [1, 0])


def test_subjects_outside_of_the_cohort_can_be_kept(root, write_task):
    write_task(root / "task.parquet", [(10, _day(9), True)])
    data = read_meds(root, root / "task.parquet", cohort_only=False)
    assert data.sequence_ids.to_pylist() == ["10", "7", "9"]
    assert data["9"].labels == ()


def test_a_prediction_before_the_first_event_leaves_no_sequence(root, write_task):
    rows = [(10, datetime(2023, 1, 1), True), (9, _day(9), True), (7, _day(9), True)]
    write_task(root / "task.parquet", rows)
    with pytest.warns(EventCargoWarning) as caught:
        data = read_meds(root, root / "task.parquet")
    assert data.sequence_ids.to_pylist() == ["7", "9"]
    assert [str(warning.message)[:30] for warning in caught] == [
        "dropped 4 events after the pre",
        "dropped 1 sequence without a t",
    ]


def test_a_subject_without_any_time_is_left_out_with_a_count(tmp_path, write_data, meds_rows):
    write_data(tmp_path, [*meds_rows, (8, None, "SEX//M")])
    with pytest.warns(EventCargoWarning, match="dropped 1 sequence without a timed event"):
        assert read_meds(tmp_path).sequence_ids.to_pylist() == ["10", "7", "9"]


def test_labels_of_unknown_subjects_are_refused(root, write_task):
    write_task(root / "task.parquet", [(10, _day(9), True), (11, _day(9), True)])
    with pytest.raises(DataError, match=r"1 subject without any event, the first: 11"):
        read_meds(root, root / "task.parquet")


def test_an_unknown_choice_for_static_is_refused(root):
    with pytest.raises(ConfigError, match="static='last': use first or drop"):
        read_meds(root, static="last")


@pytest.fixture
def with_splits(root, write_meds):
    rows = [(10, "train"), (9, "train"), (7, "held_out"), (1, "tuning")]
    path = root / "metadata" / "subject_splits.parquet"
    write_meds(path, "SubjectSplitSchema", rows, ("subject_id", "split"))
    return root


def test_splits_name_subjects(with_splits):
    assert read_meds_splits(with_splits) == {"held_out": ["7"], "train": ["10", "9"], "tuning": ["1"]}


def test_splits_name_the_sequences_of_data(with_splits, write_task):
    write_task(with_splits / "task.parquet", [(10, _day(3), False), (10, _day(9), True), (7, _day(9), False)])
    with pytest.warns(EventCargoWarning, match="1 of 3 subjects"):
        data = read_meds(with_splits, with_splits / "task.parquet")
    assert read_meds_splits(with_splits, data) == {
        "held_out": ["7"],
        "train": ["10@2024-01-03T00:00:00", "10@2024-01-09T00:00:00"],
        "tuning": [],
    }


def test_missing_splits_are_refused(root):
    with pytest.raises(DataError, match=r"subject_splits\.parquet does not exist"):
        read_meds_splits(root)


def _write_values(root, values):
    (root / "data").mkdir(exist_ok=True)
    pl.DataFrame(
        {
            "subject_id": [1, 1, 1, 2],
            "time": [None, _day(3), _day(1), _day(2)],
            "code": ["S", "C", "A", "B"],
            "numeric_value": values,
        }
    ).write_parquet(root / "data" / "0.parquet")


def test_numeric_values_are_read_if_asked_for(tmp_path):
    _write_values(tmp_path, [7.0, 3.5, 1.0, None])
    data = read_meds(tmp_path, values=["numeric_value"])
    assert (data["1"].events, data["1"].values) == (("S", "A", "C"), ((7.0,), (1.0,), (3.5,)))
    assert math.isnan(data["2"].values[0][0])
    assert read_meds(tmp_path).value_names == ()


def test_values_of_static_events_are_dropped_with_them(tmp_path):
    _write_values(tmp_path, [7.0, 3.5, 1.0, None])
    with pytest.warns(EventCargoWarning, match="dropped 1 static event "):
        data = read_meds(tmp_path, static="drop", values=["numeric_value"])
    assert data["1"].values == ((1.0,), (3.5,))


def test_values_after_the_prediction_time_are_cut_with_their_events(tmp_path, write_task):
    _write_values(tmp_path, [7.0, 3.5, 1.0, None])
    write_task(tmp_path / "task.parquet", [(1, _day(2), True)])
    with pytest.warns(EventCargoWarning, match="after the prediction time|no task's cohort"):
        data = read_meds(tmp_path, tmp_path / "task.parquet", values=["numeric_value"])
    assert data["1"].values == ((7.0,), (1.0,))


def test_a_value_column_that_is_not_there_is_refused_by_name(root):
    with pytest.raises(DataError, match="no column 'numeric_valve'"):
        read_meds(root, values=["numeric_valve"])


def test_numeric_values_that_are_all_null_are_told_to_the_caller(tmp_path):
    _write_values(tmp_path, [None] * 4)
    with pytest.warns(EventCargoWarning, match="numeric_value is not recorded in any of 4 rows") as caught:
        read_meds(tmp_path, values=["numeric_value"])
    assert caught[0].filename == __file__


def _write_spoiled(root):
    (root / "data").mkdir()
    pl.DataFrame(
        {
            "subject_id": [1, None, 1, 2, 3],
            "time": [_day(1), _day(2), _day(3), _day(4), _day(5)],
            "code": ["A", "B", None, "C", None],
        }
    ).write_parquet(root / "data" / "0.parquet")


def test_rows_that_cannot_be_used_are_refused_with_the_way_to_drop_them(tmp_path):
    _write_spoiled(tmp_path)
    with pytest.raises(DataError, match=r"3 rows cannot be used.*on_bad_row='drop'"):
        read_meds(tmp_path)


def test_rows_that_cannot_be_used_are_dropped_if_asked_for(tmp_path, write_task):
    _write_spoiled(tmp_path)
    with pytest.warns(EventCargoWarning, match="dropped 3 rows that cannot be used"):
        data = read_meds(tmp_path, on_bad_row="drop")
    assert {one.id: one.events for one in data} == {"1": ("A",), "2": ("C",)}
    write_task(tmp_path / "task.parquet", [(1, _day(9), False), (2, _day(9), True), (3, _day(9), True)])
    with pytest.warns(EventCargoWarning, match="dropped 3 rows|1 label row of subjects of which no event"):
        data = read_meds(tmp_path, tmp_path / "task.parquet", on_bad_row="drop")
    assert {one.id: one.labels for one in data} == {"1": (), "2": ("task",)}


def test_where_no_row_can_be_used_nothing_is_dropped(tmp_path):
    (tmp_path / "data").mkdir()
    table = pl.DataFrame({"subject_id": ["x"], "time": [_day(1)], "code": ["A"]})
    table.write_parquet(tmp_path / "data" / "0.parquet")
    with pytest.raises(DataError, match="MEDS needs int64"):
        read_meds(tmp_path, on_bad_row="drop")


def test_an_unknown_choice_for_bad_rows_is_refused(root):
    with pytest.raises(ConfigError, match="on_bad_row='keep': use refuse or drop"):
        read_meds(root, on_bad_row="keep")
