from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from eventcargo import ConfigError, EventCargoWarning, EventDataset
from eventcargo.discovery import Cargo
from eventcargo.simulation import Simulated, simulate

SETTINGS = {"preset": "fast", "steps": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def chain() -> Simulated:
    return simulate("chain", sequences=400, labels=2, event_types=30, seed=100)


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


def test_without_time_for_a_model_there_is_none(chain: Simulated, tmp_path: Path) -> None:
    with pytest.warns(EventCargoWarning, match=r"no model was fitted.*\(L001, L000\)"):
        cargo = Cargo(max_time="1400ms").fit(chain.data)  # torch alone takes longer
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
