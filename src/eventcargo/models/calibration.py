"""Calibration: what held-out sequences say about how far a model's label logits can be trusted.

Two corrections for each label. A gate leaves the Transformer out where it does not help the explicit term, so
that both together are never worse than the term alone. A slope, the inverse of a temperature, multiplies the
logits; it is pulled toward the slope of all labels together, because a rare label has too few examples for
one of its own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]

GAIN = 3.0
"""Standard errors by which the Transformer must lower a label's held-out log-loss to be let through: with
hundreds of labels fewer are often chance, and a label that needs the Transformer costs far more later."""

SHARE = 0.01
"""Share of the log-loss of a label's base rate that the Transformer must take off as well: a gain that is
sure but too small to matter is not worth its cost."""

SPREAD = 0.25
"""Standard deviation of the logarithm of a label's slope around that of all labels, before data."""

MIN_ERROR = 1e-9
"""Keeps the lead of losses that differ by the same amount everywhere a number."""

LOG_SLOPES = np.linspace(-1.5, 1.5, 61)
"""Slopes tried, as logarithms: 0.22 to 4.5."""


@dataclass(frozen=True)
class Answers:
    """Label logits of a model on held-out sequences, as they come, and the truth: (sequences, labels) each.

    `explicit` is the explicit term's part of `whole`, which is given whole sequences; `prefix` is given the
    first events of each.
    """

    truth: Truth
    explicit: Floats | None
    whole: Floats
    prefix: Floats

    def rows(self, which: NDArray[np.bool_]) -> "Answers":
        """The answers on some sequences."""
        explicit = None if self.explicit is None else self.explicit[which]
        return Answers(self.truth[which], explicit, self.whole[which], self.prefix[which])


@dataclass(frozen=True)
class Calibration:
    """Corrections of label logits, one of each for every label.

    >>> truth = np.array([[True], [False]] * 50)
    >>> shy = np.where(truth, 1.0, -1.0)  # it says 73 %, and is always right
    >>> found = Calibration.fit(Answers(truth, None, shy, shy))
    >>> bool(found.end_slope[0] > 3), found.gate.tolist()
    (True, [1.0])
    """

    gate: Floats  # 0 or 1: whether the Transformer adds to the explicit term at the end
    end_slope: Floats  # factor of logits given whole sequences
    prefix_slope: Floats  # factor of logits given a prefix

    @classmethod
    def fit(cls, answers: Answers) -> "Calibration":
        """The corrections that suit these sequences."""
        gate = choose_gates(answers)
        end = fit_slopes(answers.truth, gated(answers, gate))
        return cls(gate, end, fit_slopes(answers.truth, answers.prefix))

    def without_slopes(self) -> "Calibration":
        """The gates alone."""
        return Calibration(self.gate, np.ones_like(self.gate), np.ones_like(self.gate))

    def whole(self, answers: Answers) -> Floats:
        """Corrected logits given whole sequences."""
        return self.end_slope * gated(answers, self.gate)

    def prefix(self, answers: Answers) -> Floats:
        """Corrected logits given prefixes."""
        return self.prefix_slope * answers.prefix


def log_losses(truth: Truth, logits: Floats) -> Floats:
    """The log-loss of every logit.

    >>> log_losses(np.array([True]), np.array([0.0])).round(3).tolist()
    [0.693]
    """
    losses: Floats = np.logaddexp(0.0, logits) - truth * logits
    return losses


def lead(worse: Floats, better: Floats) -> Floats:
    """By how many standard errors the sum of the second losses is lower, column by column.

    >>> float(lead(np.array([[3.0], [1.0]]), np.zeros((2, 1)))[0].round(3))
    2.828
    """
    gains = worse - better
    error, total = np.sqrt(len(gains)) * gains.std(axis=0), gains.sum(axis=0)
    result: Floats = total / np.maximum(error, MIN_ERROR)
    return result


def choose_gates(answers: Answers) -> Floats:
    """1 for labels that the Transformer clearly helps, 0 for others; without an explicit term always 1."""
    if answers.explicit is None:
        return np.ones(answers.truth.shape[1])
    alone, both = (log_losses(answers.truth, logits) for logits in (answers.explicit, answers.whole))
    rates = answers.truth.mean(axis=0, keepdims=True).clip(1e-12, 1 - 1e-12)
    base = log_losses(answers.truth, np.log(rates) - np.log1p(-rates)).sum(axis=0)
    matters = (alone - both).sum(axis=0) > SHARE * base
    helped: Floats = ((lead(alone, both) > GAIN) & matters).astype(np.float64)
    return helped


def gated(answers: Answers, gate: Floats) -> Floats:
    """Logits given whole sequences, with the Transformer's part let through or not."""
    if answers.explicit is None:
        return answers.whole
    return np.where(gate > 0, answers.whole, answers.explicit)


def fit_slopes(truth: Truth, logits: Floats) -> Floats:
    """A slope for each label: the most likely one, given that slopes of different labels are alike."""
    losses = np.array([log_losses(truth, np.exp(at) * logits).sum(axis=0) for at in LOG_SLOPES])  # (grid, Y)
    pooled = losses.sum(axis=1) + LOG_SLOPES**2 / (2 * SPREAD**2)
    centre = LOG_SLOPES[pooled.argmin()]
    penalty = (LOG_SLOPES - centre) ** 2 / (2 * SPREAD**2)
    slopes: Floats = np.exp(LOG_SLOPES[(losses + penalty[:, None]).argmin(axis=0)])
    return slopes
