import warnings

import pytest

from eventcargo import DataError, EventCargoWarning, ReadConfig, read_events
from eventcargo.io.problems import Kind, Problems

DROP = ReadConfig(on_bad_row="drop")
EVENTS = """sequence_id,time,event
a,1,x
,2,x
a,soon,
a,3
b,later,y
b,never,y
b,inf,y
b,5,z
"""


@pytest.fixture
def tables(tmp_path):
    """Events of which two rows are usable, and labels of which one is."""
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "labels.csv").write_text("sequence_id,label\na,L1\nb,\nq,L1\n")
    return tmp_path


def test_all_problems_of_all_tables_are_told_at_once(tables):
    with pytest.raises(DataError) as refusal:
        read_events(tables)
    said = str(refusal.value)
    assert said.startswith("7 rows cannot be used; correct them, or drop them with on_bad_row='drop':")
    events = f"{tables}/events.csv"
    assert f"3 rows: {events}, row 3: time is 'soon', row 5: 'later', row 6: 'never'; use numbers" in said
    assert f"1 row: {events}, row 2: sequence_id is empty; every row needs a value" in said
    assert f"1 row: {events}, row 3: event is empty" in said
    assert f"1 row: {events}, row 4: 2 fields; the first line names 3 columns" in said
    assert f"1 row: {events}, row 7: time is 'inf'; every time must be a finite number" in said
    assert f"1 row: {tables}/labels.csv, row 2: label is empty" in said
    assert f"1 row: {tables}/labels.csv, row 3: sequence_id is 'q'; labels name 1 sequence without" in said
    assert len(said.splitlines()) == 8


def test_bad_rows_are_dropped_with_a_warning_that_counts_them(tables):
    with pytest.warns(EventCargoWarning) as caught:
        data = read_events(tables, reading=DROP, unknown_labels="drop")
    assert [(s.id, s.events, s.times, s.labels) for s in data] == [
        ("a", ("x",), (1.0,), ("L1",)),
        ("b", ("z",), (5.0,), ()),
    ]
    said = [str(warning.message) for warning in caught]
    assert any("labels name 1 sequence without any event" in message for message in said)
    assert any(message.startswith("dropped 7 rows that cannot be used:\n  3 rows: ") for message in said)
    assert {warning.filename for warning in caught} == {__file__}


def test_labels_of_unknown_sequences_are_refused_even_where_bad_rows_are_dropped(tables):
    with pytest.raises(DataError, match="labels name 1 sequence without any event") as refusal:
        read_events(tables, reading=DROP)
    assert len(str(refusal.value).splitlines()) == 2


def test_rows_are_numbered_as_in_the_file_after_broken_and_bad_ones(tables):
    (tables / "labels.csv").write_text("sequence_id,label\na\na,L1\n,L1\nq,L1\n")
    with pytest.raises(DataError, match=r"labels\.csv, row 4: sequence_id is 'q'"):
        read_events(tables)


def test_dropping_all_rows_is_refused(tmp_path):
    (tmp_path / "e.csv").write_text("sequence_id,time,event\na,31.05.2024,x\na,01.06.2024,y\n")
    with pytest.raises(DataError, match=r"2 rows cannot be used:\n .*row 1: time is '31\.05\.2024'"):
        read_events(tmp_path / "e.csv", reading=DROP)


def test_only_the_first_rows_of_a_kind_are_shown():
    problems, kind = Problems("refuse"), Kind("time is", "correct it")
    problems.add(kind, "a.csv", [1, 2], ["'p'", "'q'"])
    problems.add(kind, "b.csv", [1_000, 2_000], ["'r'", "'s'"])
    with pytest.raises(
        DataError, match=r"4 rows: a\.csv, row 1: time is 'p', row 2: 'q', b\.csv, row 1,000: 'r'"
    ):
        problems.settle()


def test_many_kinds_of_problems_are_counted_only():
    problems = Problems("refuse")
    for number in range(25):
        problems.add(Kind(f"c{number} is", "correct it"), "a.csv", [1], ["0"])
    with pytest.raises(DataError, match="and 5 other kinds of problems"):
        problems.settle()


def test_a_long_value_is_cut_in_the_message(tmp_path):
    (tmp_path / "e.csv").write_text(f"sequence_id,time,event\na,{'x' * 500},x\n")
    with pytest.raises(DataError, match=r"time is 'x{79}\.\.\.; use"):
        read_events(tmp_path / "e.csv")


def test_without_problems_nothing_is_said():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Problems("refuse").settle()
        Problems("drop").settle()
    assert caught == []
