from pathlib import Path

import pytest

from eventcargo.errors import ConfigError
from eventcargo.knowledge.parsing import parse


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder / name


def test_json_is_read(tmp_path: Path) -> None:
    assert parse(written(tmp_path, "known.json", '{"tiers": [{"events": "P*"}]}')) == {
        "tiers": [{"events": "P*"}]
    }


def test_yaml_is_read(tmp_path: Path) -> None:
    text = 'forbidden:\n  "EP_*": [U01, "P0*"]\n'
    assert parse(written(tmp_path, "known.yaml", text)) == {"forbidden": {"EP_*": ["U01", "P0*"]}}


def test_a_key_that_stands_twice_in_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'a' appears twice"):
        parse(written(tmp_path, "known.json", '{"forbidden": {"a": "x", "a": "y"}}'))


def test_a_key_that_stands_twice_in_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'a' appears twice"):
        parse(written(tmp_path, "known.yml", "forbidden:\n  a: x\n  a: y\n"))


def test_yaml_makes_no_objects(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="YAML reads as python"):
        parse(written(tmp_path, "known.yml", "!!python/object/apply:os.getcwd []"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("known.json", b"{", "is not JSON: .*line 1"),
        ("known.json", b"\xff", "is not UTF-8 text: .*byte 0"),
        ("known.toml", b"", "the ending '.toml' is unknown; use .json"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        parse(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        parse(tmp_path / "known.json")


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("known.yaml", LAUGHS, "has more than 200,000 names once its aliases are written out"),
        ("known.yaml", "a: &a {x: y}\nb: &b {<<: 7}\n", "line 2 .*int|merges"),
        ("known.yaml", "required: &a {brake: *a}\n", "line 1 contains itself"),
        ("known.yaml", "required: {brake: 2024-99-99}\n", "YAML reads as timestamp, which is not a name"),
        ("known.yaml", "2024-01-01: x\n", "which is not a name; put names and patterns in quotes"),
        ("known.yaml", "? [a, b]\n: c\n", r"the key \['a', 'b'\] is not a name"),
        ("known.yaml", "required: !!bool maybe\n", "YAML reads as bool"),
        ("known.yaml", "required: !!map x\n", "YAML reads as map, which is not a name"),
        ("known.yaml", "[" * 20_000, "is nested too deeply"),
        ("known.json", '{"a":' * 50_000, "is nested too deeply"),
        ("known.json", "7" * 5_000, "thousands of digits"),
        ("known.yaml", "a: " + "7" * 5_000, "YAML reads as int"),
    ],
)
def test_what_would_grow_or_surprise_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(written(tmp_path, name, content))


def test_aliases_and_merged_mappings_are_written_out(tmp_path: Path) -> None:
    text = "a: &a {x: [P01], y: [P02]}\nb: {<<: *a, y: [P03]}\nc: *a\nd:\n"
    whole = {"x": ["P01"], "y": ["P02"]}
    assert parse(written(tmp_path, "known.yaml", text)) == {
        "a": whole,
        "b": {"x": ["P01"], "y": ["P03"]},
        "c": whole,
        "d": None,
    }
