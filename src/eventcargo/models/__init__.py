"""Density models of event sequences: Tf_x (next event) and Tf_y (labels) behind one protocol."""

from eventcargo.models.density import Densities, DensityModel, label_probabilities

__all__ = ["Densities", "DensityModel", "label_probabilities"]
