"""Figures are those of the command line and of Python, to the last digit."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eventcargo import Cargo, Cohort, ConfigError
from eventcargo.discovery import load_run_model
from eventcargo.errors import EventCargoWarning
from eventcargo.rules.literals import Literal
from eventcargo.rules.rule import Rule
from eventcargo.service import ServedRun, as_json
from eventcargo.service.problems import Problem
from eventcargo.service.sequences import Fields, Sent

from ..cli.program import run_json
from .runs import sequences_of, subjects_to_send


def sent(served: ServedRun, content: Any) -> Sent:
    return Sent.parse(content, served.fields(1_000, 10_000))


def answer(content: dict[str, Any]) -> dict[str, Any]:
    return json.loads(as_json(content))


def test_probabilities_and_causes_of_a_cohort_are_those_of_the_command_line(
    clinic: ServedRun, clinic_run: Path
) -> None:
    sequences, events, static = subjects_to_send(clinic_run)
    tables = (clinic_run, events, "--static", static)
    predicted, explained = run_json("predict", *tables), run_json("explain", *tables)
    told = answer(clinic.explain(sent(clinic, sequences)))
    rows = [{"sequence_id": one["id"], **one["probabilities"]} for one in told["sequences"]]
    causes = [{"sequence_id": one["id"], **cause} for one in told["sequences"] for cause in one["causes"]]
    assert rows == predicted["probabilities"]
    assert causes == explained["causes"]
    assert len(causes) > 2
    assert all(cause["first_time"].startswith("20") for cause in causes)
    again = answer(clinic.predict(sent(clinic, sequences)))["sequences"]
    assert [one["probabilities"] for one in again] == [one["probabilities"] for one in told["sequences"]]


def test_figures_of_plain_tables_are_those_of_python(chain: ServedRun, chain_run: Path) -> None:
    sequences = sequences_of(chain_run, 40)
    rows = [
        {"sequence_id": one["id"], "event": e["name"], "time": e["time"]}
        for one in sequences
        for e in one["events"]
    ]
    cargo, told = Cargo.load(chain_run), chain.explain(sent(chain, sequences))
    table = cargo.predict_proba(pl.DataFrame(rows))
    assert [
        {"sequence_id": one["id"], **one["probabilities"]} for one in told["sequences"]
    ] == table.to_dicts()
    causes = [{"sequence_id": one["id"], **cause} for one in told["sequences"] for cause in one["causes"]]
    assert causes == cargo.explain(pl.DataFrame(rows)).to_dicts()
    held = {
        label: rule.holds(cargo.read(pl.DataFrame(rows))).tolist()
        for label, rule in cargo.rules_.items()
        if rule
    }
    assert held.keys() == set(chain.rules)
    for label, where in held.items():
        assert [label in one["rules"] for one in told["sequences"]] == where
        assert 0 < sum(where) < 40
    assert told["verdicts"] == {label: verdict.level for label, verdict in cargo.verdicts_.items()}


def test_figures_do_not_depend_on_what_else_is_asked(chain: ServedRun, chain_run: Path) -> None:
    sequences = sequences_of(chain_run, 12)
    together = chain.explain(sent(chain, sequences[::-1]))["sequences"]
    alone = [chain.explain(sent(chain, one))["sequences"][0] for one in sequences]
    assert together == alone


def test_labels_can_be_chosen(chain: ServedRun) -> None:
    asked = sent(chain, {"id": "a", "events": [{"name": "E00000", "time": 0}]})
    (one,) = chain.explain(asked, ["L001"])["sequences"]
    assert (list(one["probabilities"]), one["explained"]) == (["L001"], ["L001"])
    (other,) = chain.explain(asked)["sequences"]
    assert (len(other["probabilities"]), other["explained"]) == (2, [])
    with pytest.raises(Problem, match=r"label=l001: not among the 2 labels; did you mean 'L001'\?"):
        chain.predict(asked, ["l001"])


def test_unknown_event_types_are_named_and_counted(chain: ServedRun) -> None:
    events = [{"name": name, "time": 0} for name in ("E00000", "new", "new")]
    told = chain.predict(sent(chain, {"id": "a", "events": events}))
    assert told["unknown_events"] == [{"event": "new", "occurrences": 2, "sequences": 1}]


def test_excluded_events_are_not_read_and_sequences_of_them_alone_are_named(clinic: ServedRun) -> None:
    day = "2024-05-01T08:00:00Z"
    sequences = [
        {
            "id": "a",
            "events": [{"name": "ADMIN//invoice", "time": day}, {"name": " Med//Vancomycin", "time": day}],
        },
        {"id": "b", "events": [{"name": "admin//invoice", "time": day}]},
    ]
    told = clinic.predict(sent(clinic, sequences))
    assert [one["id"] for one in told["sequences"]] == ["a"]
    assert (told["left_out"], told["unknown_events"], told["notes"]) == (["b"], [], [])
    with pytest.raises(Problem, match=r"every event is of a type that this run leaves out: 'admin\*'"):
        clinic.predict(sent(clinic, sequences[1]))


@pytest.mark.filterwarnings("ignore:.*no event type matches:eventcargo.errors.EventCargoWarning")
def test_attributes_that_are_not_sent_are_not_known(clinic: ServedRun) -> None:
    assert clinic.attributes == ("age_band", "sex", "site", "ward")
    event = {"name": "MED//lorazepam", "time": "2024-05-01"}
    bare, old = ({"id": "a", "events": [event], "attributes": has} for has in ({}, {"age_band": "80+"}))
    one, other = (clinic.read(sent(clinic, given))["a"].events for given in (bare, old))
    assert (one, other) == (("med//lorazepam",), ("age_band=80+", "med//lorazepam"))


def test_a_long_sequence_is_cut_with_a_note(chain: ServedRun) -> None:
    events = [{"name": "E00000", "time": place} for place in range(600)]
    (note,) = chain.predict(sent(chain, {"id": "a", "events": events}))["notes"]
    assert "longer than" in note


def test_the_kinds_of_time_are_those_that_cohort_and_rules_can_use(
    clinic: ServedRun, chain: ServedRun
) -> None:
    assert (clinic.times, chain.times) == (("datetime",), ("number", "datetime", "order"))
    timed = Rule("L000", ((Literal("since", ("E00000",), 2.5, unit="h"),),), 1, 1, 1.0, 1.0)
    assert replace(chain, rules={"L000": timed}).times == ("number",)
    assert replace(chain, cohort=Cohort(lookback="30d")).times == ("datetime",)
    assert replace(chain, cohort=Cohort(lookback="30")).times == ("number",)


def test_a_rule_that_needs_times_is_left_out_with_a_note_where_there_are_none(chain: ServedRun) -> None:
    timed = Rule("L000", ((Literal("since", ("E00000",), 2.5, unit="h"),),), 1, 1, 1.0, 1.0)
    (one,) = replace(chain, rules={"L000": timed}).predict(
        Sent.parse({"id": "a", "events": [{"name": "E00000"}]}, Fields())
    )["notes"]
    assert one.startswith("the rule of 'L000' is left out: 'E00000 within 2.5 h of the end' needs times")


def test_labels_have_boundary_rule_and_verdict(chain: ServedRun, chain_run: Path) -> None:
    first = chain.labels()["labels"][0]
    graph = Cargo.load(chain_run).graph_
    assert [one["event"] for one in first["boundary"]] == graph.boundary("L000")
    assert first["rule"]["text"] == chain.rules["L000"].text
    assert first["verdict"]["level"] == chain.verdicts["L000"].level


def test_a_changed_model_is_refused(chain_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(chain_run, run)
    shutil.copy(run / "run.json", run / "model" / "config.json")
    with pytest.raises(ConfigError, match="is not the model of this run: its files have changed"):
        ServedRun.load(run)


def test_a_run_without_time_for_a_model_is_refused(chain_run: Path, tmp_path: Path) -> None:
    shutil.copy(chain_run / "graph.parquet", tmp_path)
    with pytest.raises(ConfigError, match="had no time to fit a model"):
        ServedRun.load(tmp_path)


def test_rules_and_verdicts_of_another_graph_are_left_out(chain_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(chain_run, run)
    shutil.copy(run / "baseline.parquet", run / "graph.parquet")
    with pytest.warns(EventCargoWarning, match=r"rules\.json|verdicts\.json"):
        served = ServedRun.load(run, load_run_model(run))
    assert (served.rules, served.verdicts) == ({}, {})
    assert served.labels()["labels"][0]["rule"] is None


def test_values_called_as_entries_of_requests_are_refused(chain_run: Path) -> None:
    with pytest.raises(ConfigError, match="a column of values called 'time'; rename it"):
        ServedRun.load(chain_run, values=("km", "time"))
