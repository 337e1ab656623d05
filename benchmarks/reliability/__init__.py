"""What damage, kills and faults do."""
