"""ReadConfig: how tables of text are read, and what happens to rows that cannot be used."""

from dataclasses import dataclass
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

from eventcargo.config import Settings
from eventcargo.errors import ConfigError, argument

TAB = {r"\t": "\t", "tab": "\t"}
"""Other ways to write a tab, which is hard to type in a shell."""


@dataclass(frozen=True)
class ReadConfig(Settings):
    """Settings of the readers of tables; all but `on_bad_row` and `time_zone` concern text alone."""

    panel: ClassVar[str] = "Reading"

    time_format: str = ""
    """format of dates in text, such as %d.%m.%Y %H:%M; empty: ISO-8601 dates or numbers"""
    time_zone: str = ""
    """zone of dates that name none, such as Europe/Berlin; empty: UTC"""
    separator: str = ""
    """separator of the columns in CSV; empty: found in the first lines among comma, semicolon, tab and |"""
    encoding: str = ""
    """encoding of text files, such as cp1252; empty: UTF-8, UTF-16 with a byte order mark, else cp1252 with
    a warning"""
    on_bad_row: Literal["refuse", "drop"] = "refuse"
    """rows that cannot be used: refuse the table with a list of them, or drop them with a warning"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_format and "%" not in self.time_format:
            raise ConfigError(
                f"{argument('time_format', self.time_format)}: use a format such as %d.%m.%Y %H:%M"
            )
        if self.separator and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ConfigError(f"{argument('separator', self.separator)}: use one character, or \\t for a tab")
        _check_encoding(self.encoding)
        _check_zone(self.time_zone)

    @property
    def delimiter(self) -> str:
        """The separator as one character; empty if it has to be found."""
        return TAB.get(self.separator, self.separator)


def _check_encoding(name: str) -> None:
    if not name:
        return
    try:
        "".encode(name)  # refuses codecs that are not encodings of text, such as base64
    except (LookupError, ValueError):
        raise ConfigError(
            f"{argument('encoding', name)} is unknown; use utf-8, utf-16, cp1252, latin-1 or another codec "
            "of Python"
        ) from None


def _check_zone(name: str) -> None:
    if not name:
        return
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(
            f"{argument('time_zone', name)} is unknown; use UTC or a name such as Europe/Berlin"
        ) from None
