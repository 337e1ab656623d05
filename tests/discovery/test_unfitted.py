import pytest

from eventcargo.discovery.unfitted import take_boundaries, unfitted_labels
from eventcargo.events import EventDataset
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge
from eventcargo.simulation import simulate


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return simulate("chain", sequences=100, labels=3, seed=100).data


FUSED = LabelGraph.from_boundaries(
    {"L000": ["E00001"], "L001": ["E00001"], "L002": []}, {"L000": 5, "L001": 6}
)
CLASSICAL = LabelGraph.from_boundaries({"L000": ["E00002"], "L001": ["E00002", "E00003"]}, {"L001": 7})


def test_only_the_labels_asked_for_are_replaced(data: EventDataset) -> None:
    graph = take_boundaries(FUSED, CLASSICAL, ["L001", "L002"], data)
    assert graph.boundaries == {"L000": ["E00001"], "L001": ["E00002", "E00003"], "L002": []}


def test_the_support_of_a_replaced_label_is_that_of_the_data(data: EventDataset) -> None:
    graph = take_boundaries(FUSED, CLASSICAL, ["L001", "L002"], data)
    assert graph.support == {
        "L000": 5,
        "L001": data.label_support["L001"],
        "L002": data.label_support["L002"],
    }


def test_knowledge_is_obeyed(data: EventDataset) -> None:
    knowledge = Knowledge(forbidden={"L001": ["E00002"]}, required={"L00[12]": ["E00004"]})
    known = knowledge.resolve(list(data.label_names), list(data.event_names))
    graph = take_boundaries(FUSED, CLASSICAL, ["L001"], data, known)
    assert graph.boundaries == {"L000": ["E00001"], "L001": ["E00003", "E00004"], "L002": []}


def test_edges_without_votes_show_which_labels_were_replaced(data: EventDataset) -> None:
    voted = FUSED.edges.with_columns(frequency=0.5)
    graph = take_boundaries(LabelGraph.from_edges(voted, FUSED.support), CLASSICAL, ["L001"], data)
    assert unfitted_labels(graph) == ["L001"]
