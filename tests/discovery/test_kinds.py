"""Whole runs on data whose event types are families or adjusted for."""

import warnings
from pathlib import Path

import pytest

from eventcargo.discovery import DiscoverConfig, RunResults
from eventcargo.discovery.stages import discover
from eventcargo.edges import EdgeTable
from eventcargo.errors import EventCargoWarning
from eventcargo.events import EventDataset
from eventcargo.models.loading import load_model
from eventcargo.oneshot.explain import explain

from ..families import MEMBERS, with_family, with_long_histories, with_scale, with_sites, without_sites


def found(data: EventDataset, folder: Path) -> RunResults:
    return discover(data, folder / "run", DiscoverConfig(preset="fast", steps=20, workers=1))


def test_thirty_rare_causes_of_one_family_are_one_line(tmp_path: Path) -> None:
    results = found(with_family(MEMBERS), tmp_path)
    assert results.graph.boundaries == results.baseline.boundaries == {"bad": ["I50"]}
    assert results.graph.families == {"I50": MEMBERS}
    rule = results.rules["bad"]
    assert rule is not None
    assert rule.text == "I50"
    page = (tmp_path / "run/report.html").read_text("utf-8")
    assert '"families":{"0":{"n":30,"members":[' in page
    assert '"names":["I50","I50.00",' in page


def test_one_cause_among_thirty_is_named_itself(tmp_path: Path) -> None:
    results = found(with_family(["I50.07"], chance=0.02), tmp_path)
    assert results.graph.boundaries == results.baseline.boundaries == {"bad": ["I50.07"]}


def test_what_is_adjusted_for_is_nowhere_in_the_results(tmp_path: Path) -> None:
    results = found(with_sites(), tmp_path)
    assert results.graph.boundaries == results.baseline.boundaries == {"bad": ["cause"]}
    rule = results.rules["bad"]
    assert rule is not None
    assert rule.text == "cause"
    edges = EdgeTable.read(tmp_path / "run/edges")
    assert not edges.exposed["event"].str.contains("site=").any()
    assert not any("site=" in reason or "code" in reason for reason in results.verdicts["bad"].reasons)
    assert "site=" not in (tmp_path / "run/report.html").read_text()
    carrier = next(one for one in with_sites() if one.labels and "cause" in one.events)
    saved = load_model(tmp_path / "run/model")
    for model in (results.model, saved):
        moves = explain(model, carrier, ["bad"]).moves
        assert moves["event"].to_list() == [event for event in carrier.events if "site=" not in event]
        assert moves["position"][0] == 1


@pytest.mark.parametrize(("adjust", "boundary"), [(False, ["cause", "site=A"]), (None, ["cause", "code"])])
def test_without_adjustment_the_site_is_found_and_without_the_site_its_shadow(
    adjust: bool | None, boundary: list[str], tmp_path: Path
) -> None:
    data = without_sites() if adjust is None else with_sites(adjust=adjust)
    assert found(data, tmp_path).graph.boundaries == {"bad": boundary}


def test_of_a_scale_the_best_cut_is_found_and_told_by_its_name(tmp_path: Path) -> None:
    results = found(with_scale(), tmp_path)
    assert results.graph.boundaries == {"bad": ["creatinine >= 2.0"]}
    assert list(results.graph.alternatives["bad"]["creatinine >= 2.0"]) == [
        "creatinine >= 1.0",
        "creatinine >= 1.5",
        "creatinine >= 2.5",
    ]
    rule = results.rules["bad"]
    assert rule is not None
    assert rule.text == '"creatinine >= 2.0"'


def test_an_attribute_is_read_at_the_start_of_sequences_that_are_cut(tmp_path: Path) -> None:
    config = DiscoverConfig(preset="fast", steps=20, workers=1, max_length=12)
    with pytest.warns(EventCargoWarning, match="of each only attributes and the last 10 events count"):
        results = discover(with_long_histories(), tmp_path / "run", config)
    assert set(results.graph.boundaries["bad"]) == {"model=golf", "x"}
    edges = EdgeTable.read(tmp_path / "run/edges").edges.filter(event="model=golf")
    assert len(edges) > 100
    assert edges["position"].unique().to_list() == [0]
    positions = EdgeTable.read(tmp_path / "run/edges").edges.filter(event="x")["position"]
    assert positions.min() >= 22  # type: ignore[operator]


def test_the_attribute_of_a_cut_sequence_is_explained(tmp_path: Path) -> None:
    data = with_long_histories()
    config = DiscoverConfig(preset="fast", steps=20, workers=1, max_length=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventCargoWarning)
        model = discover(data, tmp_path / "run", config).model
        carrier = next(
            one for one in data if one.labels and {"model=golf", "x"} <= {one.events[0], *one.events[22:]}
        )
        moves = explain(model, carrier, ["bad"]).moves
    assert moves["position"].to_list() == [0, *range(22, 31)]
    assert moves["event"].to_list() == [carrier.events[at] for at in moves["position"]]
    assert moves["effect"][0] > 0.2
