import json
from pathlib import Path

import pytest

from eventcargo.documents import read_document, write_document
from eventcargo.errors import DataError


def test_content_comes_back_as_it_was(tmp_path: Path) -> None:
    content = {"names": ["ü", '<script>"'], "empty": None}
    write_document(tmp_path / "a.json", "example", 3, content)
    assert read_document(tmp_path / "a.json", "example", 3) == content


def test_format_and_version_stand_in_the_file(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", "example", 3, {})
    assert json.loads((tmp_path / "a.json").read_text()) == {"format": "example", "version": 3}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON.*; do this"),
        ("[]", "not written by eventcargo as example; do this"),
        (json.dumps({"format": "other", "version": 3}), "not written by eventcargo as example"),
        (
            json.dumps({"format": "example", "version": 4}),
            "version 4 of another release, this one reads 3; do",
        ),
    ],
)
def test_what_is_damaged_or_foreign_is_refused_with_advice(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=rf"a\.json.*{said}"):
        read_document(tmp_path / "a.json", "example", 3, "do this")


def test_content_that_is_no_json_leaves_the_old_file(tmp_path: Path) -> None:
    write_document(tmp_path / "a.json", "example", 3, {"old": 1})
    with pytest.raises(TypeError):
        write_document(tmp_path / "a.json", "example", 3, {"new": object()})
    assert read_document(tmp_path / "a.json", "example", 3) == {"old": 1}
