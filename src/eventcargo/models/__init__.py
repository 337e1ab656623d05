"""Density models of event sequences: Tf_x (next event) and Tf_y (labels) behind one protocol."""

from eventcargo.models.counts import Counts
from eventcargo.models.density import Densities, DensityModel, label_probabilities
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer

__all__ = ["Counts", "Densities", "DensityModel", "Oracle", "Transformer", "label_probabilities"]
