import json
from pathlib import Path

import pytest

from eventcargo.discovery.run_folder import RunManifest
from eventcargo.errors import ConfigError, DataError


def test_what_is_done_is_known_when_a_run_goes_on(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {"seed": 1}, resume=False).finish("train", 12.5)
    again = RunManifest.begin(tmp_path, {"seed": 1}, resume=True)
    assert again.done == ["train"]
    assert again.used == 12.5


def test_the_time_of_a_stage_under_way_counts(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {}, resume=False).note("train", 30.0)
    again = RunManifest.begin(tmp_path, {}, resume=True)
    assert (again.used, again.done) == (30.0, [])


def test_a_run_is_gone_on_with_by_resume_only(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {}, resume=False)
    with pytest.raises(ConfigError, match="holds a run already"):
        RunManifest.begin(tmp_path, {}, resume=False)


def test_other_settings_are_not_resumed_with(tmp_path: Path) -> None:
    RunManifest.begin(tmp_path, {"seed": 1}, resume=False)
    with pytest.raises(ConfigError, match="begun with seed=1, now it is 2"):
        RunManifest.begin(tmp_path, {"seed": 2}, resume=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("{}", "not written by eventcargo"),
        (json.dumps({"format": "eventcargo-run", "version": 99}), "another release"),
    ],
)
def test_a_damaged_or_foreign_record_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(DataError, match=said):
        RunManifest.read(tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no run"):
        RunManifest.read(tmp_path)
