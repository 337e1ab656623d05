"""Read the tasks of a MEDS data set: samples (subject, prediction time) and their labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.errors import DataError
from eventcargo.io.shards import visible_files

VALUES = ("boolean_value", "integer_value", "float_value", "categorical_value")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Samples:
    """Subjects at prediction times: the name, subject and time of each sample, and its labels.

    `marked` and `labels` are the pairs of a sample and a label that it carries; `known` says for each sample
    and label whether the label's task has the sample, None: all have all.
    """

    names: list[str]
    subjects: NDArray[np.int64]
    times: NDArray[np.float64]
    marked: NDArray[np.int64]
    labels: NDArray[np.int32]
    label_names: list[str]
    known: NDArray[np.bool_] | None = None

    def only(self, which: NDArray[np.bool_]) -> "Samples":
        """Some of the samples."""
        kept = which[self.marked]
        return Samples(
            [name for name, stays in zip(self.names, which, strict=True) if stays],
            self.subjects[which],
            self.times[which],
            (np.cumsum(which) - 1)[self.marked[kept]],
            self.labels[kept],
            self.label_names,
        )


def read_tasks(given: str | Path | Mapping[str, str | Path]) -> Samples:
    """The samples of all tasks in a file, a folder or a mapping."""
    tables = {task: _read_task(task, paths) for task, paths in _find_tasks(given).items()}
    rows = pl.concat([table.select("subject_id", "microseconds") for table in tables.values()])
    rows = rows.unique().sort("subject_id", "microseconds").with_row_index("sample")
    marks = [
        _marks(task, table).join(rows, on=["subject_id", "microseconds"]) for task, table in tables.items()
    ]
    on = pl.concat(marks)
    names = sorted({name for task, table in tables.items() for name in _label_names(task, table)})
    numbers = {name: number for number, name in enumerate(names)}
    return Samples(
        names=_sample_names(rows),
        subjects=rows["subject_id"].to_numpy(),
        times=rows["microseconds"].to_numpy() / 1e6,
        marked=on["sample"].to_numpy().astype(np.int64),
        labels=np.array([numbers[name] for name in on["label"]], np.int32),
        label_names=names,
        known=_known(tables, rows, numbers),
    )


def _known(
    tables: Mapping[str, pl.DataFrame], rows: pl.DataFrame, numbers: Mapping[str, int]
) -> NDArray[np.bool_] | None:
    """Which samples are in the task of which label; None if every task has every sample."""
    known = np.zeros((len(rows), len(numbers)), bool)
    for task, table in tables.items():
        samples = table.join(rows, on=["subject_id", "microseconds"])["sample"].to_numpy()
        for name in _label_names(task, table):
            known[samples, numbers[name]] = True
    return None if known.all() else known


def _find_tasks(given: str | Path | Mapping[str, str | Path]) -> dict[str, list[Path]]:
    """The files of every task; a folder of Parquet files is one task, otherwise each folder in it is one."""
    if isinstance(given, Mapping):
        return {task: _files(Path(path)) for task, path in given.items()}
    path = Path(given)
    if path.is_file() or any(path.glob("*.parquet")):
        return {path.stem if path.is_file() else path.name: _files(path)}
    folders = sorted(folder for folder in path.glob("*") if folder.is_dir() and folder.name[0] not in "_.")
    if not folders:
        raise DataError(f"{path} holds no labels; give a Parquet file, or a folder of files or of tasks")
    return {folder.name: _files(folder) for folder in folders}


def _files(path: Path) -> list[Path]:
    files = [path] if path.is_file() else visible_files(path.rglob("*.parquet"))
    if not files:
        raise DataError(f"{path} holds no Parquet file with labels")
    return files


def _read_task(task: str, paths: list[Path]) -> pl.DataFrame:
    """One row per sample: subject_id, microseconds of the prediction time, value."""
    try:
        table = pl.concat([pl.read_parquet(path) for path in paths], how="diagonal_relaxed")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"task {task!r} cannot be read: {error}") from None
    for column, kind in (("subject_id", "int64"), ("prediction_time", "timestamp[us]")):
        if column not in table.columns or table[column].null_count():
            raise DataError(f"task {task!r} needs the column {column!r} ({kind}) without nulls in every file")
    _check_types(task, table)
    used = [name for name in VALUES if name in table.columns and table[name].null_count() < len(table)]
    if len(used) != 1 or table[used[0]].null_count():
        raise DataError(
            f"task {task!r} has values in {used or 'no column'}; "
            f"every row needs a value, all in one of {', '.join(VALUES)}"
        )
    rows = table.select(
        pl.col("subject_id").cast(pl.Int64),
        pl.col("prediction_time").cast(pl.Datetime("us")).cast(pl.Int64).alias("microseconds"),
        _checked_values(task, table[used[0]]).alias("value"),
    )
    return _without_repeats(task, rows)


def _check_types(task: str, table: pl.DataFrame) -> None:
    if not table["subject_id"].dtype.is_integer():
        raise DataError(f"task {task!r}: subject_id has type {table['subject_id'].dtype}; MEDS needs int64")
    if not isinstance(table["prediction_time"].dtype, pl.Datetime):
        kind = table["prediction_time"].dtype
        raise DataError(f"task {task!r}: prediction_time has type {kind}; MEDS needs timestamp[us]")


def _checked_values(task: str, values: pl.Series) -> pl.Series:
    """Boolean or string values; numbers must be 0 and 1."""
    if values.dtype in (pl.Boolean, pl.String):
        return values
    if not values.dtype.is_numeric():
        raise DataError(
            f"task {task!r}: {values.name} has type {values.dtype}; see MEDS for the allowed type"
        )
    odd = values.filter((values != 0) & (values != 1))
    if len(odd):
        raise DataError(
            f"task {task!r} has the {values.name} {odd[0]!r}; use 0 and 1, or "
            "turn numbers into boolean_value with a threshold, or into categorical_value"
        )
    return values != 0


def _without_repeats(task: str, rows: pl.DataFrame) -> pl.DataFrame:
    repeated = rows.filter(pl.struct("subject_id", "microseconds").is_duplicated())
    if len(repeated):
        raise DataError(
            f"task {task!r} has {len(repeated):,} rows that share subject and prediction time, the first: "
            f"subject {repeated['subject_id'][0]}; keep one row for each"
        )
    return rows


def _label_names(task: str, table: pl.DataFrame) -> list[str]:
    """One label for a Boolean task, even if no sample carries it; one per value of a categorical task."""
    if table["value"].dtype == pl.Boolean:
        return [task]
    return [f"{task}={value}" for value in table["value"].unique()]


def _marks(task: str, table: pl.DataFrame) -> pl.DataFrame:
    """The rows that carry a label, with the label's name."""
    if table["value"].dtype == pl.Boolean:
        rows = table.filter("value").with_columns(label=pl.lit(task))
    else:
        rows = table.with_columns(label=pl.lit(f"{task}=") + pl.col("value"))
    return rows.select("subject_id", "microseconds", "label")


def _sample_names(rows: pl.DataFrame) -> list[str]:
    several = rows["subject_id"].is_duplicated()
    return [
        f"{subject}@{(EPOCH + timedelta(microseconds=moment)).replace(tzinfo=None).isoformat()}"
        if is_one_of_several
        else str(subject)
        for subject, moment, is_one_of_several in zip(
            rows["subject_id"], rows["microseconds"], several, strict=True
        )
    ]
