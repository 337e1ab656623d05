"""find_drift: whether a model is out of date, by the sequences it was trained on and new ones with labels.

Three things are looked at, each at a third of `alpha`:

- **event types**: how often each occurs in a sequence, new against before;
- **labels**: how many new sequences carry each, against the number that the model expects of them; the model
  has not seen them, so they are held out;
- **unknown events**: the share of events whose type the model does not know, new against before.

A change counts if it is larger than `least_ratio` (`drift.ratios`); of the many event types and labels that
are looked at, those are named whose change is a discovery among all (Benjamini & Hochberg).
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm

from eventcargo.drift.config import DriftConfig
from eventcargo.drift.drift import Change, Drift
from eventcargo.drift.ratios import HALF, changed, grouped, n_noticeable, occurrence_rates, ratio_p_values
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.prediction.probabilities import predict, unknown_events
from eventcargo.progress import OnProgress

Floats = NDArray[np.float64]

N_CHECKS = 3
"""Things that are looked at; each has its share of `alpha`."""


def find_drift(
    model: DensityModel,
    before: EventDataset,
    new: EventDataset,
    config: DriftConfig | None = None,
    *,
    progress: OnProgress | None = None,
) -> Drift:
    """What is different in new sequences; `before` are those that the model was trained on.

    >>> from eventcargo.models import Oracle
    >>> from eventcargo.simulation.exact import ExactConfig, ExactProcess
    >>> process = ExactProcess.from_config(ExactConfig(), seed=1)
    >>> data = process.sample(600, seed=1).data
    >>> find_drift(Oracle(process), data[:300], data[300:]).is_out_of_date
    False
    """
    config = config or DriftConfig()
    alpha = config.alpha / N_CHECKS
    types, type_variance = _event_types(before, new, config.least_ratio)
    labels, label_variance = _labels(model, before, new, config.least_ratio, progress)
    shares = [_unknown(model, data) for data in (before, new)]
    unknown = unknown_events(model, new)["event"].to_list()
    least = config.least_ratio
    return Drift(
        len(new),
        _discoveries(types, alpha),
        _discoveries(labels, alpha),
        len(types),
        len(labels),
        n_noticeable(type_variance, alpha, least),
        n_noticeable(label_variance, alpha, least),
        shares[0][0],
        shares[1][0],
        tuple(unknown),
        _has_grown(shares, config.least_unknown, alpha),
    )


def _discoveries(tests: Sequence[Change], alpha: float) -> tuple[Change, ...]:
    """The changes among tests, the surest first."""
    which = changed(np.array([one.p_value for one in tests]), alpha)
    found = [one for one, is_changed in zip(tests, which, strict=True) if is_changed]
    return tuple(sorted(found, key=lambda one: (one.p_value, one.name)))


def _event_types(before: EventDataset, new: EventDataset, least: float) -> tuple[list[Change], Floats]:
    """Every event type of before: how often it occurs in a sequence, before and in the new ones."""
    rates = [occurrence_rates(data) for data in (before, new)]
    place = {name: at for at, name in enumerate(new.event_names)}
    own = np.flatnonzero(rates[0].rate > 0)
    at = np.array([place.get(before.event_names[number], -1) for number in own.tolist()], np.int64)
    is_there = at >= 0
    rate = np.where(is_there, rates[1].rate[at] if len(place) else 0.0, 0.0)
    none = 1 / HALF  # the variance of the logarithm of no occurrence
    later = np.where(is_there, rates[1].log_variance[at] if len(place) else none, none)
    smoothed = [
        (one * size + HALF) / max(size, 1)
        for one, size in ((rates[0].rate[own], len(before)), (rate, len(new)))
    ]
    ratio, variance = smoothed[1] / smoothed[0], rates[0].log_variance[own] + later
    p_values = ratio_p_values(np.log(ratio), variance, least)
    rows = zip(own.tolist(), rates[0].rate[own], rate, ratio, p_values, strict=True)
    return [Change(before.event_names[number], *map(float, figures)) for number, *figures in rows], variance


def _labels(
    model: DensityModel,
    before: EventDataset,
    new: EventDataset,
    least: float,
    progress: OnProgress | None,
) -> tuple[list[Change], Floats]:
    """Every label: how many new sequences the model expects to carry it, and how many do."""
    table = predict(model, new, progress=progress)
    expected = table.select(model.label_names).to_numpy()
    known = new.known_matrix()
    carried = _carried(model, new)
    if known is not None:
        is_known = np.zeros(expected.shape, bool)
        is_known[:, _columns(model, new)] = known
        expected = expected * is_known  # a label that is carried is known
    sums = expected.sum(axis=0), carried.sum(axis=0)
    by_group, _ = grouped(new, sp.csr_array(carried - expected))
    spread = np.asarray(by_group.multiply(by_group).sum(axis=0)).ravel()
    spread = np.maximum(spread, (expected * (1 - expected)).sum(axis=0))
    support = before.label_support
    trained = np.array([max(support.get(name, 0), HALF) for name in model.label_names])
    variance = (spread + HALF) / (sums[0] + HALF) ** 2 + 1 / trained
    ratio = (sums[1] + HALF) / (sums[0] + HALF)
    p_values = ratio_p_values(np.log(ratio), variance, least)
    n = np.maximum(len(new) if known is None else is_known.sum(axis=0), 1)
    rows = zip(model.label_names, sums[0] / n, sums[1] / n, ratio, p_values, strict=True)
    return [Change(name, *map(float, figures)) for name, *figures in rows], variance


def _columns(model: DensityModel, data: EventDataset) -> list[int]:
    """The model's column of each label of the data."""
    return [model.label_names.index(name) for name in data.label_names]


def _carried(model: DensityModel, data: EventDataset) -> Floats:
    """Which of the model's labels each sequence carries: (sequences, labels)."""
    carried = np.zeros((len(data), len(model.label_names)))
    carried[:, _columns(model, data)] = data.label_matrix().toarray()
    return carried


def _unknown(model: DensityModel, data: EventDataset) -> tuple[float, float]:
    """The share of events whose type the model does not know, and its variance over groups."""
    known = np.isin(data.event_names, model.vocabulary.event_names)
    offsets, events, _ = data.flat()
    totals = np.concatenate([[0], np.cumsum(~known[events])])
    strange = (totals[offsets[1:]] - totals[offsets[:-1]]).astype(float)
    columns = sp.csr_array(np.stack([strange, data.lengths.astype(float)], axis=1))
    sums = grouped(data, columns)[0].toarray()
    n = max(float(sums[:, 1].sum()), 1.0)
    share = float(sums[:, 0].sum()) / n
    return share, float(((sums[:, 0] - share * sums[:, 1]) ** 2).sum()) / n**2


def _has_grown(shares: Sequence[tuple[float, float]], least: float, alpha: float) -> bool:
    """Whether the second share exceeds the first by more than `least`, surely."""
    (before, first), (now, second) = shares
    sure = float(norm.isf(alpha)) * float(np.sqrt(first + second))
    return bool(now - before > least + sure)
