"""The one family of errors and warnings of this package.

A message says what is wrong, the value got, what is allowed and what to do. The command line prints it as
one paragraph and exits with 1.
"""


class EventCargoError(Exception):
    """Anything this package refuses."""


class DataError(EventCargoError, ValueError):
    """The data given cannot be used as they are."""


class ConfigError(EventCargoError, ValueError):
    """A setting is outside of what is allowed."""


class EventCargoWarning(UserWarning):
    """Something was counted and the work went on; the message holds the count."""
