"""Choice: the families of features and the L1 penalty of a label, selected on held-out sequences.

Presence is always used. Another family joins only if it lowers the held-out log-loss by `min_z` standard
errors of the paired difference: with several families and hundreds of labels, a bare improvement is often
chance.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eventcargo.models.linear.lasso import Fit, Floats, base_fit, fit_lasso, reweight
from eventcargo.statistics.log_loss import log_losses

CLEARLY = 1.0
"""Standard errors by which a penalty must be worse before smaller ones are skipped."""

USUAL = 4.0
"""The penalty that suits most labels; the search never stops before it."""

DOUBT = 2.0
"""Nats of held-out loss that a penalty must save per doubling or halving of the usual one. A rare label has
so few held-out positives that one of them would decide otherwise."""


@dataclass(frozen=True)
class Trial:
    """A fit on some families at one penalty, and its held-out log-losses."""

    families: tuple[str, ...]
    penalty: float
    fit: Fit
    losses: Floats  # one per held-out sequence

    @property
    def cost(self) -> float:
        """The held-out log-loss plus the cost of the distance to the usual penalty."""
        return float(self.losses.sum() + DOUBT * abs(np.log2(self.penalty / USUAL)))

    def beats(self, other: "Trial", min_z: float) -> bool:
        """Whether the mean loss is lower by more than `min_z` standard errors."""
        better = other.losses - self.losses
        return bool(better.sum() > min_z * np.sqrt(len(better)) * better.std() + 1e-6)


@dataclass(frozen=True)
class Choice:
    """Selects the families and the penalty of one label on held-out sequences."""

    X: sp.csc_array
    X_held: sp.csc_array
    y: Floats
    y_held: Floats
    columns: dict[str, NDArray[np.int64]]
    penalties: tuple[float, ...]
    min_z: float

    def make(self) -> tuple[tuple[str, ...], float]:
        """The families and the penalty; families join one at a time, best first, while one clearly helps."""
        best = self._path(("presence",))
        while True:
            trials = [self._added(best, family) for family in self._open(best)]
            trials = [trial for trial in trials if trial.beats(best, self.min_z)]
            if not trials:
                return best.families, best.penalty
            best = self._path(min(trials, key=lambda trial: float(trial.losses.sum())).families)

    def _open(self, best: Trial) -> list[str]:
        return [name for name, columns in self.columns.items() if len(columns) and name not in best.families]

    def _added(self, best: Trial, family: str) -> Trial:
        """A trial with one more family on top of the fixed logits so far: much faster than a joint fit."""
        known = self._columns(best.families)
        start = Fit(np.zeros(len(self.columns[family])), 0.0)
        logits, held_logits = best.fit.logits(self.X[:, known]), best.fit.logits(self.X_held[:, known])
        added = self._lowest((family,), start, logits, held_logits)
        return Trial((*best.families, family), added.penalty, added.fit, added.losses)

    def _path(self, families: tuple[str, ...]) -> Trial:
        """The best trial of a joint fit of some families."""
        start = base_fit(len(self._columns(families)), int(self.y.sum()), len(self.y))
        return self._lowest(families, start, 0.0, 0.0)

    def _lowest(
        self, families: tuple[str, ...], fit: Fit, offset: Floats | float, held_offset: Floats | float
    ) -> Trial:
        """The trial with the lowest cost, from the largest penalty down until the loss is clearly worse.

        It does not stop at the first rise: the first columns of a rare label may be decoys of its causes.
        """
        columns, best = self._columns(families), None
        X, X_held = self.X[:, columns], self.X_held[:, columns]
        for penalty in sorted(self.penalties, reverse=True):
            fit = fit_lasso(X, self.y, penalty, fit, offset)
            sharp = reweight(X, self.y, penalty, fit, offset)
            losses = log_losses(sharp.logits(X_held) + held_offset, self.y_held)
            trial = Trial(families, penalty, sharp, losses)
            if best is not None and penalty < USUAL and best.beats(trial, CLEARLY):
                break
            if best is None or trial.cost < best.cost:
                best = trial
        assert best is not None
        return best

    def _columns(self, families: tuple[str, ...]) -> NDArray[np.int64]:
        return np.concatenate([self.columns[family] for family in families])
