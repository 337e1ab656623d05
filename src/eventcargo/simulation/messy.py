"""Messy twins of raw tables: CSV files as people export them, and a count of all that is wrong in them.

Fields are separated by semicolons, the encoding is cp1252, times are in UTC, in German notation and without
seconds. Some codes have blanks around them or are in capitals. Some rows are repeated; some have no subject
or no readable time, and these are extra rows, so that the truth stays what it was.
"""

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eventcargo.files import atomic_folder
from eventcargo.simulation.records import Records, as_text

if TYPE_CHECKING:
    import polars as pl

TIME_FORMAT = "%d.%m.%Y %H:%M"
BLANK_SHARE, CASE_SHARE, REPEATED_SHARE, BAD_SHARE = 0.05, 0.05, 0.02, 0.001
"""Shares of codes with blanks and with changed capitals, of repeated rows, of each kind of bad row."""

BAD_TIMES = ("unbekannt", "00.00.0000 00:00", "31.02.2023 10:00")

READ_WITH = {"separator": ";", "encoding": "cp1252", "time_format": TIME_FORMAT, "time_zone": "UTC"}


def write_messy(records: Records, folder: str | Path) -> None:
    """Write the messy twins and truth.json, with the counts of what is wrong, to a new folder."""
    counts = {}
    with atomic_folder(folder) as target:
        for name, table in records.tables().items():
            rng = np.random.default_rng([records.seed, zlib.crc32(name.encode())])
            messy, counts[name] = _make_messy(rng, as_text(table, TIME_FORMAT))
            text = messy.write_csv(separator=";", line_terminator="\r\n")
            (target / f"{name}.csv").write_bytes(text.encode("cp1252"))
        records.write_truth(target, files=READ_WITH, messy=counts)


def _make_messy(rng: np.random.Generator, table: "pl.DataFrame") -> tuple["pl.DataFrame", dict[str, int]]:
    """The table in disorder, and how many rows have which problem."""
    counts: dict[str, Any] = {"rows": len(table)}
    if "code" in table.columns and "time" in table.columns:
        table, counts["blanks"], counts["capitals"] = _disfigure(rng, table)
    if "time" in table.columns:
        table, counts["repeated"] = _repeat(rng, table)
        table, more = _spoil(rng, table)
        counts |= more
    return table, counts


def _disfigure(rng: np.random.Generator, table: "pl.DataFrame") -> tuple["pl.DataFrame", int, int]:
    """Codes with blanks around them, or in capitals."""
    import polars as pl

    has_blanks, is_capital = rng.random(len(table)) < BLANK_SHARE, rng.random(len(table)) < CASE_SHARE
    code = pl.when(pl.lit(pl.Series(is_capital))).then(pl.col("code").str.to_uppercase()).otherwise("code")
    blanks = pl.when(pl.lit(pl.Series(has_blanks))).then(pl.lit("  ")).otherwise(pl.lit(""))
    changed = table.with_columns(code=code).with_columns(
        code=pl.concat_str(blanks, "code", blanks.str.head(1))
    )
    return changed, int(has_blanks.sum()), int((changed["code"].str.strip_chars() != table["code"]).sum())


def _repeat(rng: np.random.Generator, table: "pl.DataFrame") -> tuple["pl.DataFrame", int]:
    """Some rows once more, right after themselves."""
    times = 1 + (rng.random(len(table)) < REPEATED_SHARE)
    return table[np.repeat(np.arange(len(table)), times)], int(times.sum()) - len(table)


def _spoil(rng: np.random.Generator, table: "pl.DataFrame") -> tuple["pl.DataFrame", dict[str, int]]:
    """Extra rows without a subject or without a readable time, in random places."""
    import polars as pl

    count = max(1, round(BAD_SHARE * len(table)))
    nobody = table[rng.integers(0, len(table), count)].with_columns(subject_id=pl.lit(None, pl.String))
    timeless = table[rng.integers(0, len(table), count)].with_columns(
        time=pl.Series(rng.choice(BAD_TIMES, count))
    )
    order = np.argsort(
        np.concatenate([np.arange(len(table)), rng.random(2 * count) * len(table)]), kind="stable"
    )
    return pl.concat([table, nobody, timeless])[order], {"null_ids": count, "bad_times": count}
