"""Verdicts: whether to trust the boundary of each label, with reasons in words and numbers."""

from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.verdict import (
    LEVELS,
    Verdict,
    count_levels,
    read_verdicts,
    verdict_notes,
    write_verdicts,
)

__all__ = [
    "LEVELS",
    "JudgeConfig",
    "Verdict",
    "count_levels",
    "read_verdicts",
    "verdict_notes",
    "write_verdicts",
]
