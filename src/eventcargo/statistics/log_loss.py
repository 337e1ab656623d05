"""Log-loss of logits."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Known = NDArray[np.bool_] | None
"""Which labels are known for which sequence: (sequences, labels); None: all."""


def log_losses(logits: ArrayLike, truth: ArrayLike, known: Known = None) -> NDArray[np.float64]:
    """The log-loss of each logit in nats: log(1 + exp(logit)) - truth * logit; 0 where it is not `known`.

    >>> log_losses(np.array([0.0]), np.array([True])).round(3).tolist()
    [0.693]
    """
    z = np.asarray(logits, np.float64)
    losses: NDArray[np.float64] = np.logaddexp(0.0, z) - np.asarray(truth) * z
    return losses if known is None else np.where(known, losses, 0.0)
