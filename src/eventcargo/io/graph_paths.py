"""Paths of graphs: checked by their endings before a graph is computed or read."""

from importlib.util import find_spec
from pathlib import Path

from eventcargo.errors import ConfigError, DataError

WRITABLE = (".parquet", ".json", ".csv", ".graphml", ".dot", ".svg", ".png", ".xlsx")
READABLE = (".parquet", ".json", ".csv")
EXTRAS = {
    ".svg": ("matplotlib", "figures"),
    ".png": ("matplotlib", "figures"),
    ".xlsx": ("xlsxwriter", "xlsx"),
}
"""The package that an ending needs, and the extra that installs it."""


def check_graph_path(path: Path) -> None:
    """Refuse an ending that no graph format has, or needs a missing package, before the graph is computed."""
    if path.suffix.lower() not in WRITABLE:
        raise DataError(f"{path} has an unknown ending; use {', '.join(WRITABLE)}")
    package, extra = EXTRAS.get(path.suffix.lower(), ("", ""))
    if package and find_spec(package) is None:
        raise ConfigError(f"{path} needs {package}; install it with pip install 'eventcargo[{extra}]'")


def check_graph_file(path: Path) -> None:
    """Refuse a path that is no file, or has an ending from which no graph is read."""
    if not path.is_file():
        raise DataError(f"{path} is not a file; give a graph as {', '.join(READABLE)}, or a frame")
    if path.suffix.lower() not in READABLE:
        raise DataError(f"{path} has an unknown ending; graphs are read from {', '.join(READABLE)}")
