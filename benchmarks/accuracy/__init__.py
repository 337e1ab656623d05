"""How right the results are."""
