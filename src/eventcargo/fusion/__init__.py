"""Phase 2: fuse the edges of single sequences into one graph, by a criterion of the paper or a better one.

A `VoteStore` counts the votes. A criterion sets the threshold of every label: the smallest frequency (union,
static, adaptive), the smallest mutual information (bes, caig, fpr), or the smallest share that the lower end
of an edge's interval must reach (confident). `fuse` applies it.
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
