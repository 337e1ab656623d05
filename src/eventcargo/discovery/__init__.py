"""Discovery: all stages together, from a data set to a report. Glue, no mathematics."""

from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.estimator import Cargo
from eventcargo.discovery.results import RunResults
from eventcargo.discovery.stages import Discovery, discover

__all__ = ["Cargo", "DiscoverConfig", "Discovery", "RunResults", "discover"]
