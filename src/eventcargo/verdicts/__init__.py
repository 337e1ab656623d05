"""Verdicts: whether to trust the boundary of each label, with reasons in words and numbers."""

from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.judge import judge
from eventcargo.verdicts.verdict import LEVELS, Verdict, read_verdicts, write_verdicts

__all__ = ["LEVELS", "JudgeConfig", "Verdict", "judge", "read_verdicts", "write_verdicts"]
