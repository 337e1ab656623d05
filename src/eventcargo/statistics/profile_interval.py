"""Profile intervals: values of a coefficient that the data do not speak against, the others at their best.

The ends are where the penalised log-likelihood, maximised over all other coefficients, is lower than at its
maximum by half a chi-square quantile (Heinze & Schemper 2002). Where a column separates the sequences with
the label from the others, the interval is wide on that side, not symmetric as Wald's is.
"""

import numpy as np
from scipy.special import ndtri

from eventcargo.statistics.firth import FirthRegression, Floats, Ints, Lanes
from eventcargo.statistics.intervals import LEVEL

WIDTH = float(ndtri((1 + LEVEL) / 2))
"""Half an interval in standard errors: 1.96."""

DROP = WIDTH**2 / 2
"""How much lower the log-likelihood is at the ends of an interval, in nats: 1.92."""

NEAR = 1e-4
"""An end is found if the log-likelihood there is this near to what it should be: 0.003 % of a width."""

MAX_ROUNDS = 40
"""Of the search for an end; it takes three or four."""

TINY = 1e-6
"""Distance in log odds below which a bracket is a point."""

FARTHEST = 60.0
"""Largest distance of an end from the estimate, in log odds."""


def wald_interval(best: Lanes, columns: Ints) -> tuple[Floats, Floats]:
    """The estimate less and plus 1.96 standard errors, of one column in each lane."""
    half = WIDTH * _error(best, columns)
    return _own(best, columns) - half, _own(best, columns) + half


def profile_interval(regression: FirthRegression, best: Lanes, columns: Ints) -> tuple[Floats, Floats]:
    """Lower and upper end of the interval of one column in each lane; `best` has the maxima.

    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> separated = FirthRegression(X, hits=np.array([10.0, 5.0]), trials=np.array([100.0, 5.0]))
    >>> low, high = profile_interval(separated, separated.fit(), np.array([1]))
    >>> np.exp([low[0], high[0]]).round().tolist()
    [10.0, 12783.0]
    """
    lanes = np.tile(np.arange(len(columns)), 2)
    side = np.repeat([-1.0, 1.0], len(columns))
    ends = _Ends(regression, best.take(lanes), columns[lanes], side).found()
    return ends[: len(columns)], ends[len(columns) :]


class _Ends:
    """The search for one end in each lane: Newton's steps in the square root of the drop, within a bracket.

    The square root of the drop of the log-likelihood is nearly a line in the distance from the estimate.
    """

    def __init__(self, regression: FirthRegression, best: Lanes, columns: Ints, side: Floats) -> None:
        self.regression, self.best, self.columns, self.side = regression, best, columns, side
        self.distance = WIDTH * _error(best, columns)
        self.inside, self.outside = np.zeros(len(columns)), np.full(len(columns), FARTHEST)

    def found(self) -> Floats:
        """The ends: (lanes,)."""
        active, lanes = np.arange(len(self.columns)), self.best
        moved = self.distance.copy()  # since the coefficients of the lanes
        for _ in range(MAX_ROUNDS):
            lanes = self._moved(active, lanes, moved)
            drop = self.best.value[active] - lanes.value
            before = self.distance[active]
            self._narrow(active, drop, self.regression.score(lanes))
            far = (np.abs(drop - DROP) > NEAR) & (self.outside - self.inside > TINY)[active]
            active, lanes, moved = active[far], lanes.take(far), (self.distance[active] - before)[far]
            if not len(active):
                break
        return _own(self.best, self.columns) + self.side * self.distance

    def _moved(self, active: Ints, lanes: Lanes, by: Floats) -> Lanes:
        """The lanes with their columns moved outward and held there, all other coefficients at their best."""
        columns, every = self.columns[active], np.arange(len(active))
        # along the ridge: the others follow by their covariance with the column
        ridge = lanes.inverse[every, :, columns] / lanes.inverse[every, columns, columns][:, None]
        start = lanes.coefficients + (self.side[active] * by)[:, None] * ridge
        return self.regression.maximise(start, lanes.scale, columns, NEAR / 100)

    def _narrow(self, active: Ints, drop: Floats, score: Floats) -> None:
        """Narrow the brackets, and choose the next distances."""
        now, is_near = self.distance[active], drop < DROP
        self.inside[active] = np.where(is_near, now, self.inside[active])
        self.outside[active] = np.where(is_near, self.outside[active], now)
        slope = -self.side[active] * score[np.arange(len(active)), self.columns[active]]
        root = np.sqrt(np.maximum(drop, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = now - (root - np.sqrt(DROP)) * 2 * root / slope
        low, high = self.inside[active], self.outside[active]
        middle = np.minimum((low + high) / 2, 2 * now)
        chosen = np.where((slope > 0) & (low < newton) & (newton < high), newton, middle)
        self.distance[active] = np.where(np.abs(drop - DROP) > NEAR, chosen, now)


def _own(best: Lanes, columns: Ints) -> Floats:
    """The coefficient of one column in each lane."""
    own: Floats = best.coefficients[np.arange(len(columns)), columns]
    return own


def _error(best: Lanes, columns: Ints) -> Floats:
    """The standard error of one column in each lane."""
    error: Floats = np.sqrt(best.inverse[np.arange(len(columns)), columns, columns] / best.scale)
    return error
