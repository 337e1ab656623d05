"""How fast the parts are, against others and against the machine."""
