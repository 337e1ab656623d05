"""Phase 2: from the edges of single sequences to one graph, by the rules of the paper.

`Votes` counts the edges. A rule gives every label the least frequency (union, static, adaptive) or the least
mutual information (bes, caig, the Beta mixture) that an edge needs; `select` applies a least frequency.
"""

from eventcargo.fusion.beta import BetaMixture, expected_fpr, fit_mixture
from eventcargo.fusion.caig import bes, caig, exceeds
from eventcargo.fusion.selection import select
from eventcargo.fusion.thresholds import adaptive, static, union
from eventcargo.fusion.votes import Votes

__all__ = [
    "BetaMixture",
    "Votes",
    "adaptive",
    "bes",
    "caig",
    "exceeds",
    "expected_fpr",
    "fit_mixture",
    "select",
    "static",
    "union",
]
