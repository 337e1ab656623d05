"""Every crash point of a write: the process is killed at its first, second, ... operation on files.

The interpreter itself reports the operations (audit events), so that nothing of ours is replaced.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.reliability.programs import environment

OPERATIONS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate")

WRITES = {
    "document": "files.write_document(folder / 'x', 'example', 1, {'number': number})",
    "new folder": "columns(folder / 'x', number)",
    "replaced folder": "replaced(folder / 'x', number)",
    "shard": "shard(folder / 'x', number)",
}
"""Statements that write the path x; what they write follows from a number."""


def kill_at(point: int, folder: Path) -> None:
    """Kill this process at its nth operation on files below a folder."""
    seen = 0

    def watch(event: str, arguments: Any) -> None:
        nonlocal seen
        if event in OPERATIONS and isinstance(arguments[0], str | Path) and _is_below(arguments, folder):
            seen += 1
            if seen == point:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _is_below(arguments: Any, folder: Path) -> bool:
    writes = len(arguments) < 3 or not isinstance(arguments[1], str) or arguments[1] != "r"
    return writes and str(arguments[0]).startswith(str(folder))


def write(what: str, number: int, point: int, folder: Path) -> int:
    """Write in a process of its own that is killed at a point, 0: never; return its exit code."""
    command = [sys.executable, "-m", "tests.reliability.crash_points", what, str(number), str(point), folder]
    return subprocess.run(list(map(str, command)), env=environment(), check=False).returncode


def columns(path: Path, number: int) -> None:
    """A saved data set."""
    from eventcargo import EventDataset, EventSequence

    EventDataset.from_sequences([EventSequence(str(number), ("a",), (0.0,), ("x",))]).save(path)


def replaced(path: Path, number: int) -> None:
    """A folder in place of another, as votes are written."""
    from eventcargo.files import replacing_folder

    with replacing_folder(path) as target:
        for name in "ab":
            (target / name).write_text(str(number))


def shard(path: Path, number: int) -> None:
    """A shard of edges."""
    from eventcargo.edges import EdgeFolder, EdgeTable

    EdgeFolder(path, {"shards": 1, "number": number}).write(0, EdgeTable.join([]))


if __name__ == "__main__":
    from eventcargo import files

    what, number, point, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    if what == "shard":
        import eventcargo.edges  # loaded before operations are counted
    if what == "new folder":
        import eventcargo.events  # noqa: F401 (the same)
    kill_at(point, folder)
    exec(WRITES[what], {"files": files, **globals()})  # (a statement of ours, above)
