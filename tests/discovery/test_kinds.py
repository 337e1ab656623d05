"""Whole runs on data whose event types are families or adjusted for."""

from pathlib import Path

import pytest

from eventcargo.discovery import DiscoverConfig, RunResults
from eventcargo.discovery.stages import discover
from eventcargo.edges import EdgeTable
from eventcargo.events import EventDataset

from ..families import MEMBERS, with_family, with_scale, with_sites, without_sites


def found(data: EventDataset, folder: Path) -> RunResults:
    return discover(data, folder / "run", DiscoverConfig(preset="fast", steps=20, workers=1))


def test_thirty_rare_causes_of_one_family_are_one_line(tmp_path: Path) -> None:
    results = found(with_family(MEMBERS), tmp_path)
    assert results.graph.boundaries == results.baseline.boundaries == {"bad": ["I50"]}
    assert results.graph.families == {"I50": MEMBERS}
    rule = results.rules["bad"]
    assert rule is not None
    assert rule.text == "I50"
    assert "I50 (30 members: I50.00, I50.01, I50.02, ...)" in (tmp_path / "run/report.html").read_text()


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
