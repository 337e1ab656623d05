"""Log-loss of logits."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def log_losses(logits: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """The log-loss of each logit in nats: log(1 + exp(logit)) - truth * logit.

    >>> log_losses(np.array([0.0]), np.array([True])).round(3).tolist()
    [0.693]
    """
    z = np.asarray(logits, np.float64)
    losses: NDArray[np.float64] = np.logaddexp(0.0, z) - np.asarray(truth) * z
    return losses
