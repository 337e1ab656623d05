"""docs/install.md tells of every extra, and of nothing that is not there."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_every_extra_has_a_row() -> None:
    cells = re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == set(PROJECT["optional-dependencies"])


def test_every_build_argument_is_one_of_the_dockerfile() -> None:
    named = set(re.findall(r"--build-arg (\w+)=", PAGE))
    assert named == set(re.findall(r"^ARG (\w+)=", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE))


def test_what_is_installed_has_a_pinned_version() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines}
    needed = [
        *PROJECT["dependencies"],
        *(one for extra in PROJECT["optional-dependencies"].values() for one in extra),
    ]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=]", need)[0]).lower() for need in needed}
    assert names <= pinned
    assert lines == sorted(lines, key=str.lower)
