"""Names and settings of the classical methods."""

from dataclasses import dataclass
from typing import Literal

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, argument

METHODS = ("iamb", "cmb", "mb-by-mb", "pcd-by-pcd", "mi-mcf", "mutual-information", "lift", "l1-logistic")


@dataclass(frozen=True)
class BaselineConfig(Settings):
    """Settings of the classical baselines."""

    alpha: float = setting(0.05, gt=0, lt=1)
    "Largest p-value of a dependence; with `correct`, divided by the number of event types."
    correct: bool = True
    "Apply a Bonferroni correction for testing every event type at every step."
    dof: Literal["observed", "full"] = "observed"
    "Degrees of freedom: observed, one per informative stratum; full, 2 to the size of the condition set."
    min_rows_per_dof: float = setting(5.0, ge=0)
    "Sequences needed per degree of freedom; with fewer, nothing is tested."
    top_k: int = setting(5, ge=1)
    "Event types that `mutual-information` and `lift` keep for each label."
    workers: int = setting(0, ge=0)
    "Worker processes; 0 uses one per core where that pays. The result does not depend on it."


def check_method(method: str) -> None:
    """Refuse an unknown method before any work is done."""
    if method not in METHODS:
        raise ConfigError(f"{argument('method', method)}: use {', '.join(METHODS)}")
