"""Phase 2: from the edges of single sequences to one graph, by the rules of the paper and a better one.

A `Poll` counts the votes. A rule gives every label the least frequency (union, static, adaptive), the least
mutual information (bes, caig, fpr) or the least share that an edge surely has (confident); `fuse` applies it.
"""

from eventcargo.fusion.beta import BetaMixture, expected_fpr, fit_mixture
from eventcargo.fusion.caig import bes, caig, exceeds
from eventcargo.fusion.consensus import fuse
from eventcargo.fusion.intervals import jeffreys
from eventcargo.fusion.poll import Poll
from eventcargo.fusion.records import fuse_run, read_poll, write_poll
from eventcargo.fusion.settings import RULES, FuseConfig
from eventcargo.fusion.thresholds import adaptive, static, union
from eventcargo.fusion.votes import Votes

__all__ = [
    "RULES",
    "BetaMixture",
    "FuseConfig",
    "Poll",
    "Votes",
    "adaptive",
    "bes",
    "caig",
    "exceeds",
    "expected_fpr",
    "fit_mixture",
    "fuse",
    "fuse_run",
    "jeffreys",
    "read_poll",
    "static",
    "union",
    "write_poll",
]
