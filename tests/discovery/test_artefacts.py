import json
import os
from pathlib import Path

import pytest

from eventcargo.discovery.artefacts import Artefacts, Origin
from eventcargo.errors import DataError
from eventcargo.files import sealed

from tests.sealed import edit

INPUTS = {"page": ("graph", "rules"), "rules": ("graph",)}


@pytest.fixture
def artefacts(tmp_path: Path) -> Artefacts:
    """A folder with a graph, and rules and a page made from it."""
    made = Artefacts(tmp_path, INPUTS)
    for name in ("graph", "rules", "page"):
        (tmp_path / name).write_text(name)
        made.record(name, f"make {name}", data="data of today")
    return made


def change(artefacts: Artefacts, name: str) -> None:
    (artefacts.folder / name).write_text("changed")


def age(artefacts: Artefacts, name: str) -> None:
    os.utime(artefacts.folder / name, (1, 1))


def test_files_are_current_while_nothing_changes(artefacts: Artefacts) -> None:
    assert [artefacts.outdated(name, "data of today") for name in ("graph", "rules", "page")] == [None] * 3


def test_a_changed_input_outdates_what_was_made_from_it(artefacts: Artefacts) -> None:
    change(artefacts, "graph")
    assert artefacts.outdated("rules") == "another graph"
    change(artefacts, "rules")
    assert artefacts.outdated("page") == "another graph"


def test_an_input_that_returns_to_what_it_was_outdates_nothing(artefacts: Artefacts) -> None:
    change(artefacts, "graph")
    (artefacts.folder / "graph").write_text("graph")
    assert artefacts.outdated("rules") is None


def test_a_new_input_outdates_what_was_made_without_it(artefacts: Artefacts) -> None:
    (artefacts.folder / "rules").unlink()
    artefacts.record("page", "make page")
    (artefacts.folder / "rules").write_text("rules")
    assert artefacts.outdated("page") == "another rules"


def test_an_input_that_is_gone_outdates_nothing(artefacts: Artefacts) -> None:
    (artefacts.folder / "graph").unlink()
    assert artefacts.outdated("rules") is None


def test_other_data_outdate_a_file(artefacts: Artefacts) -> None:
    assert artefacts.outdated("rules", "data of tomorrow") == "other data"


def test_a_file_made_from_other_data_than_its_inputs_is_outdated(artefacts: Artefacts) -> None:
    artefacts.record("rules", "make rules", data="data of tomorrow")
    assert artefacts.outdated("rules") == "other data"
    assert artefacts.outdated("rules", "data of tomorrow") is None


def test_unknown_data_outdate_nothing(artefacts: Artefacts) -> None:
    artefacts.record("graph", "make graph")
    artefacts.record("rules", "make rules")
    assert artefacts.outdated("rules", "data of tomorrow") is None


def test_a_file_that_is_not_there_is_not_outdated(artefacts: Artefacts) -> None:
    change(artefacts, "graph")
    (artefacts.folder / "rules").unlink()
    assert artefacts.outdated("rules") is None


def test_a_file_written_by_other_means_is_judged_by_its_age(artefacts: Artefacts) -> None:
    change(artefacts, "rules")
    age(artefacts, "graph")
    assert artefacts.origin("rules") is None
    assert artefacts.outdated("rules") is None
    age(artefacts, "rules")
    change(artefacts, "graph")
    assert artefacts.outdated("rules") == "another graph"


def test_age_does_not_matter_where_the_origin_is_known(artefacts: Artefacts) -> None:
    age(artefacts, "rules")
    assert artefacts.outdated("rules") is None


def test_an_origin_is_read_as_it_was_recorded(artefacts: Artefacts) -> None:
    artefacts.record("graph", "fuse", settings={"tau": 0.5}, knowledge={"forbidden": {"brake": ["P01"]}})
    origin = artefacts.origin("graph")
    assert origin == Origin("fuse", origin.content, {}, None, {"tau": 0.5}, {"forbidden": {"brake": ["P01"]}})
    assert artefacts.origin("nothing") is None


@pytest.mark.parametrize("content", [{"artefacts": []}, {"artefacts": {"rules": 1}}, {}])
def test_a_damaged_list_is_refused(artefacts: Artefacts, content: dict[str, object]) -> None:
    path = artefacts.folder / "artefacts.json"
    path.write_text(sealed("eventcargo-artefacts", 1, content))
    with pytest.raises(DataError, match="holds no artefacts; delete it"):
        artefacts.outdated("rules")


def test_a_damaged_entry_is_refused(artefacts: Artefacts) -> None:
    path = artefacts.folder / "artefacts.json"
    origins = json.loads(path.read_text())["artefacts"]
    del origins["rules"]["by"]
    edit(path, artefacts=origins)
    with pytest.raises(DataError, match=r"is damaged at rules: .*'by'; delete it"):
        artefacts.outdated("rules")
