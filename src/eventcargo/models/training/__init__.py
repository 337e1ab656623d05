"""Training of the density models: the linear term first, then the Transformer."""
