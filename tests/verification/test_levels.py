from collections.abc import Sequence

import polars as pl
import pytest

from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge, Resolved
from eventcargo.verification.claims import Claim
from eventcargo.verification.label_test import LabelTest, VerifyData
from eventcargo.verification.verify import verify

from ..families import MEMBERS, with_family, with_scale, with_sites, without_sites


@pytest.fixture(scope="module")
def family_data() -> EventDataset:
    return with_family(MEMBERS)


def claimed(events: Sequence[str]) -> LabelGraph:
    edges = pl.DataFrame({"label": ["bad"] * len(events), "event": list(events)}).with_columns(
        frequency=0.1, strength=1.0, sign=1
    )
    return LabelGraph.from_edges(edges, {"bad": None})


def resolved(data: EventDataset, knowledge: Knowledge) -> Resolved:
    return knowledge.resolve(list(data.label_names), list(data.event_names))


@pytest.mark.parametrize("boundary", [[], ["I50"], MEMBERS, MEMBERS[:4]])
def test_thirty_rare_causes_of_one_family_are_one_edge(
    family_data: EventDataset, boundary: Sequence[str]
) -> None:
    assert verify(claimed(boundary), family_data).boundary("bad") == ["I50"]


@pytest.mark.parametrize("boundary", [[], ["I50"], MEMBERS])
def test_one_cause_among_thirty_is_named_itself(boundary: Sequence[str]) -> None:
    assert verify(claimed(boundary), with_family(["I50.07"])).boundary("bad") == ["I50.07"]


def test_the_edge_of_a_family_in_place_of_its_members_has_evidence(family_data: EventDataset) -> None:
    (edge,) = verify(claimed(MEMBERS[:4]), family_data).edges.to_dicts()
    assert edge["sign"] == 1
    assert edge["p_value"] < 1e-6
    assert edge["gain"] > 0.5
    assert edge["frequency"] is None


def test_a_claimed_family_keeps_its_claim(family_data: EventDataset) -> None:
    (edge,) = verify(claimed(["I50.00", "I50"]), family_data).edges.to_dicts()
    assert (edge["event"], edge["frequency"]) == ("I50", 0.1)


def test_a_required_member_stays(family_data: EventDataset) -> None:
    known = resolved(family_data, Knowledge(required={"bad": "I50.03"}))
    assert "I50.03" in verify(claimed(MEMBERS[:4]), family_data, knowledge=known).boundary("bad")


def test_a_forbidden_family_replaces_nothing(family_data: EventDataset) -> None:
    known = resolved(family_data, Knowledge(forbidden={"bad": "I50"}))
    assert "I50" not in verify(claimed(MEMBERS[:4]), family_data, knowledge=known).boundary("bad")


def test_of_a_scale_the_best_cut_is_the_edge() -> None:
    graph = verify(claimed(["creatinine >= 1.0", "creatinine >= 2.5"]), with_scale())
    assert graph.boundary("bad") == ["creatinine >= 2.0"]


def test_the_graph_has_the_other_cuts_of_its_thresholds() -> None:
    graph = verify(claimed(["creatinine >= 2.5"]), with_scale())
    gains = graph.alternatives["bad"]["creatinine >= 2.0"]
    assert list(gains) == ["creatinine >= 1.0", "creatinine >= 1.5", "creatinine >= 2.5"]
    assert 0 < gains["creatinine >= 1.0"] < gains["creatinine >= 1.5"] < graph.edges["gain"][0]


def test_the_graph_has_the_members_of_its_families(family_data: EventDataset) -> None:
    graph = verify(claimed([]), family_data)
    assert graph.families == {"I50": MEMBERS}
    assert graph.describe("I50") == "I50 (30 members: I50.00, I50.01, I50.02, ...)"


def test_a_family_outside_every_boundary_is_not_described() -> None:
    assert verify(claimed([]), with_family(["I50.07"])).families == {}


@pytest.mark.parametrize("boundary", [[], ["code"], ["code", "cause", "site=A"]])
def test_what_is_adjusted_for_explains_and_is_not_reported(boundary: Sequence[str]) -> None:
    assert verify(claimed(boundary), with_sites()).boundary("bad") == ["cause"]


def test_an_attribute_that_is_not_adjusted_for_is_reported() -> None:
    graph = verify(claimed([]), with_sites(adjust=False))
    assert graph.boundary("bad") == ["cause", "site=A"]


def test_without_the_confounder_its_shadow_is_reported() -> None:
    assert verify(claimed([]), without_sites()).boundary("bad") == ["cause", "code"]


def test_an_edge_that_is_required_and_adjusted_for_is_refused() -> None:
    data = with_sites(n=100)
    known = resolved(data, Knowledge(required={"bad": "site=A"}))
    with pytest.raises(ConfigError, match="'site=A', because the event type is adjusted for"):
        verify(claimed([]), data, knowledge=known)


def test_knowledge_counts_beside_adjustment() -> None:
    data = with_sites()
    known = resolved(data, Knowledge(forbidden={"bad": "cause"}))
    assert verify(claimed([]), data, knowledge=known).boundary("bad") == []


def test_other_claims_have_other_arrangements(family_data: EventDataset) -> None:
    numbers = [family_data.event_names.index(name) for name in ("I50", "X01")]
    first, second = (Claim(number) for number in numbers)
    label_test = LabelTest(VerifyData(family_data), 0, [first], 1.0)
    before = label_test.arranged(0.05)
    assert label_test.arranged(0.05) is before
    label_test.replace([second])
    assert label_test.arranged(0.05) is not before
