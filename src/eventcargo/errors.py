"""The errors and warnings of this package, and how their messages count things.

A message says what is wrong, the value, what is allowed and what to do. The command line prints it as one
paragraph and exits with 1.
"""


class EventCargoError(Exception):
    """Base of all errors this package raises on purpose."""


class DataError(EventCargoError, ValueError):
    """The data cannot be used as they are."""


class ConfigError(EventCargoError, ValueError):
    """A setting is outside its allowed range."""


class EventCargoWarning(UserWarning):
    """The work continues, but something was left out or looks wrong; the message gives the count."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun in the right number.

    >>> counted(1, "sequence"), counted(2_000, "sequence"), counted(0, "boundary", "boundaries")
    ('1 sequence', '2,000 sequences', '0 boundaries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
