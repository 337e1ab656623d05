"""Paths of graphs: checked by their endings before a graph is computed or read."""

from pathlib import Path

from eventcargo.errors import DataError

WRITABLE = (".parquet", ".json", ".csv", ".graphml", ".dot")
READABLE = (".parquet", ".json", ".csv")


def check_graph_path(path: Path) -> None:
    """Refuse a path with an ending that no graph format has, before the graph is computed."""
    if path.suffix.lower() not in WRITABLE:
        raise DataError(f"{path} has an unknown ending; use {', '.join(WRITABLE)}")


def check_graph_file(path: Path) -> None:
    """Refuse a path that is no file, or has an ending from which no graph is read."""
    if not path.is_file():
        raise DataError(f"{path} is not a file; give a graph as {', '.join(READABLE)}, or a frame")
    if path.suffix.lower() not in READABLE:
        raise DataError(f"{path} has an unknown ending; graphs are read from {', '.join(READABLE)}")
