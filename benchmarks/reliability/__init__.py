"""What faults do to a run."""
