"""Discovery: all stages together, from a data set to a report. Glue, no mathematics."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.discovery.config import DiscoverConfig
    from eventcargo.discovery.estimator import Cargo
    from eventcargo.discovery.export import export_graph
    from eventcargo.discovery.results import (
        RunResults,
        load_run_model,
        read_current_rules,
        read_quality,
        read_report_input,
        read_results,
    )
    from eventcargo.discovery.stages import Discovery, discover
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": "DiscoverConfig",
            "estimator": "Cargo",
            "export": "export_graph",
            "results": "RunResults load_run_model read_current_rules read_quality read_report_input "
            "read_results",
            "stages": "Discovery discover",
        },
    )

__all__ = [
    "Cargo",
    "DiscoverConfig",
    "Discovery",
    "RunResults",
    "discover",
    "export_graph",
    "load_run_model",
    "read_current_rules",
    "read_quality",
    "read_report_input",
    "read_results",
]
