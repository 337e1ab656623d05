"""Phase 2: from the edges of single sequences to one graph, by the rules of the paper and a better one.

A `VoteStore` counts the votes. A rule gives every label the least frequency (union, static, adaptive), the
least mutual information (bes, caig, fpr) or the least share that an edge surely has (confident); `fuse`
applies it.
"""

from eventcargo.fusion.config import CRITERIA, FuseConfig
from eventcargo.fusion.criteria import (
    BetaMixture,
    adaptive,
    bes,
    caig,
    exceeds,
    expected_fpr,
    fit_mixture,
    static,
    union,
)
from eventcargo.fusion.fuse import fuse, fuse_run
from eventcargo.fusion.vote_store import VoteStore, read_votes, write_votes
from eventcargo.fusion.votes import Votes
from eventcargo.statistics.intervals import jeffreys

__all__ = [
    "CRITERIA",
    "BetaMixture",
    "FuseConfig",
    "VoteStore",
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
    "read_votes",
    "static",
    "union",
    "write_votes",
]
