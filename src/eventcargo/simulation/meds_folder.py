"""Raw records as a MEDS 0.4 folder: data in shards by split, code metadata, splits, and a table of outcomes.

Subjects are numbers; attributes are measurements without a time, named `column=value`. MEDS has no place for
outcomes with times, so they are a table of their own (subject_id, time, label) beside `data`.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eventcargo.errors import ConfigError
from eventcargo.files import atomic_folder
from eventcargo.simulation.records import Records

if TYPE_CHECKING:
    import polars as pl

SPLITS = {"train": 0.8, "tuning": 0.1, "held_out": 0.1}
SUBJECTS_PER_SHARD = 1_000


def write_meds(records: Records, folder: str | Path) -> None:
    """Write a MEDS folder and truth.json; every table passes the checks of the package `meds`."""
    try:
        meds = import_module("meds")
    except ImportError as error:
        raise ConfigError(f"MEDS folders need the package meds ({error}); install eventcargo[meds]") from None
    splits = _splits(records)
    with atomic_folder(folder) as target:
        (target / "metadata").mkdir()
        _write(meds.SubjectSplitSchema, splits, target / meds.subject_splits_filepath)
        _write(meds.CodeMetadataSchema, _codes(records), target / meds.code_metadata_filepath)
        _write_shards(meds.DataSchema, _data(records), splits, target / meds.data_subdirectory)
        _numbered(records.outcomes).write_parquet(target / "outcomes.parquet")
        _write_description(records, meds, target / meds.dataset_metadata_filepath)
        records.write_truth(target)


def _write_description(records: Records, meds: Any, path: Path) -> None:
    described = meds.DatasetMetadataSchema(
        dataset_name=f"eventcargo {records.regime}", meds_version=meds.__version__
    )
    path.write_text(json.dumps(described.to_dict(), indent=1) + "\n", "utf-8")


def _write(schema: Any, table: "pl.DataFrame", path: Path) -> None:
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(schema.align(table.to_arrow()), path)


def _numbered(table: "pl.DataFrame") -> "pl.DataFrame":
    """The table with subjects as whole numbers and times without a zone, which MEDS reads as UTC."""
    import polars as pl
    import polars.selectors as cs

    number = pl.col("subject_id").str.extract(r"(\d+)").cast(pl.Int64)
    return table.with_columns(number, cs.temporal().dt.replace_time_zone(None))


def _data(records: Records) -> "pl.DataFrame":
    """Attributes without a time, then events, by subject and time."""
    import polars as pl

    attributes = records.static.unpivot(index="subject_id").select(
        "subject_id",
        pl.lit(None, pl.Datetime("us", "UTC")).alias("time"),
        pl.format("{}={}", "variable", "value").alias("code"),
        pl.lit(None, pl.Float64).alias("numeric_value"),
    )
    rows = _numbered(pl.concat([attributes, records.events])).cast({"numeric_value": pl.Float32})
    return rows.sort("subject_id", "time", "code", "numeric_value", nulls_last=False)


def _codes(records: Records) -> "pl.DataFrame":
    """Metadata of all codes, attributes included."""
    import polars as pl

    attributes = _data(records).filter(pl.col("time").is_null()).select("code").unique()
    described = attributes.with_columns(description="code", parent_codes=pl.lit([], pl.List(pl.String)))
    return pl.concat([records.codes, described]).sort("code")


def _splits(records: Records) -> "pl.DataFrame":
    """Every subject's split, drawn at random."""
    import polars as pl

    rng = np.random.default_rng([records.seed, len(records.static)])
    drawn = rng.choice(list(SPLITS), len(records.static), p=list(SPLITS.values()))
    return _numbered(records.static.select("subject_id", split=pl.Series(drawn)))


def _write_shards(schema: Any, data: "pl.DataFrame", splits: "pl.DataFrame", folder: Path) -> None:
    """One folder per split, with shards of whole subjects."""
    import polars as pl

    for split in SPLITS:
        subjects = splits.filter(pl.col("split") == split)["subject_id"].sort()
        for shard, first in enumerate(range(0, len(subjects), SUBJECTS_PER_SHARD)):
            wanted = subjects[first : first + SUBJECTS_PER_SHARD]
            rows = data.filter(pl.col("subject_id").is_in(wanted.implode()))
            _write(schema, rows, folder / split / f"{shard}.parquet")
