import re

import networkx as nx
import polars as pl
import pytest

from eventcargo import DataError, LabelGraph, write_graph
from eventcargo.io import graph_to_networkx, graph_to_strengths

NODE = re.compile(r'n(\d+) \[shape=(box|ellipse), label="((?:[^"\\]|\\.)*)"\];', re.DOTALL)
EDGE = re.compile(r"n(\d+) -> n(\d+)")


def _unescape(text):
    text = re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text, flags=re.DOTALL)
    return text.replace("&amp;", "&")


def _parse_dot(text):
    """Edges by name from a DOT file as `write_graph` makes it."""
    names = {number: _unescape(name) for number, _, name in NODE.findall(text)}
    return {(names[tail], names[head]) for tail, head in EDGE.findall(NODE.sub("", text))}


def test_an_event_and_a_label_of_one_name_are_two_nodes():
    network = graph_to_networkx(LabelGraph.from_boundaries({"a": ["a"]}))
    assert list(network.edges) == [("event:a", "label:a")]
    assert network.nodes["label:a"] == {"kind": "label", "name": "a"}


def test_a_label_with_an_empty_boundary_is_a_node_with_its_support():
    network = graph_to_networkx(LabelGraph.from_boundaries({"a": []}, support={"a": 3}))
    assert dict(network.nodes(data=True)) == {"label:a": {"kind": "label", "name": "a", "support": 3}}


def test_edges_carry_what_is_known():
    edges = pl.DataFrame({"label": ["a"], "event": ["x"], "strength": [0.5], "sign": [-1]})
    network = graph_to_networkx(LabelGraph.from_edges(edges))
    assert network.edges["event:x", "label:a"] == {"strength": 0.5, "sign": -1}


def test_edges_carry_their_odds_ratio():
    edges = pl.DataFrame({"label": ["a"], "event": ["x"], "odds_ratio": [4.2], "odds_low": [3.1]})
    network = graph_to_networkx(LabelGraph.from_edges(edges))
    assert network.edges["event:x", "label:a"] == {"odds_ratio": 4.2, "odds_low": 3.1}


def test_strengths_are_frequencies_where_known():
    edges = pl.DataFrame({"label": ["a", "a"], "event": ["x", "y"], "frequency": [0.25, None]})
    strengths = graph_to_strengths(LabelGraph.from_edges(edges))
    assert strengths.columns == ["from", "to", "strength", "direction"]
    assert strengths.rows() == [("x", "a", 0.25, 1.0), ("y", "a", 1.0, 1.0)]


def test_hostile_names_survive_graphml(tmp_path, hostile_names):
    graph = LabelGraph.from_boundaries(dict.fromkeys(hostile_names, hostile_names))
    write_graph(graph, tmp_path / "graph.graphml")
    network = nx.read_graphml(tmp_path / "graph.graphml")
    assert set(network.edges) == set(graph_to_networkx(graph).edges)
    assert {known["name"] for _, known in network.nodes(data=True)} == set(hostile_names)


def test_graphml_keeps_what_is_known_of_edges(tmp_path):
    edges = pl.DataFrame({"label": ["a"], "event": ["x"], "strength": [1e-9], "sign": [-1]})
    write_graph(LabelGraph.from_edges(edges), tmp_path / "graph.graphml")
    network = nx.read_graphml(tmp_path / "graph.graphml")
    assert network.edges["event:x", "label:a"] == {"strength": 1e-9, "sign": -1}


@pytest.mark.parametrize("sign", ["\0", "\x08", "\x0b", "\x1f", "\uffff"])
def test_names_that_xml_cannot_hold_are_refused(tmp_path, sign):
    graph = LabelGraph.from_boundaries({"a": [f"x{sign}y"]})
    with pytest.raises(DataError, match=r"which GraphML cannot hold; rename it") as refusal:
        write_graph(graph, tmp_path / "graph.graphml")
    assert repr(sign) in str(refusal.value)
    assert not (tmp_path / "graph.graphml").exists()


def test_hostile_names_survive_dot(tmp_path, hostile_names):
    graph = LabelGraph.from_boundaries(dict.fromkeys(hostile_names, hostile_names))
    write_graph(graph, tmp_path / "graph.dot")
    found = _parse_dot((tmp_path / "graph.dot").read_bytes().decode())
    assert found == {(event, label) for event in hostile_names for label in hostile_names}


def test_dot_quotes_numbers(tmp_path):
    edges = pl.DataFrame({"label": ["a"], "event": ["x"], "strength": [1e-9]})
    write_graph(LabelGraph.from_edges(edges), tmp_path / "graph.dot")
    assert 'n0 -> n1 [strength="1e-09"];' in (tmp_path / "graph.dot").read_text()


def test_a_zero_byte_is_refused_in_dot(tmp_path):
    with pytest.raises(DataError, match=r"'\\x00', which DOT cannot"):
        write_graph(LabelGraph.from_boundaries({"a\0": ["x"]}), tmp_path / "graph.dot")
