"""Classical Markov-boundary methods on event presence, written for sparse data."""

from eventcargo.baselines.search import METHODS, BaselineConfig, find_boundaries

__all__ = ["METHODS", "BaselineConfig", "find_boundaries"]
