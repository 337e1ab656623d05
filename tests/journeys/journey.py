"""What a journey leaves behind: the files as a new user has them, and the truth about them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Journey:
    """Files by name; for each label its true causes, and the records that follow it and are never a cause."""

    files: dict[str, Path]
    causes: dict[str, set[str]]
    post_outcome: dict[str, set[str]]
