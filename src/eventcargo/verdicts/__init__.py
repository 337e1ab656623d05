"""When not to believe it: for every label a verdict on its boundary, with reasons in words and numbers."""

from eventcargo.verdicts.judgement import judge
from eventcargo.verdicts.settings import JudgeConfig
from eventcargo.verdicts.verdict import Verdict, read_verdicts, write_verdicts

__all__ = ["JudgeConfig", "Verdict", "judge", "read_verdicts", "write_verdicts"]
