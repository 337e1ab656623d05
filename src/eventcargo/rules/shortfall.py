"""Shortfall: whether a rule tells its label clearly worse than the label's model does, by F1.

Both are measured on held-out sequences. F1 = 2 J / (1 + J), where J is the share of hits among the sequences
that carry the label or are said to carry it; J has the error of a share of independent sequences.
"""

from dataclasses import replace

import numpy as np

from eventcargo.quality import LabelQuality
from eventcargo.rules.rule import Rule

CLEARLY = 1.96
"""Standard errors by which the model must be ahead."""

LEAST = 0.05
"""Smallest difference in F1 that is worth telling."""


def with_model(rule: Rule, quality: LabelQuality | None) -> Rule:
    """The rule with the F1 of the label's model; none if the model is unknown or untrusted."""
    if quality is None or quality.f1 is None or not quality.trusted:
        return rule
    error = np.hypot(_error(rule.f1, rule.union), _error(quality.f1, quality.held_out * (2 - quality.f1)))
    is_short = quality.f1 - rule.f1 > max(CLEARLY * float(error), LEAST)
    return replace(rule, model_f1=quality.f1, falls_short=bool(is_short))


def _error(f1: float, union: float) -> float:
    """The standard error of F1, given the number of sequences that carry the label or are said to.

    >>> round(_error(0.8, 120), 3), round(_error(1.0, 120), 3)
    (0.031, 0.003)
    """
    share = (union * f1 / (2 - f1) + 0.5) / (union + 1)  # half a sequence: no share is certain
    return float(2 / (1 + share) ** 2 * np.sqrt(share * (1 - share) / (union + 1)))
