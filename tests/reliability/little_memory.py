"""A limit of memory that the system keeps: files that are read count, and who takes more is killed."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
FILES = {
    "memory": ("memory.limit_in_bytes", "memory.max_usage_in_bytes"),  # version 1
    "": ("memory.max", "memory.peak"),  # version 2
}


class NotPermittedError(Exception):
    """This machine does not let us limit memory."""


@dataclass(frozen=True)
class Group:
    """Processes that have so much memory together."""

    folder: Path
    peak_file: str

    @property
    def before(self) -> Sequence[str]:
        """A command that runs another one in this group."""
        return ("sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh")

    @property
    def peak(self) -> int:
        """The most memory that the group has had, with files that it read or wrote."""
        return int((self.folder / self.peak_file).read_text())


@contextmanager
def memory_group(limit: int) -> Iterator[Group]:
    """A group of processes with a limit of memory, or `NotPermittedError` where none can be made."""
    for kind, (limit_file, peak_file) in FILES.items():
        folder = GROUPS / kind / f"eventcargo-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            try:
                (folder / limit_file).write_text(str(limit))
            except OSError:
                continue
            yield Group(folder, peak_file)
            return
        finally:
            folder.rmdir()
    raise NotPermittedError(f"no group of processes with a limit of memory can be made in {GROUPS}")
