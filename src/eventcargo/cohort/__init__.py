"""From what was recorded to sequences that can be asked for causes."""
