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
