"""CAIG and BES: the least mutual information that an edge of each label has to exceed.

Both scores are plain sums over edges (eq:caig), each edge adding its information and taking away a cost that
depends on its label alone. So whether an edge is worth its cost does not depend on the other edges, and
backward elimination, in any order, ends with those whose information is above the cost.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eventcargo.errors import ConfigError, DataError


def bes(support: Mapping[str, int], penalty: float = 0.0) -> dict[str, float]:
    """The same cost for every label; 0, the paper's plain sum, keeps all edges that have information.

    >>> bes({"brake": 40, "fuel": 2}, penalty=0.1)
    {'brake': 0.1, 'fuel': 0.1}
    """
    _check_penalty(penalty)
    return dict.fromkeys(support, float(penalty))


def caig(support: Mapping[str, int], n_sequences: int, penalty: float) -> dict[str, float]:
    """penalty * log(n_sequences / support + 1), in nats: an edge of a rare label costs more.

    The paper gives no value for its penalty (alpha). A label never seen costs infinitely much, so that none
    of its edges is kept.

    >>> costs = caig({"brake": 50, "fuel": 0}, n_sequences=100, penalty=0.5)
    >>> round(costs["brake"], 4), costs["fuel"]
    (0.5493, inf)
    """
    _check_penalty(penalty)
    for label, count in support.items():
        if not 0 <= count <= n_sequences:
            raise DataError(f"label {label!r} has a support of {count:,} among {n_sequences:,} sequences")
    return {
        label: penalty * math.log(n_sequences / count + 1) if count else math.inf
        for label, count in support.items()
    }


def exceeds(labels: Sequence[str], information: ArrayLike, costs: Mapping[str, float]) -> NDArray[np.bool_]:
    """Which edges, given by label and information, are worth their cost: backward elimination's result.

    An edge that is worth exactly its cost is eliminated: of equally good graphs the smaller one.

    >>> exceeds(["brake", "fuel"], [0.3, 0.3], {"brake": 0.1, "fuel": 0.5}).tolist()
    [True, False]
    """
    missing = sorted(set(labels) - set(costs))
    if missing:
        raise DataError(f"{len(missing):,} labels have no cost, the first: {missing[0]!r}")
    nats = np.asarray(information, np.float64)
    if nats.shape != (len(labels),) or np.isnan(nats).any():
        raise DataError(
            f"information of shape {nats.shape} with {int(np.isnan(nats).sum()):,} missing for "
            f"{len(labels):,} labels; give one number for each edge"
        )
    return nats > np.array([costs[label] for label in labels], np.float64)


def _check_penalty(penalty: float) -> None:
    if not 0 <= penalty < math.inf:
        raise ConfigError(f"penalty={penalty}: use a number of nats, 0 or more")
