"""How well a model predicts the labels of sequences: McFadden's pseudo-R2 of each label."""

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.prediction.probabilities import label_logits
from eventcargo.statistics.log_loss import log_losses


def pseudo_r2(model: DensityModel, data: EventDataset) -> dict[str, float]:
    """The share of its log-loss that is explained, of each label that some sequences carry and others do not.

    It is 1 - loss of the model / loss of the base rate of these sequences (McFadden 1974): 0 for a model that
    knows the base rate alone, 1 for one that is sure and right, below 0 for one that is worse than the base
    rate. A label that the model does not know has 0. Unknown labels of a sequence are left out.

    >>> from eventcargo.models import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> found = pseudo_r2(Oracle(process), process.sample(500, seed=1).data)
    >>> list(found)[:3], 0 < found["L000"] < 1
    (['L000', 'L001', 'L002'], True)
    """
    logits, truth = label_logits(model, data), data.label_matrix().toarray() > 0
    known = data.known_matrix()
    columns = {name: column for column, name in enumerate(model.label_names)}
    shares: dict[str, float] = {}
    for at, name in enumerate(data.label_names):
        rows = slice(None) if known is None else known[:, at]
        carried = truth[rows, at]
        if carried.any() and not carried.all():
            shares[name] = _share(logits[rows, columns[name]], carried) if name in columns else 0.0
    return shares


def mean_pseudo_r2(model: DensityModel, data: EventDataset) -> float:
    """The mean of `pseudo_r2` over labels; refuses sequences among which no label varies."""
    shares = pseudo_r2(model, data)
    if not shares:
        raise DataError(
            "no label is carried by some of these sequences and not by others, so that no prediction can be "
            "scored; give more sequences, with their labels"
        )
    return float(np.mean(list(shares.values())))


def _share(logits: NDArray[np.float64], carried: NDArray[np.bool_]) -> float:
    rate = carried.mean()
    base = log_losses(np.full(len(carried), np.log(rate / (1 - rate))), carried).sum()
    return float(1 - log_losses(logits, carried).sum() / base)
