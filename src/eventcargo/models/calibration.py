"""Calibration: corrections of a model's label logits, fitted on held-out sequences.

Each label has two corrections. A gate drops the Transformer where it does not clearly help the linear term,
so that, up to chance, both together are not worse than the term alone. A slope, the inverse of a temperature,
multiplies the logits; it is shrunk toward the slope of all labels together, because a rare label has too few
examples for a slope of its own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eventcargo.statistics.design_effect import Groups, sums_by_group
from eventcargo.statistics.log_loss import Known, log_losses

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]

GAIN = 3.0
"""Standard errors by which the Transformer must lower a label's held-out log-loss to pass the gate: with
hundreds of labels, fewer are often chance, and a label that needs the Transformer costs far more later."""

MATTERS = 0.01
"""Share of the base rate's log-loss by which the Transformer must also lower the loss: a gain that is certain
but too small to matter is not worth its cost."""

SPREAD = 0.25
"""Prior standard deviation of the log of a label's slope around the slope of all labels."""

MIN_ERROR = 1e-9
"""Smallest standard error of `lead`, which stays finite where losses differ by a constant."""

LOG_SLOPES = np.linspace(-1.5, 1.5, 61)
"""Logarithms of the slopes that are tried: 0.22 to 4.5."""


@dataclass(frozen=True)
class Answers:
    """Uncalibrated label logits of a model on held-out sequences, and the truth: (sequences, labels) each.

    `whole` is given whole sequences, and `linear` is the linear term's part of it; `prefix` is given the
    first events of each sequence. `groups` has the group of each sequence; None: each is its own. `known`
    says which labels are known for which sequence; None: all.
    """

    truth: Truth
    linear: Floats | None
    whole: Floats
    prefix: Floats
    groups: Groups = None
    known: Known = None

    def rows(self, which: NDArray[np.bool_]) -> "Answers":
        """The answers on the selected sequences."""
        linear = None if self.linear is None else self.linear[which]
        groups = None if self.groups is None else self.groups[which]
        known = None if self.known is None else self.known[which]
        return Answers(self.truth[which], linear, self.whole[which], self.prefix[which], groups, known)

    def mean_loss(self, logits: Floats) -> float:
        """The mean log-loss of logits over known labels."""
        losses = log_losses(logits, self.truth, self.known)
        n_known = losses.size if self.known is None else int(self.known.sum())
        return float(losses.sum() / max(n_known, 1))


@dataclass(frozen=True)
class Calibration:
    """Corrections of label logits, one of each kind per label.

    >>> truth = np.array([[True], [False]] * 50)
    >>> shy = np.where(truth, 1.0, -1.0)  # predicts 73 % and is always right
    >>> calibration = Calibration.fit(Answers(truth, None, shy, shy))
    >>> bool(calibration.end_slope[0] > 3), calibration.gate.tolist()
    (True, [1.0])
    """

    gate: Floats  # 0 or 1: whether the Transformer adds to the linear term at the end
    end_slope: Floats  # factor on logits given whole sequences
    prefix_slope: Floats  # factor on logits given a prefix

    @classmethod
    def fit(cls, answers: Answers) -> "Calibration":
        """The corrections fitted to these sequences."""
        gate = choose_gates(answers)
        end = fit_slopes(answers.truth, gated(answers, gate), answers.known)
        return cls(gate, end, fit_slopes(answers.truth, answers.prefix, answers.known))

    def without_slopes(self) -> "Calibration":
        """The gates alone, with slopes of 1."""
        return Calibration(self.gate, np.ones_like(self.gate), np.ones_like(self.gate))

    def whole(self, answers: Answers) -> Floats:
        """Corrected logits given whole sequences."""
        return self.end_slope * gated(answers, self.gate)

    def prefix(self, answers: Answers) -> Floats:
        """Corrected logits given prefixes."""
        return self.prefix_slope * answers.prefix


def lead(worse: Floats, better: Floats, groups: Groups = None, known: Known = None) -> Floats:
    """Standard errors by which the losses `better` are in sum below the losses `worse`, per column.

    The losses of one of the `groups` vary together: their sum counts as one. Only `known` losses count.

    >>> float(lead(np.array([[3.0], [1.0]]), np.zeros((2, 1)))[0].round(3))
    2.828
    """
    if known is not None:
        return np.array(
            [_known_lead(*column, groups) for column in zip(worse.T, better.T, known.T, strict=True)]
        )
    gains = sums_by_group(worse - better, groups)
    error, total = np.sqrt(len(gains)) * gains.std(axis=0), gains.sum(axis=0)
    result: Floats = total / np.maximum(error, MIN_ERROR)
    return result


def _known_lead(worse: Floats, better: Floats, rows: NDArray[np.bool_], groups: Groups) -> float:
    """The lead of one column in some rows."""
    if not rows.any():
        return 0.0
    own = None if groups is None else groups[rows]
    return float(lead(worse[rows, None], better[rows, None], own)[0])


def choose_gates(answers: Answers) -> Floats:
    """1 for labels that the Transformer clearly helps, 0 for others; all 1 without a linear term."""
    if answers.linear is None:
        return np.ones(answers.truth.shape[1])
    truth, known = answers.truth, answers.known
    alone, both = (log_losses(logits, truth, known) for logits in (answers.linear, answers.whole))
    matters = (alone - both).sum(axis=0) > MATTERS * base_losses(truth, known)
    helped: Floats = ((lead(alone, both, answers.groups, known) > GAIN) & matters).astype(np.float64)
    return helped


def base_losses(truth: ArrayLike, known: Known = None) -> Floats:
    """The summed log-loss of each label's own rate in the sequences for which it is `known`: (labels,).

    >>> base_losses(np.array([[True], [False]])).round(3).tolist()
    [1.386]
    """
    labels = np.asarray(truth)
    rates = labels.mean(axis=0, keepdims=True)
    if known is not None:
        rates = labels.sum(axis=0, keepdims=True) / np.maximum(known.sum(axis=0, keepdims=True), 1)
    rates = rates.clip(1e-12, 1 - 1e-12)
    return log_losses(np.log(rates) - np.log1p(-rates), labels, known).sum(axis=0)


def gated(answers: Answers, gate: Floats) -> Floats:
    """Logits given whole sequences, of the linear term alone where the gate is 0."""
    if answers.linear is None:
        return answers.whole
    return np.where(gate > 0, answers.whole, answers.linear)


def fit_slopes(truth: Truth, logits: Floats, known: Known = None) -> Floats:
    """One slope per label, shrunk toward the slope of all labels."""
    # Maximum a posteriori on a grid: log slope ~ Normal(centre, SPREAD^2) per label, and the centre itself,
    # the slope of all labels together, ~ Normal(0, SPREAD^2).
    tried = (log_losses(np.exp(at) * logits, truth, known) for at in LOG_SLOPES)
    losses = np.array([each.sum(axis=0) for each in tried])  # (grid, Y)
    pooled = losses.sum(axis=1) + LOG_SLOPES**2 / (2 * SPREAD**2)
    centre = LOG_SLOPES[pooled.argmin()]
    penalty = (LOG_SLOPES - centre) ** 2 / (2 * SPREAD**2)
    slopes: Floats = np.exp(LOG_SLOPES[(losses + penalty[:, None]).argmin(axis=0)])
    return slopes
