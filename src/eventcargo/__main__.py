"""`python -m eventcargo`: the command line, also for launchers that start a module."""

from eventcargo.cli import main

main()
