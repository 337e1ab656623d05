"""Tests and intervals on counts: contingency tables, G2, false-discovery control, intervals of shares."""
