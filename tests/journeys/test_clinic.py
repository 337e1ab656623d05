"""A second week of a clinic in MEDS folders: patients who are new, and patients who return."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eventcargo import Cargo, compare, extract, read_graph, verify
from eventcargo.discovery import read_report_input
from eventcargo.discovery.data_source import recall
from eventcargo.discovery.run_folder import knowledge_of_run
from eventcargo.edges import EdgeFolder, EdgeTable
from eventcargo.fusion.fuse import fuse
from eventcargo.fusion.vote_store import VoteStore, run_votes, write_votes
from eventcargo.joining import subjects
from eventcargo.models.loading import load_model
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.service import as_json
from eventcargo.simulation.records import Records

from ..cli.program import run, run_json
from ..cli.serving import Service, serving
from .clinic import LABEL, write_clinic

CAUSES = ["ICD//I50", "MED//spironolactone"]
CUT = ("--label-time", "time", "--lookback", "30d", "--washout", "30d", "--only", LABEL)
QUICK = ("--preset", "fast", "--steps", "2", "--workers", "1")


@dataclass(frozen=True)
class Clinic:
    """The folders of the clinic and a run on the first; what was recorded of the patients who are waiting."""

    folder: Path
    run: Path
    waiting: Records

    def tables(self, name: str) -> tuple[Path, str, Path]:
        """The arguments that name a MEDS folder and its outcomes."""
        return self.folder / name, "--labels", self.folder / name / "outcomes.parquet"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Clinic:
    folder = tmp_path_factory.mktemp("clinic")
    made = Clinic(folder, folder / "run", write_clinic(folder))
    families = ("--parents", folder / "first" / "metadata" / "codes.parquet")
    more = ("--numeric-value", "numeric_value", *families, *QUICK, "--out", made.run)
    assert run_json("discover", *made.tables("first"), *CUT, *more)["boundaries"] == {LABEL: CAUSES}
    return made


@pytest.fixture(scope="module")
def second(clinic: Clinic) -> Path:
    """The run after its second week."""
    updated = Path(shutil.copytree(clinic.run, clinic.folder / "updated"))
    told = run_json("update", updated, *clinic.tables("second"), "--workers", "1")
    assert told["boundaries"] == {LABEL: CAUSES}
    assert told["added"]["sequences"] > told["added"]["returning"] > 100
    assert told["added"]["left_out"] > 0
    assert "ADMIN//invoice" in told["drift"]["sentence"]  # which becomes more frequent with the years
    return updated


def at_once(updated: Path, out: Path) -> EdgeFolder:
    """Phase 1 over all sequences of a run, with its model and thresholds."""
    model, known = load_model(updated / "model"), knowledge_of_run(updated)
    both, config = recall(updated).data, ExtractConfig(workers=1)
    return extract(model, both, out, config, knowledge=known, like=updated / "edges")


def in_order(edges: pl.DataFrame) -> pl.DataFrame:
    return edges.sort("sequence", "label", "test", "event", "position")


def test_new_patients_alone_give_the_files_of_one_run_over_both_weeks(clinic: Clinic, tmp_path: Path) -> None:
    updated = Path(shutil.copytree(clinic.run, tmp_path / "run"))
    told = run_json("update", updated, *clinic.tables("new"), "--workers", "1")
    assert (told["added"]["returning"], told["drift"]["is_out_of_date"]) == (0, False)
    edges = at_once(updated, tmp_path / "edges")
    write_votes(VoteStore.of_folder(edges), tmp_path / "votes")
    names = {path.name for path in (updated / "votes").glob("*.parquet")}
    assert {"pooled.parquet", "total-present-group_votes.parquet"} < names
    for name in sorted(names):
        assert (tmp_path / "votes" / name).read_bytes() == (updated / "votes" / name).read_bytes(), name
    fused = fuse(VoteStore.of_folder(edges))
    assert fused.edges.equals(read_graph(updated / "fused.parquet").edges)


def test_where_patients_return_only_sums_over_groups_differ(second: Path, tmp_path: Path) -> None:
    edges, both = at_once(second, tmp_path / "edges"), recall(second).data
    own, single = EdgeTable.read(second / "edges").edges, EdgeTable.read(edges.folder).edges
    assert in_order(own).equals(in_order(single))
    once, updated = VoteStore.of_folder(edges), run_votes(second)
    assert once.votes.keys() == updated.votes.keys()
    for kind, votes in updated.votes.items():
        for name in ("counts", "exposed", "tested"):
            assert getattr(votes, name).equals(getattr(once.votes[kind], name)), (kind, name)
    assert updated.pooled.drop("group_squares").equals(once.pooled.drop("group_squares"))
    groups = [one.votes["total", "present"].group_support["groups"].item() for one in (once, updated)]
    assert 0 < groups[0] < groups[1]
    assert len(set(subjects(both))) < len(both)
    figures = ["label", "event", "odds_ratio", "odds_low", "odds_high"]
    graph = verify(fuse(once), both, untrusted=set(load_model(second / "model").untrusted))
    assert graph.edges.select(figures).equals(read_graph(second / "graph.parquet").edges.select(figures))


def test_the_second_week_is_compared_with_the_first(clinic: Clinic, second: Path) -> None:
    told, python = run_json("compare", clinic.run, second), compare(clinic.run, second)
    assert python.counts == told["counts"]
    assert told["counts"]["none"] == len(CAUSES) == sum(told["counts"].values())
    assert sorted(python.edges.drop_nulls("ratio")["event"]) == CAUSES


@pytest.fixture(scope="module")
def service(second: Path) -> Iterator[Service]:
    with serving(second) as begun:
        yield begun


def to_send(records: Records) -> list[dict[str, Any]]:
    """Patients as a request has them; those of MEDS have numbers for names."""
    return [
        {
            "id": str(int(person["subject_id"][1:])),
            "attributes": {name: value for name, value in person.items() if name != "subject_id"},
            "events": [
                {
                    "name": row["code"],
                    "time": row["time"].isoformat(),
                    "values": {"numeric_value": row["numeric_value"]},
                }
                for row in records.events.filter(subject_id=person["subject_id"]).iter_rows(named=True)
            ],
        }
        for person in records.static.sort("subject_id").iter_rows(named=True)
    ]


def test_new_patients_are_explained_alike_by_command_python_and_http(
    clinic: Clinic, second: Path, service: Service
) -> None:
    people, asked = clinic.folder / "waiting", to_send(clinic.waiting)
    causes = run_json("explain", second, people, "--label", LABEL)["causes"]
    cargo = Cargo.load(second)
    assert json.loads(as_json(cargo.explain(people, [LABEL]).to_dicts())) == causes
    status, told = service.ask("/explain?label=heart%20failure", asked)
    assert status == 200
    assert [
        {"sequence_id": one["id"], **cause} for one in told["sequences"] for cause in one["causes"]
    ] == causes
    assert {cause["sequence_id"] for cause in causes} <= {one["id"] for one in asked}
    assert CAUSES[0] in {cause["event"] for cause in causes}
    predicted = run_json("predict", second, people)["probabilities"]
    assert cargo.predict_proba(people).to_dicts() == predicted
    assert [{"sequence_id": one["id"], **one["probabilities"]} for one in told["sequences"]] == predicted


def test_the_service_tells_what_the_run_found_after_its_second_week(
    clinic: Clinic, second: Path, service: Service
) -> None:
    cargo, (status, told) = Cargo.load(second), service.ask("/labels")
    assert status == 200
    (label,) = told["labels"]
    edges = cargo.graph_.edges.select("event", "sign", "odds_ratio", "odds_low", "odds_high").to_dicts()
    assert label["boundary"] == edges
    rule = cargo.rules_[LABEL]
    assert rule is not None
    assert (label["rule"]["text"], label["rule"]["support"]) == (rule.text, rule.support)
    assert label["verdict"]["level"] == cargo.verdicts_[LABEL].level
    assert label["verdict"]["reasons"] == list(cargo.verdicts_[LABEL].reasons)
    assert cargo.verdicts_[LABEL].reasons != Cargo.load(clinic.run).verdicts_[LABEL].reasons


def test_the_report_tells_how_many_sequences_came_later(clinic: Clinic, second: Path) -> None:
    first, later = (read_report_input(one, recall(one).data).cohort for one in (clinic.run, second))
    sequences = len(recall(second).data) - len(recall(clinic.run).data)
    assert "look-back 30d" in first
    assert later == f"{first}, {sequences:,} sequences added since"


def test_verifying_the_updated_run_again_changes_nothing(second: Path) -> None:
    before = read_graph(second / "graph.parquet").edges
    run("verify", second)
    assert read_graph(second / "graph.parquet").edges.equals(before)
