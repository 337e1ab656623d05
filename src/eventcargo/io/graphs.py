"""`read_graph` and `write_graph`: a `LabelGraph` as a file; the ending selects the format.

Parquet and JSON hold the whole graph, with the members of families and the alternatives to thresholds; CSV
holds the edges only. GraphML and DOT are for drawing programs, XLSX is for Excel, SVG and PNG are figures:
they are written, not read.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.csv
import pyarrow.parquet

from eventcargo.checksums import CHECKSUM, content_checksum
from eventcargo.errors import ConfigError, DataError, EventCargoWarning, counted, shown_value
from eventcargo.files import atomic_file, parse_document
from eventcargo.graphs import EDGE_SCHEMA, LabelGraph
from eventcargo.io.graph_paths import check_graph_file, check_graph_path
from eventcargo.io.networks import write_dot, write_graphml
from eventcargo.io.sources import Source, open_file, open_sources, shown_names
from eventcargo.io.workbooks import graph_sheets, write_workbook
from eventcargo.sealed_tables import DAMAGED
from eventcargo.typed import parse_as

FORMAT = "eventcargo-graph"
FORMAT_VERSION = 1
HEADER = {"format": FORMAT, "version": FORMAT_VERSION}
METADATA = b"eventcargo"

Support = dict[str, int | None]


def write_graph(graph: LabelGraph, path: str | Path, notes: Mapping[str, Any] | None = None) -> None:
    """Write a graph in the format of the path's ending; `notes` are extra entries of a JSON file.

    The endings are .parquet, .json, .csv, .graphml, .dot, .svg, .png and .xlsx.

    >>> import tempfile
    >>> graph = LabelGraph.from_boundaries({"brake": ["P01", "U02"], "fuel": []}, support={"brake": 7})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(graph, f"{folder}/graph.json")
    ...     read_graph(f"{folder}/graph.json").boundaries
    {'brake': ['P01', 'U02'], 'fuel': []}
    """
    path = Path(path)
    check_graph_path(path)
    _check_names(graph)
    if notes and path.suffix.lower() != ".json":
        raise ConfigError(f"{path} cannot hold notes ({', '.join(notes)}); write .json")
    with atomic_file(path) as target:
        if notes:
            _write_json(graph, target, notes)
        else:
            WRITERS[path.suffix.lower()](graph, target)


def read_graph(source: Any) -> LabelGraph:
    """Read a graph from a .parquet, .json or .csv file, or a frame with the columns label and event.

    >>> read_graph(pl.DataFrame({"label": ["brake"], "event": ["P01"]})).boundary("brake")
    ['P01']
    """
    if not isinstance(source, str | Path):
        return _from_sources(open_sources(source, "graph"), {})
    path = Path(source)
    check_graph_file(path)
    if path.suffix.lower() == ".json":
        return _read_json(path)
    header = _parquet_header(path) if path.suffix.lower() == ".parquet" else {}
    support = _support(path, header["support"]) if "support" in header else {}
    return _with_kinds(path, _from_sources([open_file(path)], support), header)


def _check_names(graph: LabelGraph) -> None:
    """Refuse labels that are not valid Unicode: a mapping can hold them, a file cannot."""
    for label in graph.support:
        try:
            label.encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(f"label {label!r} is not valid Unicode; rename it") from None


def _from_sources(sources: list[Source], support: Mapping[str, int | None]) -> LabelGraph:
    (source,) = sources
    for column in ("label", "event"):
        if column not in source.columns:
            raise DataError(
                f"{source.place} has no column {column!r}, only {shown_names(source.columns)}; "
                "rename the right one"
            )
    known = [column for column in source.columns if column in EDGE_SCHEMA]
    _warn_of_unknown(source.place, source.columns)
    frames = [pl.DataFrame(pl.from_arrow(batch)) for batch in source.read(known)]
    table = pl.concat(frames) if frames else pl.DataFrame(schema={name: EDGE_SCHEMA[name] for name in known})
    try:
        edges = pl.DataFrame([_typed(source.place, table[column]) for column in known])
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{source.place} cannot be read as a graph: {error}") from None
    return LabelGraph.from_edges(edges, support)


def _typed(place: str, values: pl.Series) -> pl.Series:
    """A column cast to the schema's type; an empty text field is null."""
    kind = EDGE_SCHEMA[values.name]
    if values.dtype == pl.String:
        values = values.replace("", None)
    if kind == pl.String():
        return _checked_names(place, values.cast(kind))
    numbers = values.cast(pl.Float64, strict=False)
    typed = numbers.cast(kind, strict=False)
    bad = values.is_not_null() & (typed.is_null() | (typed.cast(pl.Float64) != numbers)).fill_null(True)
    if bad.any():
        row = int(bad.arg_max() or 0)
        form = "a number" if kind.is_float() else "an integer"
        raise DataError(
            f"{place}, row {row + 1}: {values.name} is {shown_value(values[row], 80)}; use {form}"
        )
    return typed


def _checked_names(place: str, names: pl.Series) -> pl.Series:
    if names.null_count():
        row = int(names.is_null().arg_max() or 0)
        raise DataError(
            f"{place}, row {row + 1}: {names.name} is empty; every edge needs a label and an event"
        )
    return names


def _write_parquet(graph: LabelGraph, path: Path) -> None:
    table = graph.edges.to_arrow()
    header = HEADER | {"support": graph.support} | _kinds(graph)
    metadata = {METADATA: json.dumps({**header, CHECKSUM: content_checksum(header)}).encode()}
    table = table.replace_schema_metadata(metadata)
    pyarrow.parquet.write_table(table, path, compression="zstd", write_page_checksum=True)


def _parquet_header(path: Path) -> dict[str, Any]:
    """What `write_graph` wrote besides the edges; empty for a file of another program."""
    try:
        metadata = pyarrow.parquet.read_metadata(path).metadata or {}
    except DAMAGED as error:
        raise DataError(f"{path} is not a Parquet file: {error}; write it again, or rename it") from None
    return {"support": None} | _parse(path, metadata[METADATA]) if METADATA in metadata else {}


def _kinds(graph: LabelGraph) -> dict[str, Any]:
    """The members of families and the alternatives of thresholds, where there are any."""
    families = {family: list(members) for family, members in graph.families.items()}
    return {
        **({"families": families} if families else {}),
        **({"alternatives": graph.alternatives} if graph.alternatives else {}),
    }


def _with_kinds(path: Path, graph: LabelGraph, content: Mapping[str, Any]) -> LabelGraph:
    """The graph with what `_kinds` wrote."""
    families = parse_as(dict[str, tuple[str, ...]], content.get("families", {}), f"{path}: families")
    kind = dict[str, dict[str, dict[str, float]]]
    alternatives = parse_as(kind, content.get("alternatives", {}), f"{path}: alternatives")
    return replace(graph, families=families, alternatives=alternatives)


def _write_json(graph: LabelGraph, path: Path, notes: Mapping[str, Any] | None = None) -> None:
    edges = [
        {name: value for name, value in row.items() if value is not None}
        for row in graph.edges.iter_rows(named=True)
    ]
    content = {**(notes or {}), **HEADER, "support": graph.support, **_kinds(graph), "edges": edges}
    content[CHECKSUM] = content_checksum(content)
    try:
        text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    except ValueError:
        raise DataError("JSON cannot hold the infinite or NaN numbers of this graph; write Parquet") from None
    path.write_text(text, "utf-8")


def _read_json(path: Path) -> LabelGraph:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    content = _parse(path, text)
    edges = content.get("edges")
    if not isinstance(edges, list) or not all(isinstance(edge, dict) for edge in edges):
        raise DataError(f"{path} has the edges {edges!r:.80}; expected a list of objects")
    _warn_of_unknown(str(path), {name for edge in edges for name in edge})
    try:
        table = pl.DataFrame(edges, schema=EDGE_SCHEMA)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path} has edges that cannot be read: {error}") from None
    graph = LabelGraph.from_edges(table, _support(path, content.get("support")))
    return _with_kinds(path, graph, content)


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    """The content of a header or file; one that people wrote has no checksum."""
    return parse_document(text, path, FORMAT, FORMAT_VERSION, "write the graph again", is_sealed=False)


def _warn_of_unknown(place: str, columns: Iterable[str]) -> None:
    unknown = sorted(set(columns) - set(EDGE_SCHEMA))
    if unknown:
        warnings.warn(
            f"{place}: ignored {counted(len(unknown), 'unknown column')}: {', '.join(unknown)}",
            EventCargoWarning,
            stacklevel=4,
        )


def _support(path: Path, given: Any) -> Support:
    support: Support = parse_as(dict[str, int | None], given, f"{path}: support")
    return support


def _write_csv(graph: LabelGraph, path: Path) -> None:
    """Write the edges with all columns that hold a value, and each label's support."""
    if n_lost := sum(not events for events in graph.boundaries.values()):
        warnings.warn(
            f"CSV cannot hold {counted(n_lost, 'label')} with an empty boundary; write Parquet or JSON",
            EventCargoWarning,
            stacklevel=3,
        )
    counts = pl.Series([graph.support[label] for label in graph.edges["label"]], dtype=pl.Int64)
    edges = graph.edges.with_columns(support=pl.col("support").fill_null(counts))
    used = [name for name in edges.columns[2:] if edges[name].null_count() < len(edges)]
    pyarrow.csv.write_csv(edges.select("label", "event", *used).to_arrow(), path)


WRITERS: dict[str, Callable[[LabelGraph, Path], None]] = {
    ".parquet": _write_parquet,
    ".json": _write_json,
    ".csv": _write_csv,
    ".graphml": write_graphml,
    ".dot": write_dot,
    ".svg": lambda graph, path: graph.figure().write(path, "svg"),
    ".png": lambda graph, path: graph.figure().write(path, "png"),
    ".xlsx": lambda graph, path: write_workbook(path, graph_sheets(graph)),
}
"""The writer of each ending in `WRITABLE`."""
