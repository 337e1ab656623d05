import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventcargo import ConfigError, DataError, EventCargoWarning, LabelGraph, read_graph, write_graph
from eventcargo.io.graph_paths import WRITABLE
from eventcargo.io.graphs import WRITERS

FULL = LabelGraph.from_edges(
    pl.DataFrame(
        {
            "label": ["brake", "brake", "fuel"],
            "event": ["P01", "U02", "P01"],
            "sign": [1, -1, None],
            "frequency": [0.9, 0.1, None],
            "support": [7, 7, 3],
            "threshold": [0.5, 0.5, None],
            "strength": [0.1, 0.3, 1e-9],
            "effect": [0.25, -0.25, None],
            "ci_low": [0.0, 0.01, None],
            "ci_high": [0.2, 0.4, None],
            "p_value": [1e-300, 0.05, None],
            "odds_ratio": [4.2, 1e-7, None],
            "odds_low": [3.1, 1e-12, None],
            "odds_high": [5.8, 0.9, None],
        }
    ),
    support={"empty": 0, "unknown": None},
)


def _round_trip(graph, path):
    write_graph(graph, path)
    return read_graph(path)


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_all_of_a_graph_survives_a_round_trip(tmp_path, ending):
    graph = _round_trip(FULL, tmp_path / f"graph{ending}")
    assert graph.edges.equals(FULL.edges)
    assert graph.support == FULL.support


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_families_and_alternatives_survive_a_round_trip(tmp_path, ending):
    alternatives = {"fuel": {"P01": {"P02": 0.5}}}
    graph = FULL.with_kinds({"U02": ("U02.1", "U02.2")}, alternatives)
    again = _round_trip(graph, tmp_path / f"graph{ending}")
    assert (again.families, again.alternatives) == ({"U02": ("U02.1", "U02.2")}, alternatives)


def test_a_graph_without_kinds_has_no_word_of_them(tmp_path):
    write_graph(FULL, tmp_path / "graph.json")
    assert not {"families", "alternatives"} & set(json.loads((tmp_path / "graph.json").read_text()))


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_a_graph_without_edges_survives_a_round_trip(tmp_path, ending):
    graph = _round_trip(LabelGraph.from_boundaries({"a": []}), tmp_path / f"graph{ending}")
    assert graph.boundaries == {"a": []}


def test_edges_survive_a_round_trip_in_csv_and_lost_labels_are_counted(tmp_path):
    with pytest.warns(EventCargoWarning, match="2 labels with an empty boundary") as caught:
        graph = _round_trip(FULL, tmp_path / "graph.csv")
    assert graph.edges.equals(FULL.edges)
    assert graph.support == {"brake": 7, "fuel": 3}
    assert caught[0].filename == __file__


def test_support_known_of_labels_only_is_written_to_csv(tmp_path):
    graph = LabelGraph.from_boundaries({"a": ["x"]}, support={"a": 5})
    assert _round_trip(graph, tmp_path / "graph.csv").support == {"a": 5}


def test_csv_has_only_columns_that_hold_a_value(tmp_path):
    write_graph(LabelGraph.from_boundaries({"a": ["x"]}), tmp_path / "graph.csv")
    assert (tmp_path / "graph.csv").read_text() == '"label","event"\n"a","x"\n'


@pytest.mark.parametrize("ending", [".parquet", ".json", ".csv"])
def test_hostile_names_survive_a_round_trip(tmp_path, hostile_names, ending):
    names = [*hostile_names, "nul\0byte"]
    graph = LabelGraph.from_boundaries(dict.fromkeys(names, names))
    assert _round_trip(graph, tmp_path / f"graph{ending}").boundaries == graph.boundaries


@pytest.mark.parametrize("ending", [".parquet", ".json", ".csv", ".graphml", ".dot"])
@pytest.mark.filterwarnings("ignore:1 label:eventcargo.EventCargoWarning")
def test_a_label_that_is_no_valid_unicode_is_refused(tmp_path, ending):
    graph = LabelGraph.from_boundaries({"\ud800": []})
    with pytest.raises(DataError, match=r"label '\\ud800' is not valid Unicode"):
        write_graph(graph, tmp_path / f"graph{ending}")


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.lazy, pl.DataFrame.to_arrow])
def test_a_frame_is_a_graph(convert):
    frame = pl.DataFrame({"label": ["a"], "event": ["x"], "strength": [0.5]})
    assert read_graph(convert(frame)).edges.select("label", "event", "strength").row(0) == ("a", "x", 0.5)


def test_two_columns_are_enough(tmp_path):
    (tmp_path / "truth.csv").write_text("label,event\ncomp2,error3\ncomp1,error1\ncomp2,error2\n")
    assert read_graph(tmp_path / "truth.csv").boundaries == {
        "comp1": ["error1"],
        "comp2": ["error2", "error3"],
    }


def test_whole_numbers_written_as_floats_are_read(tmp_path):
    pd.DataFrame({"label": ["a", "b"], "event": ["x", "x"], "sign": [-1, None]}).to_csv(
        tmp_path / "graph.csv", index=False
    )
    assert read_graph(tmp_path / "graph.csv").edges["sign"].to_list() == [-1, None]


def test_unknown_columns_are_counted_in_a_warning(tmp_path):
    (tmp_path / "truth.csv").write_text("label,event,note,why\na,x,1,2\n")
    with pytest.warns(EventCargoWarning, match=r"ignored 2 unknown columns: note, why") as caught:
        read_graph(tmp_path / "truth.csv")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("ending", [".parquet", ".json", ".csv"])
@pytest.mark.filterwarnings("ignore:CSV cannot hold:eventcargo.EventCargoWarning")
def test_a_file_from_before_there_were_odds_ratios_is_read(tmp_path, ending):
    old = LabelGraph(FULL.edges.drop("odds_ratio", "odds_low", "odds_high"), FULL.support)
    graph = _round_trip(old, tmp_path / f"graph{ending}")
    assert graph.edges.drop("odds_ratio", "odds_low", "odds_high").equals(old.edges)
    assert graph.edges["odds_ratio"].null_count() == len(graph)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (",x,1,0.5", "label is empty; every edge needs"),
        ("a,,1,0.5", "event is empty"),
        ("a,x,0.5,0.5", "sign is '0.5'; use an integer"),
        ("a,x,300,0.5", "sign is '300'; use an integer"),
        ("a,x,1,big", "strength is 'big'; use a number"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_row(tmp_path, line, reason):
    (tmp_path / "graph.csv").write_text(f"label,event,sign,strength\na,w,1,1\n{line}\n")
    with pytest.raises(DataError, match=rf"graph\.csv, row 2: {reason}"):
        read_graph(tmp_path / "graph.csv")


@pytest.mark.parametrize("line", [",x,1", "a,x,?"])
def test_a_bad_first_row_is_row_1(tmp_path, line):
    (tmp_path / "graph.csv").write_text(f"label,event,strength\n{line}\na,w,1\n")
    with pytest.raises(DataError, match=r"graph\.csv, row 1:"):
        read_graph(tmp_path / "graph.csv")


def test_a_missing_column_is_refused():
    with pytest.raises(DataError, match="the graph table has no column 'event', only 'label', 'cause'"):
        read_graph(pl.DataFrame({"label": ["a"], "cause": ["x"]}))


@pytest.mark.parametrize("columns", [{"event": [["x"]]}, {"event": ["x"], "strength": [[0.5]]}])
def test_a_column_of_lists_is_refused(columns):
    with pytest.raises(DataError, match="the graph table cannot be read as a graph"):
        read_graph(pl.DataFrame({"label": ["a"], **columns}))


@pytest.mark.parametrize("name", ["graph.docx", "graph"])
def test_an_unknown_ending_is_refused(tmp_path, name):
    with pytest.raises(DataError, match=f"{name} has an unknown ending"):
        write_graph(FULL, tmp_path / name)


def test_formats_for_drawing_are_not_read(tmp_path):
    write_graph(FULL, tmp_path / "graph.dot")
    with pytest.raises(DataError, match=r"graphs are read from \.parquet, \.json, \.csv"):
        read_graph(tmp_path / "graph.dot")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"gone\.json is not a file"):
        read_graph(tmp_path / "gone.json")


def test_other_content_in_a_parquet_file_is_refused(tmp_path):
    (tmp_path / "graph.parquet").write_text("no")
    with pytest.raises(DataError, match=r"graph\.parquet is not a Parquet file"):
        read_graph(tmp_path / "graph.parquet")


def test_a_column_whose_name_is_no_text_is_refused(tmp_path):
    path = tmp_path / "graph.parquet"
    pq.write_table(pa.table({"label": ["a"], "event": ["x"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"label", b"l\xeebel"))
    with pytest.raises(DataError, match=r"graph\.parquet is not a Parquet file: 'utf-8' codec can't decode"):
        read_graph(path)


def test_parquet_of_another_program_is_a_graph(tmp_path):
    pq.write_table(pa.table({"label": ["a"], "event": ["x"]}), tmp_path / "graph.parquet")
    assert read_graph(tmp_path / "graph.parquet").boundaries == {"a": ["x"]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": "other"}, "not written by eventcargo as eventcargo-graph"),
        ({"version": 99}, "version 99 of another release, this one reads 1"),
        ({"support": {"a": "many"}}, "support.a is 'many', not a whole number or null"),
        ({"families": ["I50"]}, r"families is \['I50'\], not an object"),
        ({"alternatives": 3}, "alternatives is 3, not an object"),
        ({"edges": None}, "the edges None; expected a list"),
        ({"edges": [{"label": "a", "event": "x", "strength": "big"}]}, "edges that cannot be read"),
        ({"edges": [{"label": "a"}]}, "1 edge without event"),
    ],
)
def test_json_that_is_no_graph_is_refused(tmp_path, change, reason):
    write_graph(FULL, tmp_path / "graph.json")
    content = json.loads((tmp_path / "graph.json").read_text())
    del content["checksum"]  # as if people had written it
    (tmp_path / "graph.json").write_text(json.dumps(content | change))
    with pytest.raises(DataError, match=reason):
        read_graph(tmp_path / "graph.json")


def test_broken_json_is_refused(tmp_path):
    (tmp_path / "graph.json").write_text("{")
    with pytest.raises(DataError, match=r"graph\.json is not JSON"):
        read_graph(tmp_path / "graph.json")


def test_a_number_json_cannot_hold_is_refused(tmp_path):
    graph = LabelGraph.from_edges(pl.DataFrame({"label": ["a"], "event": ["x"], "strength": [float("inf")]}))
    with pytest.raises(DataError, match="JSON cannot hold the infinite"):
        write_graph(graph, tmp_path / "graph.json")
    assert not (tmp_path / "graph.json").exists()


def test_notes_stand_beside_the_edges_in_json_and_are_ignored_when_read(tmp_path):
    graph = LabelGraph.from_boundaries({"brake": ["P01"]})
    write_graph(graph, tmp_path / "graph.json", {"verdicts": {"brake": "trust"}})
    assert json.loads((tmp_path / "graph.json").read_text())["verdicts"] == {"brake": "trust"}
    assert read_graph(tmp_path / "graph.json").boundaries == graph.boundaries


def test_notes_are_refused_where_there_is_no_room(tmp_path):
    with pytest.raises(ConfigError, match="verdicts"):
        write_graph(LabelGraph.from_boundaries({}), tmp_path / "graph.parquet", {"verdicts": {}})
    assert not list(tmp_path.iterdir())


def test_every_ending_that_may_be_written_has_a_writer() -> None:
    assert tuple(WRITERS) == WRITABLE
