"""The regime `clinic`: causes lie before their outcomes, what is no cause does not, the truth says which."""

from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from eventcargo.config import field_help
from eventcargo.errors import ConfigError
from eventcargo.simulation import Records, simulate
from eventcargo.simulation.clinic import ClinicConfig
from eventcargo.simulation.clinic_outcomes import LOOKBACK_DAYS, OUTCOMES


@pytest.fixture(scope="module")
def clinic() -> Records:
    """Every outcome has a cause, which always acts: no outcomes at random."""
    return simulate("clinic", subjects=1_500, labels=6, base_rate=0.0, effect=1.0, seed=100)


@pytest.fixture(scope="module")
def default() -> Records:
    return simulate("clinic", subjects=1_500, seed=101)


def of(records: Records, label: str) -> pl.DataFrame:
    return (
        records.outcomes.filter(pl.col("label") == label).rename({"time": "outcome"}).with_row_index("case")
    )


def before(records: Records, label: str, days: int = LOOKBACK_DAYS) -> pl.DataFrame:
    """The events strictly before each outcome of a label, within the look-back."""
    joined = of(records, label).join(records.events, on="subject_id")
    gap = pl.col("outcome") - pl.col("time")
    return joined.filter((gap > pl.duration()) & (gap <= pl.duration(days=days)))


def share(records: Records, label: str, wanted: pl.Expr) -> float:
    """The share of outcomes with such an event in the look-back."""
    return before(records, label).filter(wanted)["case"].n_unique() / len(of(records, label))


def test_the_tables_have_their_columns_and_types(default: Records) -> None:
    assert default.events.schema == {
        "subject_id": pl.String,
        "time": pl.Datetime("us", "UTC"),
        "code": pl.String,
        "numeric_value": pl.Float64,
    }
    assert default.outcomes.columns == ["subject_id", "time", "label"]
    assert default.static.columns == ["subject_id", "sex", "age_band", "site", "ward"]
    assert default.codes.schema["parent_codes"] == pl.List(pl.String)


def test_every_kidney_injury_has_its_value_or_its_two_codes_before(clinic: Records) -> None:
    rows = before(clinic, "acute kidney injury")
    high = rows.filter((pl.col("code") == "creatinine") & (pl.col("numeric_value") >= 2.0))["case"]
    pair = [
        set(rows.filter(pl.col("code") == code)["case"])
        for code in ("MED//vancomycin", "PROC//Röntgen mit Kontrastmittel")
    ]
    assert set(high) | (pair[0] & pair[1]) == set(of(clinic, "acute kidney injury")["case"])
    assert set(high) - (pair[0] & pair[1])
    assert (pair[0] & pair[1]) - set(high)


def test_every_heart_failure_has_one_of_many_rare_family_members_before(clinic: Records) -> None:
    members = clinic.codes.filter(pl.col("parent_codes").list.contains("ICD//I50"))["code"].to_list()
    assert len(members) == 30
    assert share(clinic, "heart failure", pl.col("code").is_in(members)) == 1
    assert max(share(clinic, "heart failure", pl.col("code") == member) for member in members) < 0.1


def test_the_inhibitor_is_rare_before_its_outcome_and_common_elsewhere(clinic: Records) -> None:
    inhibitor = pl.col("code") == "MED//spironolactone"
    assert share(clinic, "heart failure", inhibitor) < 0.15
    assert share(clinic, "fall", inhibitor) > 0.35


def test_the_attribute_is_common_among_its_outcomes(clinic: Records) -> None:
    old = pl.col("age_band") == "80+"
    falls = of(clinic, "fall").join(clinic.static, on="subject_id")
    assert falls.select(old.mean()).item() > 0.6 > 0.3 > clinic.static.select(old.mean()).item()


def test_every_sepsis_has_the_catheter_before_the_infection(clinic: Records) -> None:
    rows = before(clinic, "sepsis")
    first = rows.filter(pl.col("code") == "PROC//urinary catheter").group_by("case").agg(pl.col("time").min())
    last = rows.filter(pl.col("code") == "ICD//N39.0").group_by("case").agg(pl.col("time").max())
    both = of(clinic, "sepsis").join(first, on="case").join(last, on="case", suffix="_last")
    assert len(both) == len(of(clinic, "sepsis")) > 50
    assert both.select((pl.col("time") < pl.col("time_last")).all()).item()


def test_the_infection_before_the_catheter_is_no_cause() -> None:
    records = simulate("clinic", subjects=1_500, base_rate=0.0, effect=1.0, seed=100)
    alone = {"PROC//urinary catheter", "ICD//N39.0"}
    assert set(records.truth.boundary("sepsis")) == alone
    catheters, infections = (
        records.events.filter(pl.col("code") == code).select("subject_id", "time")
        for code in sorted(alone, reverse=True)
    )
    pairs = infections.join(catheters, on="subject_id", suffix="_catheter")
    reverse = pairs.filter(
        (pl.col("time") < pl.col("time_catheter"))
        & (pl.col("time_catheter") - pl.col("time") < pl.duration(days=15))
    )
    assert len(reverse) > 100


def test_causes_lie_at_least_an_hour_and_at_most_ten_days_before(clinic: Records) -> None:
    rows = before(clinic, "fall").filter(pl.col("code") == "MED//lorazepam")
    gaps = rows.group_by("case").agg(((pl.col("outcome") - pl.col("time")).dt.total_seconds() / 3600).min())
    assert gaps["outcome"].min() >= 1
    assert gaps["outcome"].max() <= 240


def test_the_site_changes_the_rate_of_the_outcome_and_of_the_spurious_code(default: Records) -> None:
    by_site = default.static.select("subject_id", "site")
    transfers = default.events.filter(pl.col("code").is_in(default.spurious["sepsis"])).join(
        by_site, on="subject_id"
    )
    cases = of(default, "sepsis").join(by_site, on="subject_id")
    for rows in (transfers, cases):
        assert rows.select((pl.col("site") == "north").mean()).item() > 0.6
    assert default.read_with["adjust"] == ["site"]


@pytest.mark.parametrize("outcome", OUTCOMES[:4], ids=lambda outcome: outcome.name)
def test_records_of_an_outcome_come_at_it_or_after_it(default: Records, outcome: object) -> None:
    label = outcome.name  # type: ignore[attr-defined]
    for number, code in enumerate(default.post_outcome[label]):
        written = default.events.filter(pl.col("code") == code).sort("time")
        cases = default.outcomes.filter(pl.col("label") == label).sort("time").with_columns(outcome="time")
        matched = written.join_asof(cases, on="time", by="subject_id", strategy="backward")
        gap = (pl.col("time") - pl.col("outcome")).dt.total_seconds()
        assert matched.select((gap <= 2 * 86_400).fill_null(False).mean()).item() > 0.95
        at_once = matched.select((gap == 0).fill_null(False).mean()).item()
        assert at_once > 0.6 if number == 0 else at_once < 0.05


def test_no_truth_names_a_record_of_an_outcome_or_a_spurious_code(clinic: Records) -> None:
    for label, events in clinic.truth.boundaries.items():
        assert events
        assert not set(events) & {*clinic.post_outcome[label], *clinic.spurious[label]}


def test_companions_follow_their_cause_within_the_hour(default: Records) -> None:
    companions = default.events.filter(pl.col("code") == "NURSE//sedation chart").sort("time")
    leaders = default.events.filter(pl.col("code") == "MED//lorazepam").sort("time").with_columns(lead="time")
    matched = companions.join_asof(leaders, on="time", by="subject_id", tolerance="50m")
    assert 0.4 < matched.select(pl.col("lead").is_not_null().mean()).item() < 0.8


def test_growing_codes_come_late_and_winter_codes_in_winter(default: Records) -> None:
    span = pl.col("time").max().over("subject_id") - pl.col("time").min().over("subject_id")
    place = (pl.col("time") - pl.col("time").min().over("subject_id")) / span
    placed = default.events.with_columns(place=place)
    assert placed.filter(pl.col("code") == "ADMIN//invoice")["place"].mean() > 0.6  # type: ignore[operator]
    months = default.events.filter(pl.col("code") == "ICD//J10.1")["time"].dt.month()
    assert months.is_in([11, 12, 1, 2]).mean() > 3 * months.is_in([5, 6, 7, 8]).mean()  # type: ignore[operator]


def test_a_tenth_of_the_values_is_beyond_each_threshold(default: Records) -> None:
    for code, cut in (
        ("creatinine", pl.col("numeric_value") >= 2.0),
        ("potassium", pl.col("numeric_value") < 3.0),
    ):
        values = default.events.filter(pl.col("code") == code)
        assert values["numeric_value"].null_count() == 0
        assert 0.07 < values.select(cut.mean()).item() < 0.13
    assert default.events["numeric_value"].null_count() > 0.8 * len(default.events)


def test_every_code_and_every_parent_is_described(default: Records) -> None:
    known = set(default.codes["code"])
    assert set(default.events["code"]) <= known
    assert set(default.codes["parent_codes"].explode().drop_nulls()) <= known
    assert default.codes.filter(pl.col("code") == "ICD//I50")["parent_codes"][0].to_list() == ["ICD//I"]


def test_some_subjects_have_several_outcomes_and_most_have_none_of_a_label(default: Records) -> None:
    counts = default.outcomes.group_by("subject_id", "label").len()
    assert counts["len"].max() > 1  # type: ignore[operator]
    assert len(counts.filter(pl.col("label") == "fall")) < len(default.static) / 3


def test_without_causes_every_boundary_is_empty_and_outcomes_are_as_many_at_every_site() -> None:
    records = simulate("clinic", subjects=400, labels=10, no_cause=True, seed=100)
    assert len(records.truth) == 0
    assert min(records.truth.support.values()) > 60
    by_site = records.outcomes.join(records.static, on="subject_id")["site"].value_counts()["count"]
    assert by_site.max() < 1.5 * by_site.min()  # type: ignore[operator]
    assert records.spurious["sepsis"] == ()


def test_without_causes_no_cause_is_more_frequent_before_its_outcome() -> None:
    records = simulate("clinic", subjects=1_500, labels=1, no_cause=True, seed=100)
    high = (pl.col("code") == "creatinine") & (pl.col("numeric_value") >= 2.0)
    assert share(records, "acute kidney injury", high) < 0.05


def test_labels_beyond_the_catalogue_happen_at_random() -> None:
    records = simulate("clinic", subjects=50, labels=8)
    assert records.truth.boundary("outcome 08") == []
    assert records.rules["outcome 08"] == "at random"


def test_no_records_of_outcomes_if_none_are_wanted() -> None:
    records = simulate("clinic", subjects=200, record_share=0.0)
    written = {name for names in records.post_outcome.values() for name in names}
    assert not written & set(records.events["code"])


def test_the_same_seed_gives_the_same_tables_and_another_seed_others(default: Records) -> None:
    again = simulate("clinic", seed=default.seed, **default.settings)
    other = simulate("clinic", seed=5, **default.settings)
    assert again.events.equals(default.events)
    assert again.outcomes.equals(default.outcomes)
    assert not other.outcomes.equals(default.outcomes)


def test_subjects_have_months_to_years_of_history(default: Records) -> None:
    spans = default.events.group_by("subject_id").agg(pl.col("time").max() - pl.col("time").min())["time"]
    days = spans.dt.total_days().to_numpy()
    assert np.quantile(days, 0.05) > 100
    assert 900 < days.max() <= 1_095


def test_a_rule_names_every_member_of_its_boundary(clinic: Records) -> None:
    for label, events in clinic.truth.boundaries.items():
        assert all(event in clinic.rules[label] for event in events)


def test_every_setting_has_a_help_string() -> None:
    assert list(field_help(ClinicConfig)) == [field.name for field in fields(ClinicConfig)]


def test_the_longest_history_is_not_shorter_than_the_shortest() -> None:
    with pytest.raises(ConfigError, match="days_max=100: use a whole number of at least 180"):
        ClinicConfig(days_max=100)


def test_raw_records_have_subjects_and_no_sequences() -> None:
    with pytest.raises(ConfigError, match="clinic has no setting 'sequences'; use subjects, codes"):
        simulate("clinic", sequences=5)
