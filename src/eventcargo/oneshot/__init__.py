"""Phase 1: the events that moved each label of a single sequence, according to a density model."""
