"""Verdicts: whether to trust the edges of each label, and whether they are all, in words and numbers."""

from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.verdict import (
    LEVELS,
    Verdict,
    Verdicts,
    count_levels,
    read_verdicts,
    verdict_notes,
    write_verdicts,
)

__all__ = [
    "LEVELS",
    "JudgeConfig",
    "Verdict",
    "Verdicts",
    "count_levels",
    "read_verdicts",
    "verdict_notes",
    "write_verdicts",
]
