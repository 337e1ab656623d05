"""Choice: the families of features and the L1 penalty of a label, selected on held-out sequences.

Presence is always used. Another family is tried only if the residuals of the fit so far depend on one of its
features, and joins only if it lowers the held-out log-loss by `min_z` standard errors of the paired
difference: with several families and hundreds of labels, a bare improvement is often chance.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.models.linear.columns import Columns
from eventcargo.models.linear.lasso import Fit, Floats, Lasso, base_fit
from eventcargo.models.linear.score_test import ScoreTest
from eventcargo.statistics.design_effect import Groups, sums_by_group
from eventcargo.statistics.log_loss import log_losses

CLEARLY = 1.0
"""Standard errors by which a penalty must be worse before smaller ones are skipped."""

USUAL = 4.0
"""The penalty that suits most labels; the search never stops before it."""

DOUBT = 2.0
"""Nats of held-out loss that a penalty must save per doubling or halving of the usual one. A rare label has
so few held-out positives that one of them would decide otherwise."""

STRICTER = 4.0
"""A family is tried at two penalties: this many times that of the fit so far, and the same as it."""


@dataclass(frozen=True)
class Trial:
    """A fit on some families at one penalty, and its held-out log-losses."""

    families: tuple[str, ...]
    penalty: float
    plain: Fit  # before its penalties were reweighted: the start of other fits
    fit: Fit
    losses: Floats  # one per held-out sequence, or group of sequences

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
    """Selects the families and the penalty of one label on held-out sequences.

    `alpha` is the largest p-value of the most dependent feature of a family that is tried, for all features
    of the family together. `held_groups` has the group of each held-out sequence; None: each is its own.
    """

    X: Columns
    X_held: Columns
    y: Floats
    y_held: Floats
    columns: dict[str, NDArray[np.int64]]
    penalties: tuple[float, ...]
    min_z: float
    alpha: float
    held_groups: Groups = None

    def on_presence(self) -> Trial:
        """The trial on presence with the lowest cost, from the largest penalty down until clearly worse.

        It does not stop at the first rise: the first columns of a rare label may be decoys of its causes.
        """
        fits, best = self._fits(("presence",)), None
        plain = base_fit(len(self.columns["presence"]), int(self.y.sum()), len(self.y))
        for penalty in sorted(self.penalties, reverse=True):
            trial = fits.at(penalty, plain)
            if best is not None and penalty < USUAL and best.beats(trial, CLEARLY):
                break
            if best is None or trial.cost < best.cost:
                best = trial
            plain = trial.plain
        assert best is not None
        return best

    def with_families(self, best: Trial, has_time: Callable[[], bool] = lambda: True) -> tuple[Trial, bool]:
        """The trial with the families that help, and whether there was time to try all.

        Families join one at a time, best first, while one clearly helps.
        """
        first, is_complete = best, True
        while is_complete:
            trials = list[Trial]()
            for family in self._open(best):
                is_complete &= has_time()
                if is_complete:
                    trials.append(self._added(best, family))
            trials = [trial for trial in trials if trial.beats(best, self.min_z)]
            if not trials:
                break
            best = self._joined(best, min(trials, key=lambda trial: float(trial.losses.sum())))
        return (best if best is first else self._tuned(best)), is_complete

    def _open(self, best: Trial) -> list[str]:
        """Families with a feature on which the residuals of the fit depend."""
        names = [name for name, columns in self.columns.items() if len(columns) and name not in best.families]
        if not names:
            return []
        known = self._columns(best.families)
        test = ScoreTest.of(self.X.take(known), self.y, best.fit)
        return [name for name in names if test.finds(self.X.take(self.columns[name]), self.alpha)]

    def _added(self, best: Trial, family: str) -> Trial:
        """A trial with one more family on top of the fixed logits so far: much faster than a joint fit."""
        known = self._columns(best.families)
        logits = best.fit.logits(self.X.take(known))
        held_logits = best.fit.logits(self.X_held.take(known))
        fits = self._fits((family,), logits, held_logits)
        first = fits.at(STRICTER * best.penalty, Fit(np.zeros(len(self.columns[family])), 0.0))
        return min(first, fits.at(best.penalty, first.plain), key=lambda trial: trial.cost)

    def _joined(self, best: Trial, added: Trial) -> Trial:
        """The joint fit of the families so far and the added one."""
        weights = np.concatenate([best.plain.weights, added.plain.weights])
        start = Fit(weights, best.plain.bias + added.plain.bias)
        return self._fits((*best.families, *added.families)).at(added.penalty, start)

    def _tuned(self, joined: Trial) -> Trial:
        """The trial with the lowest cost, from the penalty of the trials upward or downward."""
        fits = self._fits(joined.families)
        for ordered in (sorted(self.penalties), sorted(self.penalties, reverse=True)):
            best = joined
            for penalty in ordered[ordered.index(joined.penalty) + 1 :] if joined.penalty in ordered else []:
                trial = fits.at(penalty, best.plain)
                if trial.cost >= best.cost:
                    break
                best = trial
            if best is not joined:
                return best
        return joined

    def _fits(
        self, families: tuple[str, ...], offset: Floats | float = 0.0, held_offset: Floats | float = 0.0
    ) -> "_Fits":
        columns = self._columns(families)
        lasso = Lasso(self.X.take(columns), self.y, offset)
        X_held = self.X_held.take(columns)
        return _Fits(families, lasso, X_held, self.y_held, held_offset, self.held_groups)

    def _columns(self, families: tuple[str, ...]) -> NDArray[np.int64]:
        return np.concatenate([self.columns[family] for family in families])


@dataclass(frozen=True)
class _Fits:
    """Fits on some families, judged on held-out sequences."""

    families: tuple[str, ...]
    lasso: Lasso
    X_held: Columns
    y_held: Floats
    held_offset: Floats | float
    held_groups: Groups

    def at(self, penalty: float, start: Fit) -> Trial:
        plain = self.lasso.fit(penalty, start)
        sharp = self.lasso.reweight(penalty, plain)
        losses = log_losses(sharp.logits(self.X_held) + self.held_offset, self.y_held)
        return Trial(self.families, penalty, plain, sharp, sums_by_group(losses, self.held_groups))
