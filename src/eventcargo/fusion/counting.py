"""Count votes: the edges of many sequences become sums, shard by shard, in little memory.

Test, polarity, label and event type of a row become one integer key, which compares far faster than names;
at the end keys become names again, sorted. Only integers are summed, so the result has the same bytes
whatever the order of the rows and their division into parts.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.edges import GRAINS, POLARITIES
from eventcargo.errors import ConfigError, DataError

SUMS = ("strength", "effect", "before", "entropy")
"""Columns summed in grains."""

TESTS = ("prefix", "total")
KINDS = [(test, polarity) for test in TESTS for polarity in POLARITIES]

NAME_BITS = 28
"""Bits of a key for the number of a label, and as many for the number of an event type."""

WAITING = 8_000_000
"""Rows that may wait to be summed; more if the sums so far have more rows."""

MIX = np.uint64(0x9E3779B97F4A7C15)
"""Odd multiplier that spreads the bits of a key before it is combined with another number."""


class Numbering:
    """A number for each name, in order of first appearance."""

    def __init__(self) -> None:
        self.names = pl.Series("name", [], dtype=pl.String)

    def number(self, names: pl.Series) -> pl.Series:
        """The numbers of names; new names are added."""
        numbers = names.cast(pl.Enum(self.names), strict=False)
        if numbers.null_count():
            fresh = names.filter(numbers.is_null()).unique().alias("name")
            self.names = pl.concat([self.names, fresh])
            numbers = names.cast(pl.Enum(self.names))
        return numbers.to_physical().cast(pl.UInt64)

    def ranks(self) -> NDArray[np.uint64]:
        """The rank of each number's name among all names, sorted."""
        ranks = np.empty(len(self.names), np.uint64)
        ranks[self.names.arg_sort().to_numpy()] = np.arange(len(self.names), dtype=np.uint64)
        return ranks


class Keys:
    """Encodes test, polarity, label and event type of a row as one integer, and decodes it."""

    def __init__(self) -> None:
        self.labels, self.events = Numbering(), Numbering()

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """The key of each row."""
        labels, events = self.labels.number(rows["label"]), self.events.number(rows["event"])
        kinds = kind_numbers(rows).cast(pl.UInt64)
        return (((kinds * 2**NAME_BITS + labels) * 2**NAME_BITS) + events).alias("key")

    def named(self, sums: pl.DataFrame) -> dict[tuple[str, str], pl.DataFrame]:
        """The sums by test and polarity, with names in place of keys, sorted."""
        key, mask = sums["key"].to_numpy(), np.uint64(2**NAME_BITS - 1)
        label = self.labels.ranks()[key >> np.uint64(NAME_BITS) & mask]
        event = self.events.ranks()[key & mask]
        kind = key >> np.uint64(2 * NAME_BITS)
        order = np.argsort((kind << np.uint64(2 * NAME_BITS)) + (label << np.uint64(NAME_BITS)) + event)
        names = (self.labels.names.sort().rename("label"), self.events.names.sort().rename("event"))
        bounds = np.searchsorted(kind[order], np.arange(len(KINDS) + 1))
        tables = {}
        for number, test_polarity in enumerate(KINDS):
            rows = order[bounds[number] : bounds[number + 1]]
            columns = [names[0].gather(label[rows]), names[1].gather(event[rows])]
            if len(rows):
                tables[test_polarity] = pl.DataFrame(columns).hstack(sums.drop("key")[rows])
        return tables


def kind_numbers(rows: pl.DataFrame) -> pl.Series:
    """The index in `KINDS` of each row's test and polarity."""
    numbers = pl.zeros(len(rows), dtype=pl.UInt8, eager=True)
    for name, allowed in (("test", TESTS), ("polarity", POLARITIES)):
        first, second = (rows[name] == value for value in allowed)
        known = (first | second).fill_null(False)
        if not known.all():
            unknown = rows[name].filter(~known)[0]
            raise ConfigError(f"{name}={unknown!r}: use {' or '.join(allowed)}")
        numbers = numbers * 2 + second.cast(pl.UInt8)
    return numbers


def count_kinds(keys: pl.Series) -> list[int]:
    """The number of keys of each of `KINDS`."""
    kinds = (keys.to_numpy() >> np.uint64(2 * NAME_BITS)).astype(np.int64)
    return np.bincount(kinds, minlength=len(KINDS)).tolist()


class Sums:
    """Sums of integer columns over the rows with the same key.

    >>> sums = Sums(["votes"])
    >>> for votes in (2, 3):
    ...     sums.add(pl.Series("key", [7], dtype=pl.UInt64), pl.DataFrame({"votes": [votes]}))
    >>> sums.table().row(0)
    (7, 5)
    """

    def __init__(self, columns: list[str]) -> None:
        schema = {"key": pl.UInt64(), **dict.fromkeys(columns, pl.Int64())}
        self._columns, self._summed, self._waiting = (
            columns,
            pl.DataFrame(schema=schema),
            list[pl.DataFrame](),
        )
        self._sizes = dict.fromkeys([name for name in columns if name in SUMS], 0.0)

    def add(self, keys: pl.Series, rows: pl.DataFrame) -> None:
        """Add rows with these keys."""
        self._check(rows)
        keyed = rows.select(pl.col(self._columns).cast(pl.Int64)).insert_column(0, keys)
        self._waiting.append(_added([keyed]))
        if sum(map(len, self._waiting)) > max(WAITING, len(self._summed)):
            self.table()

    def _check(self, rows: pl.DataFrame) -> None:
        """Refuse sums that 64-bit integers cannot hold: they would wrap around."""
        for name in self._sizes:
            self._sizes[name] += float(rows[name].cast(pl.Float64).abs().sum())
            if self._sizes[name] >= 2**63:
                raise DataError(
                    f"{name} adds up to {self._sizes[name] / GRAINS:.3g}, at most {2**63 // GRAINS:,} can "
                    "be summed exactly; check the edges, or fuse fewer sequences"
                )

    def table(self) -> pl.DataFrame:
        """The sums so far, sorted by key."""
        if self._waiting:
            self._summed = _added([self._summed, *self._waiting])
            self._waiting = []
        return self._summed


def _added(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The sums over rows with the same key, sorted by key."""
    keys = np.concatenate([part["key"].to_numpy() for part in parts])
    if not len(keys):
        return parts[0]
    order = np.argsort(keys, kind="stable" if len(parts) > 1 else None)  # a stable sort merges sorted parts
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    sums = {"key": keys[starts]}
    for name in parts[0].columns[1:]:
        sums[name] = np.add.reduceat(np.concatenate([part[name].to_numpy() for part in parts])[order], starts)
    return pl.DataFrame(sums)


def ballots(edges: pl.DataFrame, keys: pl.Series) -> pl.Series | None:
    """The rows that vote, None if all do: the strongest occurrence of each edge in each sequence.

    Of equally strong occurrences the first votes.
    """
    repeated = _maybe_repeated(keys, edges["sequence"])
    if repeated is None:
        return None
    rows = pl.int_range(len(edges), dtype=pl.UInt32, eager=True)
    again = edges.select("sequence", "strength", "position", keys, row=rows).filter(repeated)
    again = again.sort("strength", "position", descending=[True, False])
    strongest = again.unique(["key", "sequence"], keep="first", maintain_order=True)["row"]
    return pl.concat([rows.filter(~repeated), strongest])


def _maybe_repeated(keys: pl.Series, sequences: pl.Series) -> pl.Series | None:
    """Which rows share key and sequence with another row, None if none does; rarely a row too many.

    Key and sequence are mixed into one number, which sorts far faster than names compare. Different pairs can
    collide in that number, so the caller still compares the rows returned.
    """
    mixed = (keys.to_numpy() * MIX) ^ sequences.hash().to_numpy()
    ordered = np.sort(mixed)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return None
    places = np.minimum(np.searchsorted(twice, mixed), len(twice) - 1)
    return pl.Series(twice[places] == mixed)


def counted(edges: pl.DataFrame) -> pl.DataFrame:
    """The counts that each edge contributes if it votes, one row per edge."""
    informed = pl.col("before").is_not_null() & pl.col("entropy").is_not_null()
    return edges.select(
        pl.lit(1, pl.Int64).alias("votes"),
        (pl.col("effect") > 0).cast(pl.Int64).alias("promoting"),
        informed.cast(pl.Int64).alias("informed"),
        *[_grains(name) for name in SUMS],
    )


def _grains(name: str) -> pl.Expr:
    """A column in whole grains; null becomes 0."""
    return (pl.col(name).cast(pl.Float64) * GRAINS).round().cast(pl.Int64).fill_null(0).alias(name)


def check_filled(rows: pl.DataFrame, names: Iterable[str], what: str) -> None:
    """Refuse rows without a name or a count: they would be merged with each other or counted as 0."""
    for name in names:
        if empty := rows[name].null_count():
            raise DataError(
                f"{name} is missing in {empty:,} of {len(rows):,} {what}; extract the edges again"
            )


def check_numbers(edges: pl.DataFrame) -> None:
    """Refuse edges whose strength or effect is not finite."""
    good = (pl.col("strength").is_finite() & pl.col("effect").is_finite()).fill_null(False)
    if not edges.select(good.all()).item():
        odd = edges.filter(~good)
        raise DataError(
            f"strength or effect is not finite in {len(odd):,} of {len(edges):,} edges, the first in "
            f"sequence {odd['sequence'][0]!r}; extract the edges again"
        )
