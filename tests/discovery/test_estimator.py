from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline

from eventcargo import Cohort, ConfigError, DataError, EventCargoWarning, EventDataset
from eventcargo.discovery import Cargo
from eventcargo.discovery.notebook import found_html
from eventcargo.prediction import mean_pseudo_r2
from eventcargo.simulation import Simulated, simulate

SETTINGS = {"preset": "fast", "steps": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def chain() -> Simulated:
    return simulate("chain", sequences=400, labels=2, event_types=30, seed=103)


@pytest.fixture(scope="module")
def fitted(chain: Simulated) -> Cargo:
    return Cargo(**SETTINGS).fit(chain.data)


def test_the_true_causes_are_found(chain: Simulated, fitted: Cargo) -> None:
    assert fitted.score(chain.truth) == 1.0


def test_probabilities_have_a_row_for_each_sequence_and_a_column_for_each_label(
    chain: Simulated, fitted: Cargo
) -> None:
    found = fitted.predict_proba(chain.data[:7])
    assert found.columns == ["sequence_id", "L000", "L001"]
    assert found["sequence_id"].to_list() == [sequence.id for sequence in chain.data[:7]]
    assert found["L000"].is_between(0, 1).all()


def test_one_sequence_is_explained(chain: Simulated, fitted: Cargo) -> None:
    sequence = next(sequence for sequence in chain.data if "L000" in sequence.labels)
    causes = fitted.explain(sequence).causes("L000", min_strength=0.2)["event"]
    assert set(causes) <= set(chain.truth.boundary("L000"))


def test_the_edges_of_single_sequences_are_at_hand(fitted: Cargo) -> None:
    assert set(fitted.edges_.edges["label"]) == {"L000", "L001"}


def test_what_was_saved_is_loaded(chain: Simulated, fitted: Cargo, tmp_path: Path) -> None:
    fitted.save(tmp_path / "saved")
    loaded = Cargo.load(tmp_path / "saved")
    assert loaded.graph_.edges.equals(fitted.graph_.edges)
    assert loaded.predict_proba(chain.data).equals(fitted.predict_proba(chain.data))
    assert loaded.get_params()["preset"] == "fast"


def test_without_time_for_a_model_there_is_none(
    chain: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eventcargo.discovery.schedule.LOADING", 3600.0)
    with pytest.warns(EventCargoWarning, match=r"no model was fitted.*\(L001, L000\)"):
        cargo = Cargo().fit(chain.data)
    assert cargo.model_ is None
    cargo.save(tmp_path / "saved")
    for one in (cargo, Cargo.load(tmp_path / "saved")):
        assert one.score(chain.truth) == 1.0
        with pytest.raises(ConfigError, match=r"no time to fit a model.* max_time="):
            one.predict_proba(chain.data)
        with pytest.raises(ConfigError, match="no time to fit a model"):
            _ = one.edges_


def test_a_report_is_written(chain: Simulated, fitted: Cargo, tmp_path: Path) -> None:
    fitted.write_report(tmp_path / "report.html")
    assert b"L001" in (tmp_path / "report.html").read_bytes()


def test_a_loaded_estimator_asks_for_data_to_report(fitted: Cargo, tmp_path: Path) -> None:
    fitted.save(tmp_path / "saved")
    with pytest.raises(ConfigError, match="give data="):
        Cargo.load(tmp_path / "saved").write_report(tmp_path / "report.html")


def test_a_model_from_elsewhere_is_used(chain: Simulated, fitted: Cargo) -> None:
    cargo = Cargo(fitted.model_, **SETTINGS).fit(chain.data)
    assert cargo.graph_.boundaries == fitted.graph_.boundaries


def test_a_clone_keeps_the_model_and_does_not_train(chain: Simulated, fitted: Cargo) -> None:
    cargo = clone(Cargo(fitted.model_, **SETTINGS), safe=False)
    assert cargo.get_params()["model"] is not None
    with patch("eventcargo.models.training.trainer.train", side_effect=AssertionError("trained")):
        assert cargo.fit(chain.data).graph_.boundaries == fitted.graph_.boundaries


def test_tables_are_read_with_their_own_names_of_columns(chain: Simulated) -> None:
    events = pl.DataFrame(
        [(s.id, time, name) for s in chain.data for time, name in zip(s.times, s.events, strict=True)],
        schema=["vin", "when", "code"],
        orient="row",
    )
    labels = pl.DataFrame(
        [(s.id, name) for s in chain.data for name in s.labels], schema=["vin", "label"], orient="row"
    )
    cargo = Cargo(**SETTINGS).fit(events, labels, sequence_id="vin", time="when", event="code")
    assert cargo.score(chain.truth) == 1.0


def test_a_clone_has_the_settings_and_is_not_fitted(fitted: Cargo) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError, match="call fit first"):
        copy.explain(None)


def test_the_same_seed_gives_the_same_graph(chain: Simulated, fitted: Cargo) -> None:
    assert Cargo(**SETTINGS).fit(chain.data).graph_.edges.equals(fitted.graph_.edges)


def test_a_data_set_brings_its_labels(chain: Simulated) -> None:
    with pytest.raises(ConfigError, match="has its labels"):
        Cargo(**SETTINGS).fit(chain.data, "labels.csv")


def test_bad_settings_are_told_by_fit_not_before(chain: Simulated) -> None:
    cargo = Cargo(preset="best")
    with pytest.raises(ConfigError, match="'best'"):
        cargo.fit(chain.data)


def test_an_empty_data_set_is_refused() -> None:
    with pytest.raises(Exception, match="no labels"):
        Cargo(**SETTINGS).fit(EventDataset.from_sequences([]))


NAMES = {"sequence_id": "vin", "time": "seen", "event": "code"}


def garage(seed: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Events, failures and vehicles: oil above 5 bar breaks a pump within two days, and is then measured."""
    random = np.random.default_rng(seed)
    events, failures = [], []
    for number in range(300):
        name, times = f"V{number:03}", np.sort(random.uniform(0, 100, 25))
        codes, bars = random.integers(0, 6, len(times)), random.uniform(0, 6, len(times)).round(2)
        events += [(name, t, f"P{c}", b) for t, c, b in zip(times, codes, bars, strict=True)]
        high = times[(codes == 2) & (bars >= 5)]
        if len(high):
            failures.append((name, high[0] + random.uniform(0, 2), "pump"))
            events.append((name, failures[-1][1] + 0.1, "WS:pump replaced", 0.0))
    ages = random.uniform(1, 20, 300).round(1)
    static = pl.DataFrame({"vin": [f"V{number:03}" for number in range(300)], "age": ages})
    return (
        pl.DataFrame(events, ["vin", "seen", "code", "bar"], orient="row"),
        pl.DataFrame(failures, ["vin", "when", "label"], orient="row"),
        static,
    )


COHORT = Cohort(label_time="when", lookback="10", numeric_value="bar", min_sequences=5, seed=1)


@pytest.fixture(scope="module")
def of_cohort() -> Cargo:
    events, failures, static = garage(1)
    columns = {f"cargo__{name}": value for name, value in {**NAMES, "static": static}.items()}
    pipeline = Pipeline([("cargo", Cargo(cohort=COHORT, **SETTINGS))]).fit(events, failures, **columns)
    cargo: Cargo = pipeline[-1]
    return cargo


def test_a_cohort_is_cut_out_of_tables_with_dates(of_cohort: Cargo) -> None:
    boundary = of_cohort.graph_.boundary("pump")
    assert all(name.startswith("P2 >= ") for name in boundary)
    assert boundary


def test_new_tables_are_cut_as_those_of_fit(of_cohort: Cargo, tmp_path: Path) -> None:
    events, failures, static = garage(2)
    data = of_cohort.read(events, failures, static=static, **NAMES)
    made = {name for name in data.event_names if " " in name or "=" in name}
    assert made <= set(of_cohort.model_.vocabulary.event_names)
    assert {name for name in made if name.startswith("age=")} == {
        name for name in of_cohort.model_.vocabulary.event_names if name.startswith("age=")
    }
    assert {len(sequence.labels) for sequence in data} == {0, 1}
    of_cohort.save(tmp_path / "saved")
    loaded = Cargo.load(tmp_path / "saved")
    assert loaded.cohort == COHORT
    assert loaded.read(events, failures, static=static, **NAMES).fingerprint == data.fingerprint
    told = [cargo.predict_proba(events, failures, static=static, **NAMES) for cargo in (of_cohort, loaded)]
    assert told[0].equals(told[1])
    assert told[0]["sequence_id"].to_list() == data.sequence_ids.to_pylist()


def test_histories_without_outcomes_end_with_their_last_event(of_cohort: Cargo) -> None:
    events, _, static = garage(2)
    told = of_cohort.predict_proba(events, static=static, **NAMES)
    assert told["sequence_id"].to_list() == sorted(events["vin"].unique())
    data = of_cohort.read(events, static=static, **NAMES)
    assert max(times[-1] - times[0] for times in (sequence.times for sequence in data)) <= 10


def test_a_sequence_of_new_tables_is_explained(of_cohort: Cargo) -> None:
    events, failures, static = garage(2)
    data = of_cohort.read(events, failures, static=static, **NAMES)
    cause = of_cohort.graph_.boundary("pump")[0]
    broken = next(sequence for sequence in data if sequence.labels and cause in sequence.events)
    assert cause in of_cohort.explain(broken).causes("pump")["event"]


def test_the_cohort_is_kept_with_the_run(of_cohort: Cargo, tmp_path: Path) -> None:
    of_cohort.write_report(tmp_path / "report.html")
    assert b"events after the index left out" in (tmp_path / "report.html").read_bytes()


def test_a_data_set_is_cut_already(chain: Simulated) -> None:
    with pytest.raises(ConfigError, match="an EventDataset is cut already; set cohort=None"):
        Cargo(cohort=COHORT, **SETTINGS).fit(chain.data)


def test_a_cohort_is_a_parameter(of_cohort: Cargo) -> None:
    assert clone(of_cohort).get_params()["cohort"] == COHORT
    assert Cargo().set_params(cohort=COHORT).cohort is COHORT


def test_what_is_excluded_is_not_read_in_data_sets_and_tables(chain: Simulated) -> None:
    cause = chain.truth.boundary("L000")[0]
    cargo = Cargo(cohort=Cohort(exclude=(cause,)), **SETTINGS).fit(chain.data)
    assert cause not in cargo.model_.vocabulary.event_names
    assert cause not in cargo.graph_.boundary("L000")
    assert len(cargo.predict_proba(chain.data[:7])) == 7
    table = pl.DataFrame({"sequence_id": "a", "time": [0, 0], "event": ["E00001", cause]})
    assert cargo.read(table)["a"].events == ("E00001",)


def test_what_follows_an_outcome_is_not_trusted_as_cause_of_the_next() -> None:
    random, events, failures = np.random.default_rng(2), [], []
    for number in range(300):
        name, times = f"V{number:03}", np.sort(random.uniform(0, 300, 22))
        codes = random.integers(0, 8, len(times))
        days = [time + random.exponential(2) for time in times[codes == 3][:1] if random.random() < 0.7]
        days += [day + 1 + random.exponential(1) for day in days if random.random() < 0.8]
        events += [(name, time, f"P{code}") for time, code in zip(times, codes, strict=True)]
        events += [(name, day + 0.9, "replaced") for day in days]
        failures += [(name, day, "pump") for day in days]
    tables = (
        pl.DataFrame(events, ["sequence_id", "time", "event"], orient="row"),
        pl.DataFrame(failures, ["sequence_id", "when", "label"], orient="row"),
    )
    cargo = Cargo(cohort=Cohort(label_time="when", lookback="10"), **SETTINGS).fit(*tables)
    assert "replaced" in cargo.graph_.boundary("pump")
    assert cargo.verdicts_["pump"].level != "trust"
    assert any("'replaced' first occurs after 'pump'" in reason for reason in cargo.verdicts_["pump"].reasons)


@pytest.mark.slow
def test_settings_are_searched_with_whole_groups_held_out(chain: Simulated) -> None:
    groups = np.arange(200) // 4
    data = chain.data[:200].in_groups(groups)
    search = GridSearchCV(Cargo(**SETTINGS), {"steps": [1, 2]}, cv=GroupKFold(2), error_score="raise")
    search.fit(data, groups=data.groups)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 2
    assert (scores > 0.2).all()
    assert search.best_estimator_.graph_.labels == ["L000", "L001"]
    assert search.predict_proba(data[:3]).columns == ["sequence_id", "L000", "L001"]
    half = search.best_estimator_.score(data[groups < 25])
    assert half == pytest.approx(mean_pseudo_r2(search.best_estimator_.model_, data[:100]))


def test_a_score_of_sequences_needs_their_labels(chain: Simulated, fitted: Cargo) -> None:
    assert 0.2 < fitted.score(chain.data[:100]) < 1
    with pytest.raises(DataError, match="with their labels"):
        fitted.score(chain.data.without_labels())


def test_a_fitted_estimator_shows_what_it_found(fitted: Cargo) -> None:
    html = fitted._repr_html_()
    assert "3 changed" in html
    assert "LabelGraph: 2 edges into 2 labels" in html
    assert "Verdicts: trust 2, caution 0, doubt 0." in html
    assert html.count('<span class="tone good">trust</span>') == 2
    for counts in ((1, 2), (2, 1)):  # the label of most sequences comes first
        graph = replace(fitted.graph_, support=dict(zip(("L000", "L001"), counts, strict=True)))
        html = found_html(replace(fitted._results, graph=graph))
        assert (html.index(">L000</th>") < html.index(">L001</th>")) == (counts == (2, 1))


def test_new_sequences_are_taken_in(chain: Simulated) -> None:
    with_labels = chain.data
    cargo = Cargo(**SETTINGS).fit(with_labels[: len(with_labels) // 2])
    assert cargo.update(with_labels[len(with_labels) // 2 :]) is cargo
    assert len(cargo.data_) == len(with_labels)
    assert cargo.graph_.support["L000"] == with_labels.label_support["L000"]
    assert cargo.drift_.sequences == len(with_labels) - len(with_labels) // 2
    events = pl.DataFrame({"sequence_id": ["new"], "time": [0.0], "event": ["E00001"]})
    with pytest.raises(ConfigError, match="labels= is missing: an update counts which new sequences carry"):
        cargo.update(events)
    labels = pl.DataFrame({"sequence_id": ["new"], "label": ["L000"]})
    assert len(cargo.update(events, labels).data_) == len(with_labels) + 1


def test_a_loaded_estimator_without_data_says_so(fitted: Cargo, tmp_path: Path) -> None:
    fitted.save(tmp_path / "kept")
    loaded = Cargo.load(tmp_path / "kept")
    with pytest.raises(
        ConfigError, match="does not remember its data, which were given in Python; give data="
    ):
        _ = loaded.data_
