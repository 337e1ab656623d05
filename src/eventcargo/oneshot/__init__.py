"""Phase 1: from one sequence and a density model to the events that moved each of its labels."""
