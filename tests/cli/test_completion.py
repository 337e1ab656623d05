"""Shells ask the program itself, by environment variables; real bash does so where it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eventcargo.baselines import METHODS
from eventcargo.cli import COMMANDS

from ..loaded import HEAVY

PROGRAM = f"""
import atexit, sys
sys.argv[0] = "eventcargo"
atexit.register(lambda: print("heavy:", [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr))
from eventcargo.cli import main
main()
"""


def ask(shell: str, words: str) -> tuple[list[str], str]:
    """What a shell is told of a line of words up to the cursor, and which heavy packages that loaded."""
    asked = {
        "bash": {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": words},
        "fish": {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    environment = os.environ | asked | {"_EVENTCARGO_COMPLETE": f"complete_{shell}"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.splitlines(), done.stderr.strip()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("eventcargo ", list(COMMANDS)),
        ("eventcargo ver", ["verify"]),
        ("eventcargo discover --pres", ["--preset"]),
        ("eventcargo discover --preset ", ["default", "fast", "paper"]),
        ("eventcargo discover --preset f", ["fast"]),
        ("eventcargo baseline ", list(METHODS)),
        ("eventcargo simulate chain --sequ", ["--sequences"]),
        ("eventcargo judge --conf", ["--config"]),
    ],
)
def test_bash_is_told_commands_options_and_choices_at_once(words: str, told: list[str]) -> None:
    assert ask("bash", words) == (told, "heavy: []")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_the_same_with_help(shell: str) -> None:
    lines, heavy = ask(shell, "eventcargo ver")
    assert "verify" in lines[0]
    assert COMMANDS["verify"][:20] in " ".join(lines)
    assert heavy == "heavy: []"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with the program as it is installed."""
    script = tmp_path / "bin" / "eventcargo"
    script.parent.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "program.py"}" "$@"\n')
    script.chmod(0o755)
    return script.parent


def in_bash(program: Path, home: Path, commands: str) -> str:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    environment = os.environ | {"PATH": f"{program}:{os.environ['PATH']}", "HOME": str(home)}
    done = subprocess.run(
        [bash, "--norc", "-c", commands], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_real_bash_completes_after_the_script_is_sourced(program: Path, tmp_path: Path) -> None:
    commands = """
    eval "$(_EVENTCARGO_COMPLETE=source_bash eventcargo)"
    complete -p eventcargo
    COMP_WORDS=(eventcargo discover --pres); COMP_CWORD=2
    _eventcargo_completion eventcargo --pres discover
    printf 'told: %s\\n' "${COMPREPLY[@]}"
    """
    printed = in_bash(program, tmp_path, commands)
    assert "-F _eventcargo_completion eventcargo" in printed
    assert "told: --preset" in printed.splitlines()


def test_real_bash_installs_completion_into_the_home_folder(program: Path, tmp_path: Path) -> None:
    printed = in_bash(program, tmp_path, "eventcargo --install-completion; true")
    assert "bash completion installed in" in printed
    assert "eventcargo" in (tmp_path / ".bashrc").read_text()
    assert "_eventcargo_completion" in in_bash(program, tmp_path, "eventcargo --show-completion; true")
