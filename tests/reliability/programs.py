"""The program in a process of its own, as users run it: with limits, on small disks, killed and resumed."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import eventcargo

PATHS = os.pathsep.join([str(Path(eventcargo.__file__).parents[1]), str(Path(__file__).parents[2])])
QUICK = ("--preset", "fast", "--steps", "2")

TIMES = (
    *("report.html", "run.json", "artefacts.json", "quality.json"),
    *("checkpoint.safetensors", "linear.safetensors", "focused.safetensors"),
)
"""Files that tell how long a run took, or follow from such a file."""


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str

    @property
    def error(self) -> str:
        """The one sentence of a refusal."""
        lines = self.stderr.strip().splitlines()
        assert self.code == 1, (self.code, self.stderr)
        assert lines[-1].startswith("error: "), self.stderr
        assert "Traceback" not in self.stderr
        return lines[-1]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}


def start(*arguments: str | Path, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start `eventcargo ARGUMENTS`; `before` is a command that runs it, such as `prlimit`."""
    command = [*before, sys.executable, "-m", "eventcargo", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


def run(*arguments: str | Path, before: Sequence[str] = (), patience: float = 600.0) -> Done:
    """Run `eventcargo ARGUMENTS` to its end."""
    process = start(*arguments, before=before)
    stdout, stderr = process.communicate(timeout=patience)
    return Done(process.returncode, stdout, stderr)


def killed_when(path: Path, *arguments: str | Path, by: int = signal.SIGKILL) -> int:
    """Start the program and kill it once a path exists; return its exit code."""
    process = start(*arguments)
    while process.poll() is None and not path.exists():
        time.sleep(0.002)
    process.send_signal(by)
    process.communicate(timeout=600)
    return process.returncode


def digest(folder: Path) -> dict[str, str]:
    """Hashes of all results below a folder, without those that tell the time."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in TIMES
    }


def leftovers(folder: Path) -> list[str]:
    """Working folders that nobody uses."""
    return [path.name for path in folder.rglob(".*")]
