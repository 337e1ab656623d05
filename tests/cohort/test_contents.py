"""What goes into a sequence besides the recorded events, and what is left out."""

from pathlib import Path

import polars as pl
import pytest

from eventcargo import Cohort, ConfigError, DataError, EventCargoWarning
from eventcargo.cohort import CohortData, Tables, build_cohort
from eventcargo.event_kinds import EventKinds
from eventcargo.vocabulary import Vocabulary

OUTCOMES = pl.DataFrame({"sequence_id": ["a", "b"], "label": ["bad", "bad"]})
STATIC = pl.DataFrame({"sequence_id": ["b", "a"], "model": ["golf", "polo"], "site": ["n", "s"]})


def table(*rows: tuple[str, float, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["sequence_id", "time", "event"], orient="row")


def build(events: pl.DataFrame, cohort: Cohort, **more: object) -> CohortData:
    return build_cohort(cohort, Tables(events, OUTCOMES, **more))  # type: ignore[arg-type]


PLAIN = table(("a", 0.0, "x"), ("a", 1.0, "y"), ("b", 3.0, "x"))


def test_attributes_are_events_at_the_start_of_a_sequence() -> None:
    data = build(PLAIN, Cohort(index="end", adjust=("site",)), static=STATIC).data
    assert data["a"].events == ("model=polo", "site=s", "x", "y")
    assert data["b"].times == (3.0, 3.0, 3.0)
    assert data.kinds.attributes == ("model=golf", "model=polo", "site=n", "site=s")
    assert data.kinds.adjusted == ("site=n", "site=s")


def test_many_numbers_of_an_attribute_become_bands() -> None:
    events = table(*((f"s{n:02}", 0.0, "x") for n in range(40)))
    static = pl.DataFrame({"sequence_id": [f"s{n:02}" for n in range(40)], "age": range(40)})
    data = build_cohort(Cohort(index="end"), Tables(events, static=static)).data
    assert data.kinds.attributes == ("age=10 to 20", "age=20 to 29", "age=29 or more", "age=below 10")
    assert data["s09"].events == ("age=below 10", "x")
    assert data["s10"].events == ("age=10 to 20", "x")


def test_attributes_come_in_the_order_of_their_names_whatever_that_of_the_columns() -> None:
    one, other = (
        build(PLAIN, Cohort(index="end"), static=STATIC.select("sequence_id", *names)).data
        for names in (("model", "site"), ("site", "model"))
    )
    assert list(one) == list(other)


def test_few_numbers_years_and_missing_attributes() -> None:
    static = pl.DataFrame(
        {"sequence_id": ["a", "b"], "doors": ["3", " "], "built": ["2019-05-01", "2020-01-01"]}
    ).with_columns(pl.col("built").str.to_date())
    data = build(PLAIN, Cohort(index="end"), static=static).data
    assert (data["a"].events[:2], data["b"].events) == (("built=2019", "doors=3"), ("built=2020", "x"))


def test_subjects_without_attributes_are_counted_and_two_rows_refused() -> None:
    assert build(PLAIN, Cohort(index="end"), static=STATIC[:1]).summary.subjects_without_attributes == 1
    twice = pl.concat([STATIC, STATIC.with_columns(site=pl.lit("w"))])
    with pytest.raises(DataError, match="several different rows for 2 subjects, the first: 'a'"):
        build(PLAIN, Cohort(index="end"), static=twice)


def test_a_table_of_attributes_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "static.csv").write_text("sequence_id,site\n")
    with pytest.raises(DataError, match=r"static\.csv is empty; give the attributes, or leave the table out"):
        build(PLAIN, Cohort(index="end"), static=tmp_path / "static.csv")


def test_a_column_to_adjust_for_must_be_an_attribute() -> None:
    with pytest.raises(ConfigError, match="adjust='town': the static table has the columns model, site"):
        build(PLAIN, Cohort(index="end", adjust=("town",)), static=STATIC)
    with pytest.raises(ConfigError, match="adjust='site' needs attributes: give static="):
        build(PLAIN, Cohort(index="end", adjust=("site",)))


def test_an_attribute_named_like_an_event_is_refused() -> None:
    with pytest.raises(DataError, match="'site=s' is both an attribute and an event"):
        build(table(("a", 0.0, "site=s"), ("b", 0.0, "x")), Cohort(index="end"), static=STATIC)


def test_given_thresholds_are_events_in_both_directions() -> None:
    events = PLAIN.with_columns(n=pl.Series([2.5, None, 0.5]))
    data = build(events, Cohort(index="end", numeric_value="n", cut=("x=2,1",))).data
    assert data["a"].events == ("x", "x >= 1", "x >= 2", "y")
    assert data["b"].events == ("x", "x < 2", "x < 1")
    assert data.kinds.scales == (("x >= 1", "x >= 2"), ("x < 2", "x < 1"))


def test_thresholds_are_quantiles_whatever_the_labels() -> None:
    events = table(*(("a" if n % 2 else "b", float(n), "x") for n in range(101)))
    numbered = events.with_columns(n=pl.col("time"))
    data = build(numbered, Cohort(index="end", numeric_value="n")).data
    cuts = (10, 25, 50, 75, 90)
    assert data.kinds.scales == (
        tuple(f"x >= {cut}" for cut in cuts),
        tuple(f"x < {cut}" for cut in cuts[::-1]),
    )
    assert data.kinds.measured == {"x": (*data.kinds.scales[0], *data.kinds.scales[1])}
    few = build(numbered[:10], Cohort(index="end", numeric_value="n")).data
    assert few.kinds.scales == ()


def test_cuts_need_numbers_and_a_known_event_type() -> None:
    with pytest.raises(ConfigError, match="needs the numbers: give numeric_value="):
        build(PLAIN, Cohort(index="end", cut=("x=1",)))
    events = PLAIN.with_columns(n=1.0)
    with pytest.raises(ConfigError, match="there is no event type 'q'"):
        build(events, Cohort(index="end", numeric_value="n", cut=("q=1",)))


CODES = table(
    ("a", 0.0, "I50.1"), ("a", 0.0, "I50.9"), ("a", 1.0, "I50.9"), ("b", 0.0, "I50.1"), ("b", 1.0, "E11.0")
)


def test_a_family_follows_its_members_once_per_moment() -> None:
    data = build(CODES, Cohort(index="end", prefix=3)).data
    assert data["a"].events == ("I50.1", "I50", "I50.9", "I50.9", "I50")
    assert data.kinds.families == {"I50": ("I50.1", "I50.9")}
    assert data["b"].events == ("I50.1", "I50", "E11.0")  # E11 has one member, and would say the same


@pytest.mark.parametrize("form", ["list", "pairs"])
def test_families_come_from_a_table_of_parents_at_any_depth(form: str) -> None:
    parents = pl.DataFrame(
        {"code": ["I50.1", "I50.9", "I50", "E11.0"], "parent": ["I50", "I50", "all", "all"]}
    )
    if form == "list":
        parents = parents.group_by("code").agg(parent_codes="parent")
    data = build(CODES, Cohort(index="end"), parents=parents).data
    assert data.kinds.families == {"I50": ("I50.1", "I50.9"), "all": ("E11.0", "I50", "I50.1", "I50.9")}
    assert data["b"].events == ("I50.1", "I50", "all", "E11.0", "all")


def test_a_recorded_type_can_be_a_family() -> None:
    events = table(("a", 0.0, "I50"), ("a", 0.0, "I50.1"), ("a", 1.0, "I50.1"), ("b", 0.0, "x"))
    data = build(events, Cohort(index="end", prefix=3)).data
    assert data["a"].events == ("I50", "I50.1", "I50.1", "I50")


def test_a_circle_of_parents_is_refused() -> None:
    parents = pl.DataFrame({"code": ["I50.1", "I50"], "parent": ["I50", "I50.1"]})
    with pytest.raises(DataError, match="is above itself"):
        build(CODES, Cohort(index="end"), parents=parents)


def test_spellings_are_merged_and_counted() -> None:
    events = table(("a", 0.0, " Oil  low"), ("a", 1.0, "oil LOW "), ("b", 0.0, "x"))
    built = build(events, Cohort(index="end", normalise=True))
    assert (built.data["a"].events, built.summary.merged_spellings) == (("oil low", "oil low"), 1)


def test_exact_duplicates_are_dropped_and_counted_unless_kept() -> None:
    events = pl.concat([PLAIN, PLAIN[:1]])
    built = build(events, Cohort(index="end", prefix=9))
    assert (built.data["a"].events, built.summary.duplicates) == (("x", "y"), 1)
    assert build(events, Cohort(index="end", duplicates="keep")).data["a"].events == ("x", "x", "y")


def test_rows_that_differ_in_their_number_are_no_duplicates() -> None:
    events = pl.concat([PLAIN, PLAIN[:1]]).with_columns(n=pl.Series([1.0, None, 1.0, 2.0]))
    assert build(events, Cohort(index="end"), values=("n",)).summary.duplicates == 0
    assert build(events.with_columns(n=None), Cohort(index="end"), values=("n",)).summary.duplicates == 1


def test_excluded_types_are_gone_and_a_pattern_without_match_is_told() -> None:
    with pytest.warns(EventCargoWarning, match="exclude='WS:.*': no event type matches"):
        built = build(PLAIN, Cohort(index="end", exclude=("y*", "WS:*")))
    assert (built.data.event_names, built.summary.excluded) == (("x",), 1)
    with pytest.raises(ConfigError, match="no event type is left"):
        build(PLAIN, Cohort(index="end", exclude=("*",)))


def test_rare_types_are_left_out_and_counted() -> None:
    built = build(PLAIN, Cohort(index="end", min_sequences=2))
    assert built.data.event_names == ("x",)
    assert (built.summary.rare_types, built.summary.rare_events) == (1, 1)


def test_new_tables_get_the_families_thresholds_and_bands_that_are_known() -> None:
    kinds = EventKinds(
        attributes=("age=below 40", "age=40 or more"),
        families={"I5": ("I50", "I51")},
        scales=(("lab >= 2",), ("lab < 1", "lab < 0.5")),
    )
    like = Vocabulary(("I50", "I51", "I5", "lab", "lab >= 2", "age=40 or more"), kinds)
    events = pl.DataFrame(
        {"sequence_id": "a", "time": [0.0, 1.0], "event": ["I50", "lab"], "number": [None, 2.5]}
    )
    static = pl.DataFrame({"sequence_id": ["a"], "age": [50]})
    cohort = Cohort(index="end", numeric_value="number", min_sequences=2)
    data = build_cohort(cohort, Tables(events, OUTCOMES[:1], static), like=like).data
    assert data["a"].events == ("age=40 or more", "I50", "I5", "lab", "lab >= 2")


def test_what_was_rare_before_is_left_out_of_new_tables() -> None:
    like = Vocabulary(("x",))
    both = [
        build_cohort(Cohort(index="end", min_sequences=least), Tables(PLAIN, OUTCOMES), like=like).data
        for least in (1, 2)
    ]
    assert [data.event_names for data in both] == [("x", "y"), ("x",)]
