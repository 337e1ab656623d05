import json
from pathlib import Path

import pytest

from eventcargo.errors import ConfigError, DataError
from eventcargo.files import sealed
from eventcargo.verdicts import Verdict, read_verdicts, verdict_notes, write_verdicts


def test_reasons_of_one_level_keep_their_order() -> None:
    found = Verdict.of("bad", [("caution", "a"), ("doubt", "b"), ("caution", "c"), ("doubt", "d")])
    assert (found.level, found.reasons) == ("doubt", ("b", "d", "a", "c"))


def test_what_is_missing_does_not_lower_the_level() -> None:
    found = Verdict.of("bad", [("trust", "all is well")], ["a", "b"])
    assert (found.level, found.reasons, found.missing) == ("trust", ("all is well",), ("a", "b"))


def test_scripts_get_both_answers() -> None:
    notes = verdict_notes({"bad": Verdict("bad", "trust", ("well",), ("z",))})
    assert notes == {"bad": {"level": "trust", "reasons": ["well"], "missing": ["z"]}}


def test_other_levels_are_refused() -> None:
    with pytest.raises(ConfigError, match="level='maybe': use trust, caution, doubt"):
        Verdict("bad", "maybe", ())


def test_verdicts_come_back_as_they_were_written(tmp_path: Path) -> None:
    missing: dict[str, tuple[str, ...]] = {"a": (), "ü": ("<b>", "no é")}
    verdicts = {name: Verdict(name, "caution", ('<script>"', "é"), missing[name]) for name in missing}
    write_verdicts(tmp_path / "verdicts.json", verdicts)
    assert read_verdicts(tmp_path / "verdicts.json") == verdicts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "not written by eventcargo"),
        (json.dumps({"format": "other"}), "not written by eventcargo"),
        (
            sealed("eventcargo-verdicts", 2, {"verdicts": [{"label": "a", "level": "doubt"}]}),
            "'reasons'",
        ),
        (json.dumps({"format": "eventcargo-verdicts", "version": 1, "verdicts": []}), "version 1"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "verdicts.json").write_text(content)
    with pytest.raises(DataError, match=rf"verdicts\.json.*{message}"):
        read_verdicts(tmp_path / "verdicts.json")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json does not exist"):
        read_verdicts(tmp_path / "none.json")
