"""Verdict: whether to trust the boundary of a label, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eventcargo.errors import ConfigError, DataError
from eventcargo.files import read_document, write_document

FORMAT, FORMAT_VERSION = "eventcargo-verdicts", 1

LEVELS = ("trust", "caution", "doubt")
"""Levels from best to worst."""


@dataclass(frozen=True)
class Verdict:
    """A level with its reasons, most serious first.

    >>> Verdict.of("brake", [("caution", "few sequences"), ("doubt", "no cause found")])
    Verdict(label='brake', level='doubt', reasons=('no cause found', 'few sequences'))
    """

    label: str
    level: str
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ConfigError(f"level={self.level!r}: use {', '.join(LEVELS)}")

    @classmethod
    def of(cls, label: str, found: Iterable[tuple[str, str]]) -> "Verdict":
        """The verdict with the worst of some levels, and all their reasons."""
        ordered = sorted(found, key=lambda pair: -LEVELS.index(pair[0]))
        return cls(label, ordered[0][0], tuple(reason for _, reason in ordered))


def verdict_notes(verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, Any]]:
    """Level and reasons of every label, for JSON.

    >>> verdict_notes({"brake": Verdict("brake", "doubt", ("no cause found",))})
    {'brake': {'level': 'doubt', 'reasons': ['no cause found']}}
    """
    return {
        label: {"level": verdict.level, "reasons": list(verdict.reasons)}
        for label, verdict in verdicts.items()
    }


def count_levels(verdicts: Mapping[str, Verdict]) -> str:
    """How many labels have each level, in words.

    >>> count_levels({"brake": Verdict("brake", "doubt", ())})
    'trust 0, caution 0, doubt 1'
    """
    levels = [verdict.level for verdict in verdicts.values()]
    return ", ".join(f"{level} {levels.count(level):,}" for level in LEVELS)


def write_verdicts(path: str | Path, verdicts: Mapping[str, Verdict]) -> None:
    """Write JSON that `read_verdicts` reads."""
    rows = [asdict(verdict) for verdict in verdicts.values()]
    write_document(path, FORMAT, FORMAT_VERSION, {"verdicts": rows})


def read_verdicts(path: str | Path) -> dict[str, Verdict]:
    """Read the verdict of every label; refuses files that `write_verdicts` did not write."""
    try:
        content = read_document(path, FORMAT, FORMAT_VERSION)
        rows = [Verdict(**{**row, "reasons": tuple(row["reasons"])}) for row in content["verdicts"]]
    except (OSError, KeyError, TypeError) as error:
        raise DataError(f"{path} holds no verdicts: {error}") from None
    return {verdict.label: verdict for verdict in rows}
