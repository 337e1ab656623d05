"""Classical Markov-boundary methods on event presence, written for sparse data."""

from eventcargo.baselines.find import METHODS, BaselineConfig, check_method, find_boundaries

__all__ = ["METHODS", "BaselineConfig", "check_method", "find_boundaries"]
