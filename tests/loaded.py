"""What a fresh interpreter loads: which heavy packages are in memory after a statement or a command."""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence

HEAVY = (
    "matplotlib",
    "networkx",
    "pandas",
    "polars",
    "pyarrow",
    "safetensors",
    "scipy",
    "scipy.stats",
    "sklearn",
    "torch",
    "torch._dynamo",
    "transformers",
)
"""Packages that take long to load."""

COMMANDS = """
import contextlib, io, json, sys

from eventcargo.cli import main

commands, heavy = json.loads(sys.argv[1])
loaded = []
for command in commands:
    sys.argv = ["eventcargo", *command]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as told:
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
    loaded.append([code, told.getvalue(), [name for name in heavy if name in sys.modules]])
print(json.dumps(loaded))
"""


def after_statement(statement: str) -> set[str]:
    """The heavy packages that a Python statement loads."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    return set(json.loads(_run(code)))


def after_commands(commands: Iterable[Sequence[str]]) -> list[tuple[int, str, set[str]]]:
    """Exit code, standard error and the heavy packages loaded so far, of commands one after the other."""
    results = json.loads(_run(COMMANDS, json.dumps([list(map(list, commands)), HEAVY])))
    return [(code, told, set(loaded)) for code, told, loaded in results]


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
