"""Attributes: what is always true of a subject, such as model, sex or site, as events `column=value`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from eventcargo.cohort.event_types import EventTypes
from eventcargo.cohort.segments import by_owner
from eventcargo.errors import ConfigError, DataError, argument, counted
from eventcargo.events import Ragged
from eventcargo.io.columns import plain
from eventcargo.io.config import ReadConfig
from eventcargo.io.sources import READING, open_sources

MOST_VALUES = 10
"""A column of numbers with more different values is cut into bands."""

BANDS = (0.25, 0.5, 0.75)
"""Quantiles between the bands of a column of numbers."""


@dataclass(frozen=True)
class Attributes:
    """The attributes of every subject as event types, ragged, and the names of those adjusted for."""

    rows: Ragged
    codes: NDArray[np.int32]
    names: tuple[str, ...]
    adjusted: tuple[str, ...]
    n_without: int
    """subjects without a row in the table"""

    @classmethod
    def none(cls, n_subjects: int) -> "Attributes":
        return cls(by_owner(np.zeros(0, np.int32), n_subjects), np.zeros(0, np.int32), (), (), 0)


def read_static(given: Any, sequence_id: str, reading: ReadConfig = READING) -> pl.DataFrame:
    """A table of attributes with one row per subject; its first column is the subject."""
    sources = open_sources(given, "static", reading)
    for source in sources:
        source.check_column(sequence_id, "sequence_id")
    frames = []
    for source in sources:
        for batch in source.read(source.columns):
            columns = {name: plain(batch.column(name)) for name in source.columns}
            frames.append(pl.DataFrame(pl.from_arrow(pa.table(columns))))
    if not frames:
        raise DataError(f"{sources[0].place} is empty; give the attributes, or leave the table out")
    table = (
        pl.concat(frames, how="diagonal_relaxed").with_columns(pl.col(sequence_id).cast(pl.String)).unique()
    )
    repeated = table[sequence_id].filter(table[sequence_id].is_duplicated())
    if len(repeated):
        raise DataError(
            f"the static table has several different rows for {counted(repeated.n_unique(), 'subject')}, the "
            f"first: {repeated.sort()[0]!r}; keep one row each"
        )
    return table.select(sequence_id, pl.exclude(sequence_id)).sort(sequence_id)


def make_attributes(
    table: pl.DataFrame,
    subjects: pa.Array,
    types: EventTypes,
    adjust: Sequence[str],
    leave: Sequence[str] = (),
    known: Sequence[str] | None = None,
) -> Attributes:
    """Attributes of these subjects from a table of `read_static`, without the columns in `leave`.

    Bands are those of the `known` attributes, by default between the quartiles of the table. The order of the
    columns does not matter: the attributes of a subject are sorted by them.
    """
    key, *columns = table.columns
    columns = sorted(name for name in columns if name not in leave or name in adjust)
    unknown = sorted(set(adjust) - set(columns))
    if unknown:
        raise ConfigError(
            f"{argument('adjust', unknown[0])}: the static table has the columns {', '.join(columns)}"
        )
    place = pl.DataFrame({key: pl.Series(subjects).cast(pl.String)}).with_row_index("subject")
    placed = place.join(table, on=key, how="inner", maintain_order="left")
    recorded = len(types)
    owners, codes, adjusted = [], [], set()
    for column in columns:
        words = _words(placed[column], None if known is None else known_bands(column, known))
        is_told = words.is_not_null()
        numbers = {word: types.add(f"{column}={word}") for word in sorted(words.drop_nulls().unique())}
        owners.append(placed["subject"].filter(is_told).to_numpy().astype(np.int32))
        codes.append(np.array([numbers[word] for word in words.filter(is_told)], np.int32))
        if column in adjust:
            adjusted |= {types.names[code] for code in numbers.values()}
    return _sorted(owners, codes, len(subjects), types, recorded, adjusted, len(subjects) - len(placed))


def _sorted(
    owners: list[NDArray[np.int32]],
    codes: list[NDArray[np.int32]],
    n_subjects: int,
    types: EventTypes,
    recorded: int,
    adjusted: set[str],
    n_without: int,
) -> Attributes:
    owner, code = (np.concatenate([np.zeros(0, np.int32), *each]) for each in (owners, codes))
    taken = np.unique(code[code < recorded])
    if len(taken):
        raise DataError(f"{types.names[taken[0]]!r} is both an attribute and an event; rename one")
    order = np.lexsort((code, owner))
    names = tuple(sorted(types.names[number] for number in np.unique(code)))
    rows = by_owner(owner[order], n_subjects)
    return Attributes(rows, code[order], names, tuple(sorted(adjusted)), n_without)


def with_pairs(
    given: Attributes, owners: NDArray[np.int32], codes: NDArray[np.int32], names: Sequence[str]
) -> Attributes:
    """Attributes with further pairs (subject, event type), of which `names` are never events in time."""
    n_subjects = len(given.rows.starts)
    before = np.repeat(np.arange(n_subjects, dtype=np.int32), given.rows.lengths)
    pairs = np.unique(np.stack([np.r_[before, owners], np.r_[given.codes, codes]], axis=1), axis=0)
    rows = by_owner(pairs[:, 0], n_subjects)
    every = tuple(sorted({*given.names, *names}))
    return Attributes(rows, pairs[:, 1].astype(np.int32), every, given.adjusted, given.n_without)


def known_bands(column: str, known: Sequence[str]) -> list[float]:
    """The cuts between the bands of a column of numbers, by the names of attributes.

    >>> known_bands("age", ["age=40 to 55", "age=below 40", "age=70 or more", "sex=f"])
    [40.0, 55.0, 70.0]
    """
    numbers = "([-+.0-9einf]+)"
    band = re.compile(rf"{re.escape(column)}=(?:below {numbers}|{numbers} to {numbers}|{numbers} or more)")
    found = filter(None, map(band.fullmatch, known))
    return sorted({float(cut) for match in found for cut in match.groups() if cut})


def _words(column: pl.Series, cuts: Sequence[float] | None = None) -> pl.Series:
    """The values of an attribute as text: dates by year, many numbers in bands, empty text as null.

    `cuts` between bands are known, none of them if the numbers are not in bands; by default quartiles.
    """
    if column.dtype.is_temporal():
        return column.dt.year().cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars().replace("", None)
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() == column.null_count() < len(column):
            column = numbers
    is_banded = column.n_unique() > MOST_VALUES if cuts is None else bool(cuts)
    if column.dtype.is_numeric() and is_banded:
        numbers = column.cast(pl.Float64).fill_nan(None)
        return _bands(numbers, _quartiles(numbers) if cuts is None else cuts)
    if column.dtype.is_float():
        return pl.Series(
            [None if value is None else f"{value:g}" for value in column.fill_nan(None)], dtype=pl.String
        )
    return column.cast(pl.String)


def _quartiles(numbers: pl.Series) -> list[float]:
    """The quartiles of numbers, rounded, as far as they lie above the smallest."""
    quartiles = [float(f"{numbers.quantile(share, 'nearest'):.3g}") for share in BANDS]
    return [cut for cut in sorted(set(quartiles)) if cut > numbers.min()]  # type: ignore[operator]


def _bands(numbers: pl.Series, cuts: Sequence[float]) -> pl.Series:
    """Numbers as bands between cuts, such as `40 to 55`, which includes 40 but not 55."""
    if not cuts:
        return pl.Series([None] * len(numbers), dtype=pl.String)
    inner = [f"{low:g} to {high:g}" for low, high in pairwise(cuts)]
    names = [f"below {cuts[0]:g}", *inner, f"{cuts[-1]:g} or more"]
    at = np.searchsorted(cuts, numbers.fill_null(0.0).to_numpy(), side="right")
    words = pl.Series([names[band] for band in at], dtype=pl.String)
    return words.to_frame("word").select(pl.when(numbers.is_not_null()).then("word"))["word"]
