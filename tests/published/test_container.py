"""The Dockerfile follows the rules of hadolint, and copies files that exist and that its context holds."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
HADOLINT = Path(sys.executable).with_name("hadolint")


def instructions(name: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in LINES if line.startswith(f"{name} ")]


COPIED = [
    path for copied in instructions("COPY") if not copied[0].startswith("--from") for path in copied[:-1]
]


def lint(dockerfile: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HADOLINT, dockerfile], capture_output=True, text=True, check=False)


def test_hadolint_has_no_complaint() -> None:
    done = lint(ROOT / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_hadolint_complains_about_a_container_that_runs_as_root(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python:3.12-slim\nUSER root\n")
    assert "DL3002" in lint(tmp_path / "Dockerfile").stdout


@pytest.mark.parametrize("path", COPIED)
def test_what_is_copied_is_in_the_context(path: str) -> None:
    assert (ROOT / path).exists()
    assert f"!{path}" in (ROOT / ".dockerignore").read_text("utf-8").splitlines()


def test_the_program_is_run_by_a_user_without_rights_of_root() -> None:
    ((user,),) = instructions("USER")
    assert any(f"--uid {user} " in " ".join(command) for command in instructions("RUN"))
    assert instructions("ENTRYPOINT") == [["[eventcargo]"]]
