"""The program `eventcargo`, run as a user runs it but in this process, which saves its start."""

import contextlib
import io
import json
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from eventcargo.cli import main


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str


def run(*arguments: str | Path, code: int = 0) -> Done:
    """Run `eventcargo ARGUMENTS` and check the exit code."""
    stdout, stderr, left = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        warnings.catch_warnings(),
        patch.object(sys, "argv", ["eventcargo", *map(str, arguments)]),
    ):
        try:
            main()
        except SystemExit as end:
            left = int(end.code or 0)
    assert left == code, stderr.getvalue()
    return Done(plain(stdout.getvalue()), plain(stderr.getvalue()))


def plain(printed: str) -> str:
    """What was printed without colours, which some environments ask for even where nobody watches."""
    return re.sub(r"\x1b\[[0-9;]*m", "", printed)


def run_json(*arguments: str | Path) -> Any:
    """Run a command with --json and parse what it printed."""
    return json.loads(run(*arguments, "--json").stdout)
