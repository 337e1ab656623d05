"""Time and memory at the paper's size."""
