import json
from pathlib import Path

import numpy as np
import pytest

from eventcargo import ConfigError, DataError, EventDataset, EventSequence, Vocabulary
from eventcargo.event_kinds import EventKinds
from eventcargo.files import sealed
from eventcargo.vocabulary import BOS, EOS, PAD, SPECIAL, UNK

HEADER = ("eventcargo-vocabulary", 1)


def _counted(**counts: int) -> EventDataset:
    events = tuple(name for name, count in counts.items() for _ in range(count))
    return EventDataset.from_sequences(
        [EventSequence("s", events, tuple(map(float, range(len(events)))), ())]
    )


def test_special_ids_come_first() -> None:
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)


def test_most_frequent_event_type_has_the_first_id() -> None:
    assert Vocabulary.from_dataset(_counted(a=1, b=3, c=2)).event_names == ("b", "c", "a")


def test_ties_are_broken_by_name() -> None:
    assert Vocabulary.from_dataset(_counted(z=2, m=2, a=2)).event_names == ("a", "m", "z")


def test_counts_are_those_of_the_selected_sequences(tiny: EventDataset) -> None:
    assert Vocabulary.from_dataset(tiny.select(["car4"])).event_names == ("a", "c")


def test_min_count_keeps_the_event_type_at_the_limit() -> None:
    assert Vocabulary.from_dataset(_counted(a=1, b=2, c=3), min_count=2).event_names == ("c", "b")


def test_max_size_keeps_the_most_frequent() -> None:
    assert Vocabulary.from_dataset(_counted(a=1, b=2, c=3), max_size=1).event_names == ("c",)


@pytest.mark.parametrize(("option", "value"), [("min_count", 0), ("max_size", 0)])
def test_sizes_below_one_are_refused_with_the_value(option: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{option}={value}"):
        Vocabulary.from_dataset(_counted(a=1), **{option: value})


def test_length_counts_special_tokens() -> None:
    assert len(Vocabulary(("a", "b"))) == 6


def test_encode_then_decode_gives_the_names_back() -> None:
    assert Vocabulary(("a", "b")).decode(Vocabulary(("a", "b")).encode(["b", "a", "b"])) == ["b", "a", "b"]


def test_unknown_event_type_becomes_unk() -> None:
    assert Vocabulary(("a",)).encode(["never"]) == [UNK]


@pytest.mark.parametrize("name", SPECIAL)
def test_event_type_named_like_a_special_token_is_an_event_type(name: str) -> None:
    assert Vocabulary((name,)).encode([name]) == [len(SPECIAL)]


@pytest.mark.parametrize("outside", [-1, 5])
def test_id_outside_is_refused_with_its_value(outside: int) -> None:
    with pytest.raises(DataError, match=f"id {outside} .* use 0 to 4"):
        Vocabulary(("a",)).decode([0, outside])


def test_event_type_twice_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="'b' appears twice"):
        Vocabulary(("a", "b", "b"))


def test_lookup_maps_the_numbers_of_a_dataset(tiny: EventDataset) -> None:
    vocabulary = Vocabulary(("b", "a"))
    ids = vocabulary.lookup(tiny.event_names)[tiny.events]
    assert np.array_equal(ids, [5, 4, 5, 4, UNK, 5])


def test_json_round_trip_keeps_kinds(tmp_path: Path) -> None:
    vocabulary = Vocabulary(("a", "b"), EventKinds(adjusted=("a",), families={"b": ("a",)}))
    vocabulary.to_json(tmp_path / "v.json")
    assert Vocabulary.from_json(tmp_path / "v.json") == vocabulary
    Vocabulary(("a", "b")).to_json(tmp_path / "v.json")
    assert "kinds" not in (tmp_path / "v.json").read_text()


def test_json_round_trip_keeps_hostile_names(tmp_path: Path) -> None:
    vocabulary = Vocabulary(("[PAD]", "é\n\t", '"', "", "\U0001f697"))
    vocabulary.to_json(tmp_path / "v.json")
    assert Vocabulary.from_json(tmp_path / "v.json") == vocabulary


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "not written by eventcargo as eventcargo-vocabulary"),
        (json.dumps({"event_names": ["a"]}), "not written by eventcargo as eventcargo-vocabulary"),
        (sealed(*HEADER, {"event_names": "ab"}), "needs a list 'event_names' of strings"),
        (sealed(*HEADER, {"event_names": [1]}), "needs a list 'event_names' of strings"),
    ],
)
def test_file_that_is_no_vocabulary_is_refused_by_name(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "v.json").write_text(content)
    with pytest.raises(DataError, match=rf"v\.json.*{reason}"):
        Vocabulary.from_json(tmp_path / "v.json")


def test_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"v\.json does not exist"):
        Vocabulary.from_json(tmp_path / "v.json")


@pytest.mark.parametrize("special", [["[PAD]"], None, 7])
def test_other_special_tokens_are_refused_with_the_value(tmp_path: Path, special: object) -> None:
    (tmp_path / "v.json").write_text(sealed(*HEADER, {"special": special, "event_names": ["a"]}))
    with pytest.raises(DataError, match="special tokens"):
        Vocabulary.from_json(tmp_path / "v.json")
