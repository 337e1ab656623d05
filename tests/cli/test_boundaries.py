from eventcargo.cli.boundaries import causes
from eventcargo.graphs import LabelGraph


def test_a_family_is_printed_with_its_members() -> None:
    graph = LabelGraph.from_boundaries({"death": ["I50", "J18"]}).with_kinds({"I50": ("I50.1", "I50.9")})
    assert causes(graph, "death") == "I50 (2 members: I50.1, I50.9), J18"
