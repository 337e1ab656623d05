"""Density models of event sequences: Tf_x (next event) and Tf_y (labels) behind one protocol."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.models.counts import Counts
    from eventcargo.models.density import Densities, DensityModel, label_probabilities
    from eventcargo.models.oracle import Oracle
    from eventcargo.models.transformer.model import Transformer
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "counts": "Counts",
            "density": "Densities DensityModel label_probabilities",
            "oracle": "Oracle",
            "transformer.model": "Transformer",
        },
    )

__all__ = ["Counts", "Densities", "DensityModel", "Oracle", "Transformer", "label_probabilities"]
