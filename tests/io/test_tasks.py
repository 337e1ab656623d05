from datetime import datetime

import polars as pl
import pytest

from eventcargo import DataError, read_meds


def _day(day, hour=0):
    return datetime(2024, 1, day, hour)


def test_a_folder_of_files_is_one_task(root, write_task):
    write_task(root / "death" / "0.parquet", [(10, _day(9), True), (7, _day(9), False)])
    write_task(root / "death" / "1.parquet", [(9, _day(9), True)])
    data = read_meds(root, root / "death")
    assert (data.label_names, data.support.tolist()) == (("death",), [2])


def test_hidden_folders_are_no_tasks(root, write_task):
    rows = [(10, _day(9), True), (7, _day(9), False), (9, _day(9), False)]
    for task in ("death", ".cache", "_logs"):
        write_task(root / "labels" / task / "0.parquet", rows)
    (root / "labels" / "README.md").touch()
    assert read_meds(root).label_names == ("death",)


def test_a_column_of_nulls_holds_no_values(root):
    columns = {"subject_id": [10, 9, 7], "prediction_time": [_day(9)] * 3, "boolean_value": [True] * 3}
    empty = pl.Series("integer_value", [None] * 3, dtype=pl.Int64)
    pl.DataFrame(columns).with_columns(empty).write_parquet(root / "task.parquet")
    assert read_meds(root, root / "task.parquet").support.tolist() == [3]


def test_a_mapping_names_the_tasks(root, write_task):
    write_task(root / "x.parquet", [(10, _day(9), True), (7, _day(9), False), (9, _day(9), False)])
    assert read_meds(root, {"death": root / "x.parquet"}).label_names == ("death",)


def test_categories_are_labels_with_the_task_in_their_name(root, write_task):
    rows = [(10, _day(9), "ICU"), (7, _day(9), "ward"), (9, _day(9), "ICU")]
    write_task(root / "unit.parquet", rows, "categorical_value")
    data = read_meds(root, root / "unit.parquet")
    assert (data.label_names, data.support.tolist()) == (("unit=ICU", "unit=ward"), [2, 1])


def test_a_label_is_unknown_outside_the_cohort_of_its_task(root, write_task):
    write_task(root / "labels" / "death" / "0.parquet", [(10, _day(9), True), (7, _day(9), False)])
    rows = [(10, _day(9), "ICU"), (9, _day(9), "ward")]
    write_task(root / "labels" / "unit" / "0.parquet", rows, "categorical_value")
    data = read_meds(root)
    assert (data.label_names, data.sequence_ids.to_pylist()) == (
        ("death", "unit=ICU", "unit=ward"),
        ["10", "7", "9"],
    )
    assert data.known_matrix().tolist() == [[True, True, True], [True, False, False], [False, True, True]]
    assert [study.label_names for study in data.studies()] == [("death",), ("unit=ICU", "unit=ward")]


def test_subjects_kept_from_outside_all_cohorts_lack_all_labels(root, write_task):
    write_task(root / "labels" / "death" / "0.parquet", [(10, _day(9), True)])
    write_task(root / "labels" / "fall" / "0.parquet", [(7, _day(9), True)])
    data = read_meds(root, cohort_only=False)
    assert data.known_matrix().tolist() == [[True, False], [False, True], [True, True]]


def test_tasks_with_the_same_samples_leave_nothing_unknown(root, write_task):
    for task in ("death", "fall"):
        rows = [(subject, _day(9), subject == 10) for subject in (10, 9, 7)]
        write_task(root / "labels" / task / "0.parquet", rows)
    assert read_meds(root).known is None


@pytest.mark.parametrize("value", ["integer_value", "float_value"])
def test_numbers_0_and_1_are_labels(root, value, write_task):
    write_task(root / "task.parquet", [(10, _day(9), 1), (7, _day(9), 0), (9, _day(9), 0)], value)
    assert read_meds(root, root / "task.parquet")["10"].labels == ("task",)


def test_other_numbers_are_refused_with_advice(root, write_task):
    write_task(root / "task.parquet", [(10, _day(9), 1), (7, _day(9), 4)], "integer_value")
    with pytest.raises(DataError, match=r"'task' has the integer_value 4; .* boolean_value with a threshold"):
        read_meds(root, root / "task.parquet")


def test_two_values_for_one_subject_and_time_are_refused(root, write_task):
    write_task(root / "task.parquet", [(10, _day(9), True), (10, _day(9), False)])
    with pytest.raises(DataError, match=r"'task' has 2 rows that share subject .* subject 10"):
        read_meds(root, root / "task.parquet")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"prediction_time": [_day(9)], "boolean_value": [True]}, "needs the column 'subject_id'"),
        ({"subject_id": [10], "boolean_value": [True]}, "needs the column 'prediction_time'"),
        ({"subject_id": [10], "prediction_time": [_day(9)]}, "has values in no column"),
        ({"subject_id": ["10"], "prediction_time": [_day(9)], "boolean_value": [True]}, "type String"),
        ({"subject_id": [10], "prediction_time": [9], "boolean_value": [True]}, "type Int64"),
        ({"subject_id": [10], "prediction_time": [_day(9)], "boolean_value": [_day(9)]}, "type Datetime"),
        (
            {"subject_id": [10], "prediction_time": [_day(9)], "boolean_value": [True], "integer_value": [1]},
            r"values in \['boolean_value', 'integer_value'\]",
        ),
    ],
)
def test_a_table_that_is_no_task_is_refused(root, columns, reason):
    pl.DataFrame(columns).write_parquet(root / "task.parquet")
    with pytest.raises(DataError, match=f"task 'task'.*{reason}"):
        read_meds(root, root / "task.parquet")


def test_a_folder_without_labels_is_refused(root):
    with pytest.raises(DataError, match="nothing holds no labels"):
        read_meds(root, root / "nothing")


def test_a_task_folder_without_files_is_refused(root):
    (root / "labels" / "death").mkdir(parents=True)
    with pytest.raises(DataError, match="death holds no Parquet file with labels"):
        read_meds(root)


def test_a_file_that_is_not_parquet_is_refused(root):
    (root / "task.parquet").write_text("no")
    with pytest.raises(DataError, match="task 'task' cannot be read"):
        read_meds(root, root / "task.parquet")
