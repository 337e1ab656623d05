import json
from pathlib import Path

import numpy as np
import pytest

from eventcargo.discovery.data_source import added
from eventcargo.discovery.run_folder import (
    RunManifest,
    data_fingerprint,
    knowledge_of_run,
    write_fused,
    write_rules_of_run,
    write_verified,
)
from eventcargo.errors import ConfigError, DataError
from eventcargo.events import EventDataset, EventSequence
from eventcargo.files import write_document
from eventcargo.graphs import LabelGraph
from eventcargo.knowledge import Knowledge


def test_what_is_done_is_known_when_a_run_goes_on(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {"seed": 1}, resume=False).finish("train", 12.5)
    again = RunManifest.begin(tmp_path, {"seed": 1}, resume=True)
    assert again.done == ["train"]
    assert again.used == 12.5


def test_the_time_of_a_stage_under_way_counts(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {}, resume=False).note("train", 30.0)
    again = RunManifest.begin(tmp_path, {}, resume=True)
    assert (again.used, again.done) == (30.0, [])


def test_a_run_is_gone_on_with_by_resume_only(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {}, resume=False)
    with pytest.raises(ConfigError, match="holds a run already"):
        RunManifest.begin(tmp_path, {}, resume=False)


def test_other_settings_are_not_resumed_with(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {"seed": 1}, resume=False)
    with pytest.raises(ConfigError, match="begun with seed=1, now it is 2"):
        RunManifest.begin(tmp_path, {"seed": 2}, resume=True)


def test_with_more_time_an_extraction_under_way_begins_anew(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {"max_time": "10m"}, resume=False)
    (tmp_path / "edges").mkdir()
    RunManifest.begin(tmp_path, {"max_time": "10m"}, resume=True)
    assert (tmp_path / "edges").exists()
    RunManifest.begin(tmp_path, {"max_time": "20m"}, resume=True)
    assert not (tmp_path / "edges").exists()  # some of its shards may be empty because time was up
    (tmp_path / "edges").mkdir()
    RunManifest.read(tmp_path).finish("extract", 1.0)
    RunManifest.begin(tmp_path, {"max_time": "30m"}, resume=True)
    assert (tmp_path / "edges").exists()
    RunManifest.read(tmp_path).finish("extract", 1.0, is_cut=True)
    assert RunManifest.begin(tmp_path, {"max_time": "40m"}, resume=True).done == []
    assert not (tmp_path / "edges").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("{}", "not written by eventcargo"),
        (json.dumps({"format": "eventcargo-run", "version": 99}), "another release"),
    ],
)
def test_a_damaged_or_foreign_record_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(DataError, match=said):
        RunManifest.read(tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no run"):
        RunManifest.read(tmp_path)


GRAPH = LabelGraph.from_boundaries({"brake": ["P01"]})
OTHER = LabelGraph.from_boundaries({"brake": []})


def data(mileage: float | None = None) -> EventDataset:
    values = () if mileage is None else ((mileage,),)
    names = () if mileage is None else ("mileage",)
    return EventDataset.from_sequences(
        [EventSequence("car1", ("P01",), (0.0,), ("brake",), values)], value_names=names
    )


def test_value_columns_do_not_make_other_data() -> None:
    assert data_fingerprint(data(5.0)) == data_fingerprint(data(6.0)) == data_fingerprint(data())
    assert data(5.0).fingerprint != data().fingerprint


def test_unknown_labels_make_other_data() -> None:
    sequences = [EventSequence(str(at), ("P01",), (0.0,), ("brake",) * at, ((5.0,),)) for at in range(2)]
    known = EventDataset.from_sequences(sequences, value_names=["mileage"])
    unknown = known.knowing(np.array([[False], [True]]))
    assert data_fingerprint(known) != data_fingerprint(unknown)


def begun(folder: Path, *stages: str) -> None:
    manifest = RunManifest.begin(folder, {}, resume=False)
    for stage in stages:
        manifest.finish(stage, 1.0)


def resumed(folder: Path) -> list[str]:
    return RunManifest.begin(folder, {}, resume=True).done


def test_a_stage_whose_file_is_gone_is_not_done(tmp_path: Path) -> None:
    begun(tmp_path, "train", "fuse")
    assert resumed(tmp_path) == ["train"]


def test_a_run_without_verification_keeps_its_fused_graph(tmp_path: Path) -> None:
    begun(tmp_path, "fuse", "rules")
    write_fused(tmp_path, GRAPH)
    write_rules_of_run(tmp_path, {}, data())
    assert resumed(tmp_path) == ["fuse", "rules"]


def test_a_graph_that_was_fused_again_is_verified_again(tmp_path: Path) -> None:
    begun(tmp_path, "fuse", "verify", "rules")
    write_fused(tmp_path, GRAPH)
    write_verified(tmp_path, OTHER, data())
    write_rules_of_run(tmp_path, {}, data())
    assert resumed(tmp_path) == ["fuse", "verify", "rules"]
    write_fused(tmp_path, GRAPH)
    assert resumed(tmp_path) == ["fuse"]


def test_what_depends_on_a_missing_file_is_made_again(tmp_path: Path) -> None:
    begun(tmp_path, "fuse", "rules")
    write_fused(tmp_path, GRAPH)
    write_rules_of_run(tmp_path, {}, data())
    (tmp_path / "fused.parquet").unlink()
    assert resumed(tmp_path) == []


def test_the_knowledge_of_a_run_is_that_of_its_graph(tmp_path: Path) -> None:
    known = Knowledge(forbidden={"brake": "P01"}, tiers=[{"events": ["P*"]}, {"labels": ["*"]}])
    write_fused(tmp_path, GRAPH)
    assert knowledge_of_run(tmp_path) is None
    write_fused(tmp_path, GRAPH, knowledge=known)
    assert knowledge_of_run(tmp_path) == known
    write_verified(tmp_path, OTHER, data(), knowledge=Knowledge(required={"brake": "P01"}))
    assert knowledge_of_run(tmp_path) == Knowledge(required={"brake": "P01"})


@pytest.mark.parametrize("name", ["model", "edges", "graph.parquet", "linear.safetensors"])
@pytest.mark.parametrize("resume", [False, True])
def test_results_without_the_settings_of_their_run_are_not_gone_on_with(
    tmp_path: Path, name: str, resume: bool
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(ConfigError, match=rf"has no run\.json but {name}: .*; put run\.json back"):
        RunManifest.begin(tmp_path, {}, resume)
    assert not (tmp_path / "run.json").exists()


def test_a_model_that_was_replaced_is_not_gone_on_with(tmp_path: Path) -> None:
    manifest = RunManifest.begin(tmp_path, {}, resume=False)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_text("ours")
    manifest.finish("train", 1.0)
    assert RunManifest.begin(tmp_path, {}, resume=True).done == ["train"]
    (tmp_path / "model" / "model.safetensors").write_text("theirs")
    with pytest.raises(ConfigError, match="model is not the model of this run: its files have changed"):
        RunManifest.begin(tmp_path, {}, resume=True)


def test_a_model_in_an_untrained_run_is_not_gone_on_with(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {}, resume=False)
    (tmp_path / "model").mkdir()
    with pytest.raises(ConfigError, match="has not been trained yet; move it away"):
        RunManifest.begin(tmp_path, {}, resume=True)
    (tmp_path / "checkpoint.safetensors").write_text("training has begun")
    assert RunManifest.begin(tmp_path, {}, resume=True).done == []


def test_what_a_kill_left_is_swept_on_resume(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {}, resume=False)
    left = tmp_path / "edges" / ".selection.parquet.abc.part"
    left.mkdir(parents=True)
    RunManifest.begin(tmp_path, {}, resume=True)
    assert not left.exists()


@pytest.mark.parametrize("odd", ["../0001", "9" * 5_000, "x"])
def test_added_data_outside_of_their_folder_are_refused(tmp_path: Path, odd: str) -> None:
    part = {"folder": odd, "data": "", "sequences": 1, "events": "", "labels": []}
    write_document(tmp_path / "data.json", "eventcargo-data", 1, {"added": [part]})
    with pytest.raises(DataError, match=r"data\.json names the folder '.* in added/, .* such as 0001"):
        added(tmp_path)
