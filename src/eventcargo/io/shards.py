"""Find the files of a path: one file, a folder of shards or a pattern, all of one format, sorted by name.

The ending alone decides the format. Files whose name starts with `_` or `.` are ignored.
"""

from collections.abc import Iterable
from pathlib import Path

from eventcargo.errors import DataError

ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson": "jsonl",
    ".ndjson.gz": "jsonl",
}


def find_shards(path: str | Path) -> list[Path]:
    """The files of a path, a folder or a pattern such as `events/*.parquet`."""
    path = Path(path)
    if path.is_dir():
        return _one_format(visible_files(path.iterdir()), f"{path} holds no table")
    if path.exists():
        return [path]
    if _is_pattern(str(path)):
        return _one_format(_matches(path), f"no file matches {path}")
    raise DataError(f"{path} does not exist; give a file, a folder or a pattern such as events/*.parquet")


def file_format(path: Path) -> str:
    """The format of a file by its ending; refuse an unknown ending."""
    name = path.name.lower()
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise DataError(f"{path} has an unknown ending; use {', '.join(ENDINGS)}")


def find_beside(folder: Path, stem: str) -> Path | None:
    """The table `stem.*` in a folder, or None."""
    tables = [folder / f"{stem}{ending}" for ending in ENDINGS if (folder / f"{stem}{ending}").is_file()]
    if len(tables) > 1:
        raise DataError(
            f"{folder} holds {len(tables)} tables called {stem}: {_names(tables)}; name one of them"
        )
    return tables[0] if tables else None


def visible_files(paths: Iterable[Path]) -> list[Path]:
    """The files among the paths, sorted, except names that start with `_` or `.`."""
    return sorted(path for path in paths if path.is_file() and path.name[0] not in "_.")


def _is_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def _matches(pattern: Path) -> list[Path]:
    """The visible files that match; pathlib needs the fixed folder apart from the pattern."""
    fixed = next(parent for parent in pattern.parents if not _is_pattern(str(parent)))
    return visible_files(fixed.glob(str(pattern.relative_to(fixed))))


def _one_format(paths: list[Path], empty: str) -> list[Path]:
    if not paths:
        raise DataError(f"{empty}; use files that end in {', '.join(ENDINGS)}")
    kinds = {file_format(path): path for path in reversed(paths)}
    if len(kinds) > 1:
        raise DataError(
            f"{paths[0].parent} mixes formats: {', '.join(sorted(kinds))}, as in {_names(kinds.values())}; "
            "choose one with a pattern such as *.parquet"
        )
    return paths


def _names(paths: Iterable[Path]) -> str:
    return ", ".join(sorted(path.name for path in paths))
