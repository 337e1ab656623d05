"""New sequences through a model that is there: probabilities of labels, and what moved them."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.prediction.explanations import EXPLANATIONS, explain_all
    from eventcargo.prediction.probabilities import (
        predict,
        prefix_probabilities,
        unknown_events,
        warn_of_unknown,
    )
    from eventcargo.prediction.pseudo_r2 import mean_pseudo_r2
    from eventcargo.prediction.tables import write_tables
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "explanations": "EXPLANATIONS explain_all",
            "probabilities": "predict prefix_probabilities unknown_events warn_of_unknown",
            "pseudo_r2": "mean_pseudo_r2",
            "tables": "write_tables",
        },
    )

__all__ = [
    "EXPLANATIONS",
    "explain_all",
    "mean_pseudo_r2",
    "predict",
    "prefix_probabilities",
    "unknown_events",
    "warn_of_unknown",
    "write_tables",
]
