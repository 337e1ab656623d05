import json
from dataclasses import replace
from pathlib import Path

import pytest

from eventcargo import DataError, EventDataset, EventSequence
from eventcargo.files import sealed
from eventcargo.rules import Literal, Rule, read_rules, write_rules
from eventcargo.rules.rule import tell

A, B, C, D = (Literal("presence", (name,)) for name in "ABCD")
NOT_C = Literal("presence", ("C",), negated=True)


@pytest.mark.parametrize(
    ("literals", "text"),
    [
        (((A,),), "A"),
        (((A, B, NOT_C),), "A & B & !C"),
        (((A,), (B,)), "A | B"),
        (((A, B), (NOT_C,)), "(A & B) | !C"),
        (((A, B), (C, D)), "(A & B) | (C & D)"),
        (((A, C), (B, C)), "(A | B) & C"),
        (((A, C, D), (B, C, D)), "(A | B) & C & D"),
    ],
)
def test_groups_are_told_shortly(literals: tuple[tuple[Literal, ...], ...], text: str) -> None:
    assert tell(literals) == text


def rule(*groups: tuple[Literal, ...]) -> Rule:
    return Rule("brake", groups, support=12, carrying=11, precision=0.75, recall=9 / 11)


def test_a_rule_holds_where_all_literals_of_a_group_do() -> None:
    data = EventDataset.from_sequences(
        [
            EventSequence(name, tuple(name), tuple(map(float, range(len(name)))), ())
            for name in ["AB", "ABC", "AC", "D"]
        ]
    )
    assert rule((A, B, NOT_C), (D,)).holds(data).tolist() == [True, False, False, True]


def test_an_event_type_that_the_data_do_not_have_never_occurs() -> None:
    data = EventDataset.from_sequences([EventSequence("s1", ("A",), (0.0,), ())])
    assert rule((A, NOT_C)).holds(data).tolist() == [True]
    assert rule((A, C)).holds(data).tolist() == [False]


def test_rules_are_the_same_once_written_and_read(tmp_path: Path) -> None:
    timed = Literal("gap", ("A", "öl & <b>"), 0.6, negated=True, unit="h")
    burst = Literal("burst", ("A",), 7200.0, unit="s", times=3)
    rules = {"brake": rule((A, timed), (B,), (burst, Literal("state", ("A", "B", "C")))), "fuel": None}
    write_rules(rules, tmp_path / "rules.json")
    assert read_rules(tmp_path / "rules.json") == rules


def test_the_file_tells_every_rule_in_words(tmp_path: Path) -> None:
    write_rules({"brake": rule((A, B))}, tmp_path / "rules.json")
    assert json.loads((tmp_path / "rules.json").read_text("utf-8"))["rules"]["brake"]["text"] == "A & B"


def test_a_rule_that_falls_short_of_its_model_says_so(tmp_path: Path) -> None:
    short = replace(rule((A,)), model_f1=0.99, falls_short=True)
    assert short.shortfall == "the model knows more than this rule says: F1 .99 against .78"
    assert short.f1 == pytest.approx(2 / (1 / 0.75 + 11 / 9))
    write_rules({"brake": short}, tmp_path / "rules.json")
    assert read_rules(tmp_path / "rules.json") == {"brake": short}
    kept = json.loads((tmp_path / "rules.json").read_text("utf-8"))["rules"]["brake"]
    assert (kept["shortfall"], kept["model_f1"], kept["falls_short"]) == (short.shortfall, 0.99, True)


def test_a_rule_as_good_as_its_model_says_nothing() -> None:
    assert rule((A,)).shortfall == replace(rule((A,)), model_f1=0.99).shortfall == ""


HEAD = {"format": "eventcargo-rules", "version": 3}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "not written by eventcargo"),
        (json.dumps({**HEAD, "format": "eventcargo-data"}), "not written by eventcargo"),
        (json.dumps({**HEAD, "version": 7}), "version 7"),
        (
            sealed("eventcargo-rules", 3, {"rules": {"brake": {"support": 1}}}),
            "no entry 'literals'",
        ),
        (sealed("eventcargo-rules", 3, {"rules": []}), "damaged"),
    ],
)
def test_a_file_that_holds_no_rules_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(DataError, match=said):
        read_rules(tmp_path / "rules.json")
