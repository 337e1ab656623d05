import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eventcargo.errors import ConfigError, EventCargoWarning
from eventcargo.knowledge import Knowledge, Resolved

LABELS = ["brake", "fuel"]
EVENTS = ["P01", "P02", "U03"]


def resolve(**statements: Any) -> Resolved:
    return Knowledge(**statements).resolve(LABELS, EVENTS)


def open_pairs(resolved: Resolved) -> set[tuple[str, str]]:
    rows, columns = resolved.table(LABELS, EVENTS).nonzero()
    return {(LABELS[row], EVENTS[column]) for row, column in zip(rows, columns, strict=True)}


ALL = {(label, event) for label in LABELS for event in EVENTS}


def test_nothing_known_bars_nothing() -> None:
    assert open_pairs(resolve()) == ALL


def test_forbidden_pairs_are_barred_and_no_others() -> None:
    assert ALL - open_pairs(resolve(forbidden={"brake": "P*"})) == {("brake", "P01"), ("brake", "P02")}


def test_a_label_is_limited_to_the_event_types_allowed_for_it() -> None:
    assert ALL - open_pairs(resolve(allowed={"fuel": ["P01", "U*"]})) == {("fuel", "P02")}


def test_allowances_of_one_label_add_up() -> None:
    barred = ALL - open_pairs(resolve(allowed={"fuel": "P01", "f*": "U03"}))
    assert barred == {("fuel", "P02")}


def test_what_is_forbidden_stays_so_where_it_is_allowed() -> None:
    barred = ALL - open_pairs(resolve(allowed={"fuel": ["P01", "P02"]}, forbidden={"*": "P02"}))
    assert barred == {("brake", "P02"), ("fuel", "P02"), ("fuel", "U03")}


def test_a_label_has_no_causes_of_a_later_tier() -> None:
    tiers = [{"events": "P01"}, {"events": ["P02"], "labels": ["brake"]}, {"events": "U03", "labels": "fuel"}]
    assert ALL - open_pairs(resolve(tiers=tiers)) == {("brake", "U03")}


def test_what_is_in_no_tier_is_not_bound() -> None:
    tiers = [{"labels": "brake"}, {"events": "P01"}]
    assert ALL - open_pairs(resolve(tiers=tiers)) == {("brake", "P01")}


def test_required_pairs_are_told_by_name() -> None:
    assert resolve(required={"*": "P01"}).required == {("brake", "P01"), ("fuel", "P01")}


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ({"forbidden": {"b*": "P*"}}, "it is forbidden"),
        ({"allowed": {"brake": "U03"}}, "limited to other event types"),
        ({"tiers": [{"labels": "brake"}, {"events": "P01"}]}, "later tier"),
    ],
)
def test_a_required_pair_that_is_barred_is_refused(statements: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=f"1 required pair .*'brake'.*'P01', because.*{reason}"):
        resolve(required={"brake": "P01"}, **statements)


def test_a_name_in_two_tiers_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"event type 'P01' is in tier 1 and, by 'P\*', in tier 2"):
        resolve(tiers=[{"events": "P01"}, {"events": "P*"}])


def test_a_name_may_stand_twice_in_one_tier() -> None:
    resolved = resolve(tiers=[{"labels": "brake"}, {"events": ["P01", "P*"]}])
    assert open_pairs(resolved) == ALL - {("brake", "P01"), ("brake", "P02")}


@pytest.mark.parametrize("name", ["required", "forbidden", "allowed"])
def test_unknown_names_are_refused_with_their_statement(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} has the label 'brakes', which is not among the 2"):
        resolve(**{name: {"brakes": "P01"}})


def test_unknown_names_of_a_tier_are_refused() -> None:
    with pytest.raises(ConfigError, match="tier 2 has the event type 'P9'"):
        resolve(tiers=[{"events": "P01"}, {"events": "P9"}])


def test_labels_that_match_nothing_are_counted() -> None:
    with pytest.warns(EventCargoWarning, match=r"1 of 1 label pattern, .*'x\*'"):
        resolve(forbidden={"x*": "P01"})


def test_event_types_that_match_nothing_are_counted() -> None:
    with pytest.warns(EventCargoWarning, match=r"1 of 2 event type patterns, .*'x\*'"):
        resolve(forbidden={"brake": ["x*", "P*"]})


def test_labels_left_without_event_types_are_counted() -> None:
    with pytest.warns(EventCargoWarning, match="leaves 1 of 2 labels without any event type"):
        resolve(forbidden={"brake": "*"})


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ({"forbidden": [["brake", "P01"]]}, "forbidden is a list; use a mapping"),
        ({"forbidden": {7: "P01"}}, "forbidden has 7, which is not a name"),
        ({"forbidden": {"brake": 7}}, "forbidden of 'brake' has 7"),
        ({"tiers": {"events": "P01"}}, "tiers is a dict; use a list"),
        ({"tiers": "P01"}, "tiers is a str; use a list"),
        ({"tiers": ["P01"]}, "tier 1 is a str; use a mapping"),
        ({"tiers": [{"events": "P01"}, {"event": "P02"}]}, "tier 2 has the unknown key 'event'"),
        ({"tiers": [{"events": 3}]}, "tier 1, events, has 3"),
    ],
)
def test_statements_of_another_form_are_refused(statements: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Knowledge(**statements)


STATEMENTS: dict[str, Any] = {
    "required": {"brake": ["P01"]},
    "forbidden": {"fuel": ["P01", "U*"]},
    "allowed": {"brake": ["P*"]},
    "tiers": [{"events": ["P01"]}, {"labels": ["fuel"]}],
}


def test_files_say_the_same_as_python(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(json.dumps(STATEMENTS))
    assert Knowledge.read(tmp_path / "known.json") == Knowledge(**STATEMENTS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"forbiden": {}}, "known.json: has the unknown key 'forbiden'; use required, forbidden"),
        ([], "known.json: is a list; use a mapping"),
        ({"forbidden": 3}, "known.json: forbidden is a int"),
    ],
)
def test_files_of_another_form_are_refused_by_name(tmp_path: Path, content: object, message: str) -> None:
    (tmp_path / "known.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=message):
        Knowledge.read(tmp_path / "known.json")


def test_the_order_of_statements_does_not_change_the_fingerprint() -> None:
    one = Knowledge(forbidden={"a": ["x", "y"], "b": "z"})
    other = Knowledge(forbidden={"b": ["z"], "a": ["y", "x", "x"]})
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize("name", list(STATEMENTS))
def test_every_statement_is_part_of_the_fingerprint(name: str) -> None:
    fewer = {key: value for key, value in STATEMENTS.items() if key != name}
    assert Knowledge(**STATEMENTS).fingerprint != Knowledge(**fewer).fingerprint


def test_the_order_of_tiers_is_part_of_the_fingerprint() -> None:
    tiers = STATEMENTS["tiers"]
    assert Knowledge(tiers=tiers).fingerprint != Knowledge(tiers=tiers[::-1]).fingerprint


def test_saying_nothing_has_no_fingerprint() -> None:
    assert Knowledge().fingerprint is None


def test_many_names_are_resolved_in_seconds() -> None:
    labels, events = [f"L{i:03}" for i in range(474)], [f"E{i:05}" for i in range(29_100)]
    pairs = {f"L{i:03}": [f"E{j:05}" for j in range(i, i + 20)] for i in range(474)}
    began = time.process_time()
    resolved = Knowledge(forbidden=pairs, tiers=[{"events": "E0*"}, {"labels": "*"}]).resolve(labels, events)
    assert time.process_time() - began < 3
    assert int((~resolved.allowed).sum()) == 474 * 20


@pytest.fixture
def resolved() -> Resolved:
    return Knowledge(forbidden={"a": "x", "b": "y"}).resolve(["a", "b"], ["x", "y", "z"])


def test_the_table_is_in_the_order_asked_for(resolved: Resolved) -> None:
    assert resolved.table(["b", "a"], ["z", "x"]).tolist() == [[True, True], [True, False]]


def test_names_that_were_not_resolved_are_open(resolved: Resolved) -> None:
    assert resolved.table(["new", "a"], ["[PAD]", "x"]).tolist() == [[True, True], [True, False]]


def test_nothing_known_is_everything_open() -> None:
    assert Resolved((), (), np.ones((0, 0), bool), frozenset()).table(["a"], ["x"]).tolist() == [[True]]
