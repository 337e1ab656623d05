"""What is logged, by loggers below `eventcargo`: at INFO stages with their durations, at DEBUG details.

Nothing is shown unless a program asks for it, as the command line does with `-v` and `-vv`. Warnings that
concern the user are Python's warnings, not log messages.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger("eventcargo")

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
"""The level of no, one and two `-v`."""


@contextmanager
def timed(logger: logging.Logger, what: str) -> Iterator[None]:
    """Log how long a block took: its beginning at DEBUG, its end at INFO.

    >>> with timed(logging.getLogger("eventcargo.example"), "fuse"):
    ...     pass
    """
    began = time.monotonic()
    logger.debug("%s: begins", what)
    try:
        yield
    except BaseException as error:
        logger.info("%s: stopped after %s by %s", what, duration(began), type(error).__name__)
        raise
    logger.info("%s: done in %s", what, duration(began))


def duration(began: float) -> str:
    """The time since a moment of `time.monotonic()`, for people."""
    seconds = time.monotonic() - began
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest:02} s"


@contextmanager
def shown_logs(handler: logging.Handler, level: int) -> Iterator[None]:
    """Let a handler show messages of this package from a level on, until the block ends."""
    before = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
    try:
        yield
    finally:
        LOGGER.setLevel(before)
        LOGGER.removeHandler(handler)
