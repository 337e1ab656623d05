"""The endings of files that tables of results are written to, checked before anything heavy is loaded."""

from pathlib import Path

from eventcargo.errors import DataError

ENDINGS = (".parquet", ".csv", ".jsonl")


def check_table_path(path: Path) -> None:
    """Refuse an ending that no table is written to, before any work."""
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path} has an unknown ending; use {', '.join(ENDINGS)}")
