"""Statistics of counts: contingency tables, G2, false-discovery control, risk difference, intervals."""
