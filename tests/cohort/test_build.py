import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from eventcargo import Cohort, ConfigError, DataError, EventCargoWarning, EventDataset, ReadConfig
from eventcargo.cohort import CohortData, Tables, build_cohort

from .worlds import World

EVENTS = pl.DataFrame(
    [
        ("a", 0.0, "x"),
        ("a", 5.0, "y"),
        ("a", 8.0, "z"),
        ("a", 9.0, "repair"),
        ("b", 0.0, "x"),
        ("b", 4.0, "x"),
        ("b", 20.0, "z"),
        ("c", 1.0, "x"),
        ("c", 30.0, "y"),
    ],
    ["sequence_id", "time", "event"],
    orient="row",
)
OUTCOMES = pl.DataFrame([("a", 8.0, "bad")], ["sequence_id", "when", "label"], orient="row")


def build(cohort: Cohort, events: object = EVENTS, outcomes: object = OUTCOMES, **more: object) -> CohortData:
    return build_cohort(cohort, Tables(events, outcomes, **more))  # type: ignore[arg-type]


def test_a_case_ends_strictly_before_its_outcome() -> None:
    built = build(Cohort(label_time="when"))
    assert built.data["a@8"].events == ("x", "y")
    assert (built.summary.same_instant, built.summary.cases) == (1, 1)


def test_controls_are_as_long_after_the_start_of_their_history() -> None:
    index = build(Cohort(label_time="when")).index.filter(~pl.col("case"))
    assert index.select("subject", "time").rows() == [("b", 8.0), ("c", 9.0)]


def test_every_event_read_is_counted_once() -> None:
    events = pl.concat([EVENTS, EVENTS[:2], pl.DataFrame({"sequence_id": "d", "time": 0.0, "event": "WS:1"})])
    found = build(Cohort(label_time="when", lookback="4", gap="1", exclude=("WS:*",)), events).summary
    counted = ("events_used", "after_index", "same_instant", "in_gap", "before_lookback", "no_index")
    total = sum(getattr(found, name) for name in (*counted, "excluded", "duplicates", "without_time"))
    assert (total, found.duplicates, found.excluded) == (found.events_read, 2, 1)


def test_events_in_the_gap_and_before_the_look_back_are_left_out_and_counted() -> None:
    events = pl.DataFrame({"sequence_id": "a", "time": [1.0, 4.0, 5.0, 7.0, 8.0], "event": list("vwxyz")})
    found = build(Cohort(label_time="when", lookback="4", gap="1", controls=0), events)
    assert found.data[0].events == ("w", "x")
    assert (found.summary.in_gap, found.summary.before_lookback, found.summary.same_instant) == (1, 1, 1)


def test_a_look_back_may_be_a_number_of_events() -> None:
    built = build(Cohort(label_time="when", lookback="1 event", controls=0))
    assert built.data["a@8"].events == ("y",)


def test_labels_within_the_horizon_belong_to_an_index() -> None:
    outcomes = pl.concat([OUTCOMES, OUTCOMES.with_columns(when=10.0, label=pl.lit("worse"))])
    data = build(Cohort(label_time="when", horizon="2", controls=0), outcomes=outcomes).data
    assert [sequence.labels for sequence in data] == [("bad", "worse"), ("worse",)]


def test_no_control_has_an_outcome_within_the_horizon() -> None:
    outcomes = pl.concat([OUTCOMES, OUTCOMES.with_columns(sequence_id=pl.lit("b"), when=9.0)])
    data = build(Cohort(label_time="when", horizon="2", controls=5), outcomes=outcomes)
    assert set(data.index.filter(~pl.col("case"))["subject"]) == {"c"}


def test_the_sequences_of_a_subject_are_one_group() -> None:
    outcomes = pl.concat([OUTCOMES, OUTCOMES.with_columns(when=9.5)])
    data = build(Cohort(label_time="when"), outcomes=outcomes).data
    assert data.groups is not None
    subjects = [name.split("@")[0] for name in data.sequence_ids.to_pylist()]
    pairs = set(zip(subjects, data.groups.tolist(), strict=True))
    assert len(pairs) == len(set(subjects)) == 3


def test_the_order_of_rows_changes_nothing() -> None:
    cohort = Cohort(label_time="when", seed=3)
    tables = World(unequal=True, terminal=True).tables(0)
    shuffled = [table.sample(fraction=1, shuffle=True, seed=1) for table in tables]
    assert build(cohort, *shuffled).data.fingerprint == build(cohort, *tables).data.fingerprint


def test_the_size_of_parts_and_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    events, outcomes = World(unequal=True, terminal=True).tables(0)
    events = events.sort("time")  # most subjects first appear in a later chunk
    cohort = Cohort(label_time="when", lookback="20d", min_sequences=2)
    whole = build(cohort, events, outcomes)
    for name, value in (("recording.PART_ROWS", 100), ("recording.CHUNK", 150), ("spool.CHUNK", 300)):
        monkeypatch.setattr(f"eventcargo.cohort.{name}", value)
    monkeypatch.setattr("eventcargo.io.sources.BATCH_ROWS", 64)
    parts = build(cohort, events, outcomes)
    assert parts.data.fingerprint == whole.data.fingerprint
    assert (parts.summary, parts.timing.rows()) == (whole.summary, whole.timing.rows())


DATED = World(subjects=40)


@pytest.mark.parametrize(
    "make",
    [
        pl.DataFrame.clone,
        pl.DataFrame.lazy,
        pl.DataFrame.to_pandas,
        pl.DataFrame.to_arrow,
        lambda table: table.to_arrow().to_reader(),
    ],
    ids=["polars", "lazy", "pandas", "arrow", "reader"],
)
def test_every_kind_of_table_gives_the_same_data_set(make: Callable[[pl.DataFrame], object]) -> None:
    """Events with dates and numbers, outcomes, attributes and families, all tables of one kind."""
    events, outcomes = DATED.tables(seed=3)
    events = events.with_columns(number=pl.int_range(pl.len()).cast(pl.Float64) % 50)
    subjects = events["sequence_id"].unique().sort()
    static = pl.DataFrame({"sequence_id": subjects, "age": range(len(subjects)), "site": ["n", "s"] * 20})
    parents = pl.DataFrame({"code": ["e0", "e1", "e2"], "parent": "e"})
    cohort = Cohort(label_time="when", lookback="20d", numeric_value="number", adjust=("site",))
    own, made = (
        cohort.build(*map(kind, (events, outcomes)), static=kind(static), parents=kind(parents))
        for kind in (pl.DataFrame.clone, make)
    )
    assert (made.fingerprint, made.kinds) == (own.fingerprint, own.kinds)
    assert made.kinds.families
    assert made.kinds.attributes


DUCKDB = """
import duckdb, sys
from eventcargo import Cohort
events, outcomes = (duckdb.read_parquet(path) for path in sys.argv[1:])
print(Cohort(label_time="when", lookback="20d").build(events, outcomes).fingerprint)
"""


def test_relations_of_duckdb_give_the_same_data_set(tmp_path: Path) -> None:
    tables, files = DATED.tables(seed=3), [tmp_path / "events.parquet", tmp_path / "outcomes.parquet"]
    for table, file in zip(tables, files, strict=True):
        table.write_parquet(file)
    command = [sys.executable, "-c", DUCKDB, *map(str, files)]  # DuckDB speaks up where a process ends
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    own = Cohort(label_time="when", lookback="20d").build(*tables)
    assert done.stdout.strip() == own.fingerprint, done.stderr


WIDE = pl.DataFrame(
    {"sequence_id": ["a", "a", "b"], "when": [8.0, 9.5, 4.0], "bad": [1, 0, 0], "worse": [0, 1, 0], "none": 0}
)


def test_each_1_of_a_wide_table_is_an_outcome_at_its_time() -> None:
    cohort = Cohort(label_time="when", controls=0)
    rows = [("a", 8.0, "bad"), ("a", 9.5, "worse")]
    long = pl.DataFrame(rows, ["sequence_id", "when", "label"], orient="row")
    wide, same = (build(cohort, outcomes=table).data for table in (WIDE, long))
    assert wide.fingerprint == same.fingerprint
    assert wide["a@9.5"].labels == ("worse",)


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        (
            WIDE.with_columns(bad=pl.lit(2)),
            "label 'bad' is 2, row 2: 2, row 3: 2; a wide table holds 0 and 1",
        ),
        (WIDE.with_columns(bad=0, worse=0), "holds no outcome: no column of a label has a 1"),
        (
            WIDE.select("sequence_id", "when"),
            "only the columns when, sequence_id; add a column for each label",
        ),
        (OUTCOMES.rename({"label": "Schaden"}), "did you mean label='Schaden'"),
    ],
)
def test_wide_outcomes_that_cannot_be_read_are_refused(outcomes: pl.DataFrame, said: str) -> None:
    with pytest.raises(DataError, match=said):
        build(Cohort(label_time="when"), outcomes=outcomes)


@pytest.mark.parametrize("date", ["2024-01-31", "31.01.2024 10:30", "1/31/2024", "2024/01/31 10:30"])
def test_dates_of_outcomes_are_seen_in_any_notation_and_beside_unusable_ones(date: str) -> None:
    outcomes = pl.DataFrame(
        {"sequence_id": ["a", "b", "c"], "label": "bad", "Failed on": [date, date, "unknown"]}
    )
    with pytest.raises(DataError, match="has dates in 'Failed on': give label_time='Failed on'"):
        build(Cohort(lookback="5"), outcomes=outcomes)


def test_dates_of_a_wide_table_are_not_ignored() -> None:
    dated = WIDE.with_columns(when=pl.lit("2024-01-01"))
    with pytest.raises(DataError, match="has dates in 'when': give label_time='when'"):
        build(Cohort(lookback="5"), outcomes=dated)


def test_bad_rows_of_labels_without_times_can_be_dropped() -> None:
    outcomes = pl.DataFrame({"sequence_id": ["a", None], "label": ["bad", "bad"]})
    drop = ReadConfig(on_bad_row="drop")
    with pytest.warns(EventCargoWarning, match="dropped 1 row that cannot be used"):
        assert build(Cohort(prefix=1), outcomes=outcomes, reading=drop).data["a"].labels == ("bad",)
    with pytest.raises(DataError, match="drop it with on_bad_row='drop'"):
        build(Cohort(prefix=1), outcomes=outcomes)


def test_dates_with_and_without_zone_meet() -> None:
    events = pl.DataFrame(
        {"sequence_id": "a", "time": ["2024-01-01T00:00:00", "2024-01-01T10:00:00"], "event": ["x", "y"]}
    )
    outcomes = pl.DataFrame({"sequence_id": "a", "when": ["2024-01-01T10:00:00+02:00"], "label": "bad"})
    data = build(Cohort(label_time="when", controls=0), events, outcomes).data
    assert data["a@2024-01-01T08:00:00"].events == ("x",)


def test_times_of_two_kinds_are_refused() -> None:
    outcomes = pl.DataFrame({"sequence_id": "a", "when": ["2024-01-01"], "label": "bad"})
    with pytest.raises(DataError, match="'when' of the labels holds dates, but the times of the events are"):
        build(Cohort(label_time="when"), outcomes=outcomes)


def test_outcomes_of_unknown_subjects_are_counted_and_all_unknown_refused() -> None:
    other = OUTCOMES.with_columns(sequence_id=pl.lit("nobody"))
    built = build(Cohort(label_time="when"), outcomes=pl.concat([OUTCOMES, other]))
    assert built.summary.outcomes_without_events == 1
    with pytest.raises(DataError, match="none of 1 outcome is of a subject with events"):
        build(Cohort(label_time="when"), outcomes=other)


def test_tables_of_outcomes_are_joined() -> None:
    other = OUTCOMES.with_columns(sequence_id=pl.lit("b"), when=10.0)
    built = build(Cohort(label_time="when"), outcomes=[OUTCOMES, other])
    assert built.summary.cases == 2


def test_empty_cases_and_controls_are_left_out_and_counted() -> None:
    events = EVENTS.filter((pl.col("sequence_id") != "b") | (pl.col("time") != 4))
    outcomes = pl.concat([OUTCOMES, OUTCOMES.with_columns(sequence_id=pl.lit("c"), when=20.0)])
    found = build(Cohort(label_time="when", lookback="4"), events, outcomes).summary
    assert (found.cases, found.controls, found.empty_cases, found.empty_controls) == (1, 0, 1, 3)


def test_a_cohort_without_any_event_is_refused() -> None:
    with pytest.raises(DataError, match="no sequence has an event before its index time"):
        build(Cohort(label_time="when", lookback="1", controls=0))


def test_whole_histories_with_events_after_the_outcome_are_refused_with_the_count() -> None:
    with pytest.raises(DataError, match="1 subject of 1 with an outcome have events at or after it"):
        build(Cohort(index="end", label_time="when"))


def test_whole_histories_keep_their_labels_without_times() -> None:
    data = build(Cohort(index="end"), outcomes=OUTCOMES.select("sequence_id", "label")).data
    assert (data["a"].labels, data["a"].events, data.groups) == (("bad",), ("x", "y", "z", "repair"), None)


def test_tables_of_labels_without_times_are_joined_under_their_names() -> None:
    tables = [
        pl.DataFrame({"sequence_id": ["a", "b"], "label": ["worse", "bad"]}),
        pl.DataFrame({"sequence_id": ["a"], "label": ["awful"]}),
    ]
    data = build(Cohort(index="end", prefix=9), outcomes=tables).data
    assert data.label_names == ("awful", "bad", "worse")
    assert [sequence.labels for sequence in data] == [("awful", "worse"), ("bad",), ()]


def test_the_look_back_of_a_whole_history_is_counted_from_its_last_event() -> None:
    built = build(Cohort(index="end", lookback="4"), outcomes=None)
    assert built.data["a"].events == ("y", "z", "repair")
    assert built.summary.before_lookback == 4


def test_events_without_times_have_their_order() -> None:
    events = EVENTS.drop("time").with_columns(event=pl.col("event").str.to_uppercase())
    data = build(Cohort(index="end", normalise=True), events, outcomes=None).data
    assert (data.time_kind, data["b"].events, data["b"].times) == ("order", ("x", "x", "z"), (0.0, 1.0, 2.0))
    with pytest.raises(DataError, match="the events have no column 'time'; a cohort needs their times"):
        build(Cohort(label_time="when"), events)


@pytest.mark.parametrize("when", [["2024-05-01"], [pl.date(2024, 5, 1)]])
def test_dates_of_labels_are_never_ignored(when: list[object]) -> None:
    labels = pl.DataFrame({"sequence_id": ["a"], "label": ["bad"]}).with_columns(
        day=when[0] if isinstance(when[0], pl.Expr) else pl.Series(when)
    )
    with pytest.raises(DataError, match="has dates in 'day': give label_time='day'"):
        build(Cohort(prefix=1), outcomes=labels)
    assert len(build(Cohort(prefix=1, index="end"), outcomes=labels).data) == 3


def test_event_types_can_be_outcomes() -> None:
    with pytest.warns(EventCargoWarning, match="label 'repair' is also an event type"):
        built = build(Cohort(outcomes=("rep*",), controls=0), outcomes=None)
    assert built.data["a@9"].labels == ("repair",)
    with pytest.raises(ConfigError, match="no event type matches"):
        build(Cohort(outcomes=("nothing",)), outcomes=None)


def test_timing_counts_events_before_at_and_after_the_first_outcome() -> None:
    timing = build(Cohort(label_time="when")).timing
    assert timing.rows() == [
        ("bad", "repair", 0, 0, 1),
        ("bad", "x", 1, 0, 0),
        ("bad", "y", 1, 0, 0),
        ("bad", "z", 0, 1, 0),
    ]


def test_timing_is_that_of_the_first_outcome_of_a_label() -> None:
    outcomes = pl.concat([OUTCOMES, OUTCOMES.with_columns(when=20.0)])
    timing = build(Cohort(label_time="when"), outcomes=outcomes).timing
    assert timing.filter(event="repair").rows() == [("bad", "repair", 0, 0, 1)]


def test_timing_counts_a_subject_once_by_its_first_event() -> None:
    events = pl.concat([EVENTS, pl.DataFrame({"sequence_id": "a", "time": 30.0, "event": "x"})])
    timing = build(Cohort(label_time="when"), events).timing
    assert timing.filter(event="x").rows() == [("bad", "x", 1, 0, 0)]


def test_timing_counts_families_and_thresholds() -> None:
    events = EVENTS.with_columns(number=pl.Series(range(len(EVENTS))).cast(pl.Float64))
    cohort = Cohort(label_time="when", prefix=2, numeric_value="number", cut=("repair=0",))
    timing = build(cohort, events).timing
    assert timing.filter(event="repair >= 0").rows() == [("bad", "repair >= 0", 0, 0, 1)]


def test_one_label_can_be_looked_at_alone() -> None:
    outcomes = pl.concat([OUTCOMES, OUTCOMES.with_columns(label=pl.lit("worse"), when=9.5)])
    built = build(Cohort(label_time="when", only=("worse",), controls=0), outcomes=outcomes)
    assert built.data.label_names == ("worse",)
    assert built.data.sequence_ids.to_pylist() == ["a@9.5"]
    with pytest.raises(ConfigError, match="no such label; use bad, worse"):
        build(Cohort(label_time="when", only=("good",)), outcomes=outcomes)


def test_no_sequence_ends_within_the_washout_after_an_outcome() -> None:
    outcomes = pl.concat([OUTCOMES.with_columns(when=pl.lit(when)) for when in (8.0, 8.5, 20.0)])
    built = build(Cohort(label_time="when", washout="10", controls=0), outcomes=outcomes)
    assert built.index["time"].to_list() == [8.0, 20.0]


def test_controls_are_no_nearer_to_an_outcome_than_the_washout() -> None:
    events, outcomes = World(recurrent=True).tables(3)
    index = build(Cohort(label_time="when", washout="30d"), events, outcomes).index
    index = index.with_columns(pl.col("time").dt.replace_time_zone(None))
    by_subject = dict(outcomes.group_by("sequence_id").agg("when").iter_rows())
    gaps = [
        time - before
        for subject, time in index.select("subject", "time").iter_rows()
        for before in by_subject.get(subject, [])
        if before < time
    ]
    assert len(gaps) > 20
    assert min(gaps) > timedelta(days=30)


def test_a_group_is_a_column_that_is_the_same_for_all_events_of_a_subject() -> None:
    events = EVENTS.with_columns(site=pl.col("sequence_id").replace({"a": "n", "b": "s", "c": "s"}))
    data = build(Cohort(label_time="when", group="site"), events).data
    assert data.groups is not None
    assert data.groups.tolist() == [0, 1, 1]
    with pytest.raises(DataError, match=r"1 subject in several groups of 'site', the first: 'a'"):
        build(
            Cohort(label_time="when", group="site"),
            events.with_columns(site=pl.col("event")).filter(pl.col("sequence_id") == "a"),
        )
    with pytest.raises(ConfigError, match="group='town': neither the events nor the static table"):
        build(Cohort(label_time="when", group="town"))


def test_values_stay_with_their_events() -> None:
    events = EVENTS.with_columns(km=pl.col("time") * 2)
    data = build(Cohort(label_time="when", controls=0), events, values=("km",)).data
    assert (data.value_names, data["a@8"].values) == (("km",), ((0.0,), (10.0,)))


def test_a_cohort_written_to_a_folder_is_the_same_data_set(tmp_path: object) -> None:
    cohort = Cohort(label_time="when")
    built = build_cohort(cohort, Tables(EVENTS, OUTCOMES), f"{tmp_path}/data")
    assert EventDataset.load(f"{tmp_path}/data").fingerprint == build(cohort).data.fingerprint
    assert pl.read_parquet(f"{tmp_path}/data/index.parquet").rows() == built.index.rows()
