"""Cohort: how recorded events and outcomes become sequences that end before what they are to explain."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from eventcargo.cohort.durations import check_duration, check_lookback
from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, DataError, argument
from eventcargo.files import read_document, write_document
from eventcargo.io.config import ReadConfig
from eventcargo.typed import parse_as

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

FORMAT, FORMAT_VERSION = "eventcargo-cohort", 1

INDEX, TIMING, COHORT = "index.parquet", "timing.parquet", "cohort.json"
"""Files of a cohort: in the folder of its data set, and but for the first in that of a run."""

Index = Literal["", "outcome", "windows", "end", "prediction"]


@dataclass(frozen=True)
class Cohort(Settings):
    """Where sequences end, how far they reach back, who is compared with whom, and what goes into them.

    >>> cohort = Cohort(label_time="when", lookback="30d")
    >>> cohort.controls, Cohort.from_dict(cohort.to_dict()) == cohort
    (3, True)
    """

    panel: ClassVar[str] = "Cohort"

    index: Index = ""
    """outcome: a sequence ends at each time of an outcome, and at random times of controls; windows: every
    so often; end: at the end of the history; prediction: at the prediction times of MEDS labels; default:
    prediction or outcome where labels have times, else end"""
    label_time: str = ""
    """column with the time of an outcome, in the table of labels"""
    lookback: str = ""
    """how far before its end a sequence reaches, such as 30d, 12h or '500 events'; default: all"""
    gap: str = "0"
    """time before the end that is left blank, such as 2d: what is known too late to help"""
    horizon: str = "0"
    """how long after the end of a sequence an outcome still counts for it; windows: default as --every"""
    every: str = "1h"
    """time between two windows"""
    controls: int = setting(3, ge=0)
    """controls for each case: moments without outcome, as long after the start of their history"""
    only: tuple[str, ...] = ()
    """label to look at, others are left out; repeat for more; default: all"""
    washout: str = "0"
    """time after an outcome in which no sequence ends, such as 30d: what follows an outcome is not read as
    what leads to the next"""
    group: str = ""
    """column with what a split must not tear apart, such as a family or a site; default: the subject"""
    outcomes: tuple[str, ...] = ()
    """event types that are outcomes, such as 'ICD10CM//I21*'; repeat for more"""
    adjust: tuple[str, ...] = ()
    """column of --static to adjust for: in every condition set, never a cause; repeat for more"""
    numeric_value: str = ""
    """column of the events with a measured number, which becomes events such as 'creatinine >= 2'"""
    cut: tuple[str, ...] = ()
    """thresholds of one event type, such as creatinine=1.2,2.0; repeat for more; default: quantiles"""
    quantiles: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    """quantiles of an event type's numbers that are thresholds; repeat for more"""
    prefix: int = setting(0, ge=0)
    """the first so many characters of an event type are its family; 0: none"""
    normalise: bool = False
    """trim blanks and fold the case of event types and labels"""
    exclude: tuple[str, ...] = ()
    """event types to leave out, such as 'WS:*'; repeat for more"""
    duplicates: Literal["drop", "keep"] = "drop"
    """rows with equal subject, time, event type and numbers: drop or keep"""
    min_sequences: int = setting(1, ge=1)
    """event types in fewer sequences are left out"""
    seed: int = setting(0, ge=0)
    """seed of the random times of controls"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_lookback(self.lookback)
        for name in ("gap", "horizon", "every", "washout"):
            check_duration(name, getattr(self, name))
        if self.index == "windows" and not self.lookback:
            raise ConfigError(
                f"{argument('index', 'windows')} needs {argument('lookback')}, such as 24h or '500 events'"
            )
        outside = [share for share in self.quantiles if not 0 < share < 1]
        if outside:
            raise ConfigError(f"{argument('quantiles', outside[0])}: use numbers between 0 and 1")
        for text in self.cut:
            parse_cut(text)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked for: sequences are histories as they are."""
        return replace(self, index="end", seed=0) == Cohort(index="end") and self.index in ("", "end")

    @property
    def cuts(self) -> bool:
        """Whether more is asked for than to leave out event types, which any data set can do."""
        return not replace(self, exclude=()).is_plain

    @property
    def before_outcomes(self) -> "Cohort":
        """The cohort of histories whose outcomes are not known yet: each ends with its last event."""
        return replace(self, index="end", label_time="", outcomes=(), only=())

    def build(
        self,
        events: Any,
        outcomes: Any = None,
        *,
        static: Any = None,
        parents: Any = None,
        values: tuple[str, ...] = (),
        sequence_id: str = "sequence_id",
        time: str = "time",
        event: str = "event",
        label: str = "label",
        reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
    ) -> "EventDataset":
        """The sequences of tables of events and outcomes; see `build_cohort`, which also returns counts."""
        from eventcargo.cohort.build import build_cohort
        from eventcargo.cohort.tables import Tables

        tables = Tables(events, outcomes, static, parents, values, sequence_id, time, event, label, reading)
        return build_cohort(self, tables).data

    def to_dict(self) -> dict[str, Any]:
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Cohort":
        """The cohort that `to_dict` gave; raises `DataError` for anything else."""
        cohort: Cohort = parse_as(cls, content, "cohort")
        return cohort


def write_cohort(path: Path, cohort: Cohort, summary: Mapping[str, Any]) -> None:
    """Write the settings of a cohort and what it counted as JSON."""
    write_document(path, FORMAT, FORMAT_VERSION, {"cohort": cohort.to_dict(), "summary": dict(summary)})


def read_cohort(path: Path) -> tuple[Cohort, dict[str, Any]]:
    """The settings of a cohort and what it counted."""
    content = read_document(path, FORMAT, FORMAT_VERSION, "make the cohort again")
    try:
        summary = parse_as(dict[str, Any], content.get("summary"), "summary")
        return Cohort.from_dict(content.get("cohort", {})), summary
    except (ConfigError, DataError) as error:
        raise DataError(f"{path} is damaged: {error}; make the cohort again") from None


def parse_cut(text: str) -> tuple[str, tuple[float, ...]]:
    """An event type and its thresholds, ascending.

    >>> parse_cut("creatinine=2.0,1.2")
    ('creatinine', (1.2, 2.0))
    """
    name, separator, numbers = text.rpartition("=")
    try:
        cuts = sorted({float(number) for number in numbers.split(",")})
    except ValueError:
        cuts = []
    if not (name and separator and cuts):
        raise ConfigError(
            f"{argument('cut', text)}: give an event type and its thresholds, such as creatinine=1.2,2.0"
        )
    return name, tuple(cuts)
