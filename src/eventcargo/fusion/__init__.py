"""Phase 2: fuse the edges of single sequences into one graph, by a criterion of the paper or a better one.

A `VoteStore` counts the votes. A criterion sets the threshold of every label: the smallest frequency (union,
static, adaptive), the smallest mutual information (bes, caig, fpr), or the smallest share that the lower end
of an edge's interval must reach (confident). `fuse` applies it.
"""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
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
    from eventcargo.fusion.fuse import fuse_run
    from eventcargo.fusion.vote_store import (
        VoteStore,
        join_runs,
        read_votes,
        run_votes,
        untrusted_labels,
        write_votes,
    )
    from eventcargo.fusion.votes import Votes
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": "CRITERIA FuseConfig",
            "criteria": "BetaMixture adaptive bes caig exceeds expected_fpr fit_mixture static union",
            "fuse": "fuse_run",
            "vote_store": "VoteStore join_runs read_votes run_votes untrusted_labels write_votes",
            "votes": "Votes",
        },
    )

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
    "fuse_run",
    "join_runs",
    "read_votes",
    "run_votes",
    "static",
    "union",
    "untrusted_labels",
    "write_votes",
]
