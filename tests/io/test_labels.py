import pandas as pd
import polars as pl
import pytest

from eventcargo import ConfigError, DataError, EventCargoWarning, ReadConfig, read_events

EVENTS = pl.DataFrame({"sequence_id": ["a", "b", "c"], "event": ["x", "x", "y"]})


def _labels(data):
    return {sequence.id: sequence.labels for sequence in data}


def _wide(**columns):
    return pl.DataFrame({"sequence_id": ["b", "a"], **columns})


def test_long_labels_are_sorted_and_may_be_absent():
    labels = pl.DataFrame({"sequence_id": ["c", "a", "c"], "label": ["L2", "L2", "L1"]})
    assert _labels(read_events(EVENTS, labels)) == {"a": ("L2",), "b": (), "c": ("L1", "L2")}


def test_without_labels_there_are_none():
    assert read_events(EVENTS).label_names == ()


@pytest.mark.parametrize(
    "values",
    [[1, 0], [1.0, 0.0], [True, False], ["1", "0"], ["TRUE", "False"], ["1.0", "0.0"]],
    ids=str,
)
def test_wide_labels_of_every_type_are_read(values):
    data = read_events(EVENTS, _wide(L1=values))
    assert _labels(data) == {"a": (), "b": ("L1",), "c": ()}


def test_wide_labels_may_be_categories():
    data = read_events(EVENTS, _wide(L1=pl.Series(["1", "0"], dtype=pl.Categorical)))
    assert data.support.tolist() == [1]


def test_wide_labels_from_csv_are_read(tmp_path):
    (tmp_path / "labels.csv").write_text("sequence_id,L2,L1\nc,1,1\na,0,1\n")
    data = read_events(EVENTS, tmp_path / "labels.csv")
    assert _labels(data) == {"a": ("L1",), "b": (), "c": ("L1", "L2")}


def test_wide_labels_that_nobody_carries_are_kept():
    data = read_events(EVENTS, _wide(L1=[0, 1], never=[0, 0]))
    assert (data.label_names, data.support.tolist()) == (("L1", "never"), [1, 0])


def test_wide_and_long_agree_over_shards(tmp_path, assert_equal):
    _wide(L1=[1, 0], L2=[1, 1]).write_csv(tmp_path / "1.csv")
    pl.DataFrame({"L2": [0], "sequence_id": ["c"], "L1": [1]}).write_csv(tmp_path / "2.csv")
    long = pl.DataFrame({"sequence_id": ["b", "b", "a", "c"], "label": ["L1", "L2", "L2", "L1"]})
    assert_equal(read_events(EVENTS, tmp_path), read_events(EVENTS, long))


@pytest.mark.parametrize("value", [2, 0.5, "yes", None, "2024-01-01"])
def test_a_wide_value_that_is_not_0_or_1_is_refused_with_its_row(value):
    kind = {"dtype": pl.Int64} if value is None else {}
    frame = _wide(L1=pl.Series([type(value)(1) if value is not None else 1, value], **kind))
    shown = "null" if value is None else repr(value)
    with pytest.raises(DataError, match=f"the labels table, row 2: label 'L1' is {shown}; a wide table"):
        read_events(EVENTS, frame)


def test_a_wide_column_of_another_type_is_refused():
    frame = _wide(L1=[1, 0], seen=pl.Series([0, 1], dtype=pl.Date))
    with pytest.raises(DataError, match=r"row 1: label 'seen' is .*drop columns that are not labels"):
        read_events(EVENTS, frame)


def test_a_wide_label_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "labels.csv").write_text("sequence_id,L1,L1\na,0,1\n")
    with pytest.raises(DataError, match=r"labels\.csv has the column 'L1' 2 times"):
        read_events(EVENTS, tmp_path / "labels.csv")


def test_a_sequence_with_two_wide_rows_is_refused():
    frame = pl.DataFrame({"sequence_id": ["b", "a", "b"], "L1": [1, 0, 0]})
    with pytest.raises(
        DataError, match=r"row 1: sequence_id is 'b', row 3: 'b'; .*several rows for 1 sequence"
    ):
        read_events(EVENTS, frame)


def test_wide_shards_with_other_labels_are_refused(tmp_path):
    _wide(L1=[1, 0]).write_csv(tmp_path / "1.csv")
    pl.DataFrame({"sequence_id": ["c"], "L9": [1]}).write_csv(tmp_path / "2.csv")
    with pytest.raises(DataError, match=r"2\.csv and .*1\.csv differ in column 'L1'"):
        read_events(EVENTS, tmp_path)


def test_a_table_of_ids_alone_is_refused():
    with pytest.raises(DataError, match="only the column 'sequence_id'"):
        read_events(EVENTS, pl.DataFrame({"sequence_id": ["a"]}))


def test_a_column_without_name_is_refused():
    with pytest.raises(DataError, match="a column without a name"):
        read_events(EVENTS, _wide(**{"": [1, 0]}))


def test_a_label_column_asked_for_must_be_there():
    with pytest.raises(DataError, match="no column 'part'"):
        read_events(EVENTS, _wide(L1=[1, 0]), label="part")


def test_labels_of_unknown_sequences_are_refused_with_count_and_first():
    labels = pl.DataFrame({"sequence_id": ["z", "a", "q", "z"], "label": ["L1"] * 4})
    with pytest.raises(
        DataError, match=r"3 rows: .*row 1: sequence_id is 'z', row 3: 'q', .*2 sequences without"
    ):
        read_events(EVENTS, labels)


def test_labels_of_unknown_sequences_can_be_dropped_with_a_warning():
    labels = pl.DataFrame({"sequence_id": ["z", "a"], "label": ["L2", "L1"]})
    with pytest.warns(EventCargoWarning, match=r"1 sequence without any event") as caught:
        data = read_events(EVENTS, labels, unknown_labels="drop")
    assert caught[0].filename == __file__
    assert _labels(data) == {"a": ("L1",), "b": (), "c": ()}


def test_repeated_labels_count_once_and_are_counted_in_a_warning():
    labels = pl.DataFrame({"sequence_id": ["a"] * 3, "label": ["L1"] * 3})
    with pytest.warns(EventCargoWarning, match="dropped 2 repeated label rows") as caught:
        data = read_events(EVENTS, labels)
    assert data.support.tolist() == [1]
    assert caught[0].filename == __file__


def test_a_null_label_is_refused_with_its_row():
    labels = pd.DataFrame({"sequence_id": ["a", "b"], "label": ["L1", None]})
    with pytest.raises(DataError, match="the labels table, row 2: label is null"):
        read_events(EVENTS, labels)


@pytest.mark.parametrize("columns", [("label",), ("L1", "L2")])
def test_a_table_without_rows_is_refused(columns):
    empty = pl.DataFrame(schema=dict.fromkeys(("sequence_id", *columns), pl.String))
    with pytest.raises(DataError, match="the labels table is empty; leave labels out"):
        read_events(EVENTS, empty)


def test_rows_of_several_tables_are_joined_long_and_wide():
    long = pl.DataFrame({"sequence_id": ["c", "a"], "label": ["L2", "L9"]})
    data = read_events(EVENTS, [long, _wide(L1=[1, 0], L2=[0, 1])])
    assert _labels(data) == {"a": ("L2", "L9"), "b": ("L1",), "c": ("L2",)}
    assert data.label_names == ("L1", "L2", "L9")


def test_a_label_in_two_tables_counts_once():
    long = pl.DataFrame({"sequence_id": ["a"], "label": ["L2"]})
    with pytest.warns(EventCargoWarning, match="dropped 1 repeated label row"):
        assert read_events(EVENTS, (long, long)).support.tolist() == [1]


def test_a_problem_names_the_table_of_a_list():
    long = pl.DataFrame({"sequence_id": ["a", "b"], "label": ["L2", ""]})
    with pytest.raises(DataError, match=r"the labels\[1\] table, row 2: label is empty"):
        read_events(EVENTS, [_wide(L1=[1, 0]), long])


def test_no_tables_of_labels_are_refused():
    with pytest.raises(ConfigError, match=r"labels=\[\]: give at least one table"):
        read_events(EVENTS, [])


@pytest.mark.parametrize(
    ("columns", "meant"),
    [
        ({"Outcome": ["turbo", "fuel"]}, "Outcome"),
        ({"area": ["north", "south"], "main_fault": ["turbo", "fuel"]}, "main_fault"),
        ({"seen": ["2024-01-01", "2024-01-02"], "part": ["turbo", "fuel"]}, "part"),
    ],
)
def test_a_long_table_with_another_column_of_labels_is_refused_with_a_suggestion(columns, meant):
    with pytest.raises(DataError, match=rf"no column 'label', .*did you mean label='{meant}'\?"):
        read_events(EVENTS, _wide(**columns))


def test_unknown_sequences_whose_events_are_all_unusable_are_not_told_as_unknown():
    events = pl.DataFrame({"sequence_id": ["a", "b"], "event": ["x", None]})
    labels = pl.DataFrame({"sequence_id": ["a", "b", "z"], "label": ["L1"] * 3})
    with pytest.raises(DataError, match="labels name 1 sequence without any event") as refusal:
        read_events(events, labels)
    assert "row 2: event is null" in str(refusal.value)
    with pytest.warns(EventCargoWarning) as caught:
        data = read_events(events, labels[:2], reading=ReadConfig(on_bad_row="drop"))
    assert "labels of 1 sequence of which no event could be used" in str(caught[0].message)
    assert _labels(data) == {"a": ("L1",)}


def test_wide_rows_with_bad_values_can_be_dropped():
    with pytest.warns(EventCargoWarning, match=r"dropped 1 row .*\n  1 row: .*row 2: label 'L1' is 7"):
        data = read_events(EVENTS, _wide(L1=[1, 7]), reading=ReadConfig(on_bad_row="drop"))
    assert _labels(data) == {"a": (), "b": ("L1",), "c": ()}
