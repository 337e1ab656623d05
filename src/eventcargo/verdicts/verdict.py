"""Verdict: whether to trust the edges of a label, and whether they are all there is."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.files import read_document, write_document
from eventcargo.html_tables import Tone, block, paragraph, table, toned
from eventcargo.typed import parse_as

FORMAT, FORMAT_VERSION = "eventcargo-verdicts", 2

AGAIN = "delete it and judge again"

LEVELS = ("trust", "caution", "doubt")
"""Levels from best to worst."""

TONES: Mapping[str, Tone] = {"trust": "good", "caution": "fair", "doubt": "bad"}
"""The colour of each level in notebooks."""

SHOWN = 10
"""Verdicts in the text of `Verdicts`, the worst first."""


@dataclass(frozen=True)
class Verdict:
    """A level with its reasons, most serious first: are these edges real? And signs that others are missing.

    >>> Verdict.of("brake", [("caution", "few sequences"), ("doubt", "no cause found")])
    Verdict(label='brake', level='doubt', reasons=('no cause found', 'few sequences'), missing=())
    """

    label: str
    level: str
    reasons: tuple[str, ...]
    missing: tuple[str, ...] = ()
    """What speaks for causes that are not in the boundary, recorded or not; empty: nothing does."""

    def _repr_html_(self) -> str:
        columns = ["are they real?", "reasons", "is that all?"]
        row = [toned(self.level, TONES[self.level]), "; ".join(self.reasons), "; ".join(self.missing) or None]
        return block(f"Verdict on {self.label}", table(columns, [row]))

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ConfigError(f"level={self.level!r}: use {', '.join(LEVELS)}")

    @classmethod
    def of(cls, label: str, found: Iterable[tuple[str, str]], missing: Iterable[str] = ()) -> "Verdict":
        """The verdict with the worst of some levels, and all their reasons."""
        ordered = sorted(found, key=lambda pair: -LEVELS.index(pair[0]))
        return cls(label, ordered[0][0], tuple(reason for _, reason in ordered), tuple(missing))


class Verdicts(dict[str, Verdict]):
    """The verdict of every label, by its name: a dictionary that shows itself, the worst first.

    >>> Verdicts(brake=Verdict("brake", "doubt", ("no cause found",)), fuel=Verdict("fuel", "trust", ()))
    Verdicts on 2 labels: trust 1, caution 0, doubt 1
      brake: doubt, no cause found
      fuel: trust
    """

    def __repr__(self) -> str:
        worst = self.worst_first()
        lines = [f"  {', '.join([f'{one.label}: {one.level}', *one.reasons[:1]])}" for one in worst[:SHOWN]]
        more = [f"  ... and {len(worst) - SHOWN:,} more"] if len(worst) > SHOWN else []
        return "\n".join([self._title, *lines, *more])

    def _repr_html_(self) -> str:
        rows = [
            [
                one.label,
                toned(one.level, TONES[one.level]),
                "; ".join(one.reasons),
                "; ".join(one.missing) or None,
            ]
            for one in self.worst_first()
        ]
        note = (
            "Are the causes real? And does anything speak for causes that are missing? The worst come first."
        )
        columns = ["label", "are they real?", "reasons", "is that all?"]
        return block(self._title, table(columns, rows), paragraph(note, "faint"))

    @property
    def _title(self) -> str:
        return f"Verdicts on {counted(len(self), 'label')}: {count_levels(self)}"

    def worst_first(self) -> list[Verdict]:
        """The verdicts from doubt to trust, within a level by name."""
        return sorted(self.values(), key=lambda one: (-LEVELS.index(one.level), one.label))


def verdict_notes(verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, Any]]:
    """Level, reasons and signs of missing causes of every label, for JSON.

    >>> verdict_notes({"brake": Verdict("brake", "doubt", ("no cause found",))})
    {'brake': {'level': 'doubt', 'reasons': ['no cause found'], 'missing': []}}
    """
    return {
        label: {name: value if isinstance(value, str) else list(value) for name, value in shown.items()}
        for label, verdict in verdicts.items()
        if (shown := {name: getattr(verdict, name) for name in ("level", "reasons", "missing")})
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


def read_verdicts(path: str | Path) -> Verdicts:
    """Read the verdict of every label; refuses files that `write_verdicts` did not write."""
    content = read_document(path, FORMAT, FORMAT_VERSION, AGAIN)
    try:
        rows = parse_as(list[Verdict], content.get("verdicts"), "verdicts")
    except (ConfigError, DataError) as error:
        raise DataError(f"{path} holds no verdicts: {error}; {AGAIN}") from None
    return Verdicts({verdict.label: verdict for verdict in rows})
