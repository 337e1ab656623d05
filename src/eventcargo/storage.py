"""Columns of a data set as files in a folder: flat arrays, mapped into memory, and a JSON header.

Only plain numbers and strings are stored, and nothing is unpickled. The header has the checksum of every
file: a folder that is truncated, foreign, mixed up or damaged in a single bit is refused when it is opened.
"""

import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventcargo.checksums import check_file, checksum, file_checksum, shown
from eventcargo.errors import DataError, counted
from eventcargo.files import atomic_folder, read_document, write_document
from eventcargo.typed import parse_as

FORMAT = "eventcargo-dataset"
FORMAT_VERSION = 2
AGAIN = "write it again"
IDS = "sequence_ids.arrow"
COLUMNS: dict[str, np.dtype[Any]] = {
    "offsets": np.dtype(np.int64),
    "events": np.dtype(np.int32),
    "times": np.dtype(np.float64),
    "label_offsets": np.dtype(np.int64),
    "labels": np.dtype(np.int32),
    "values": np.dtype(np.float64),
    "groups": np.dtype(np.int32),
    "known_offsets": np.dtype(np.int64),
    "known": np.dtype(np.int32),
}
"""The files of a saved data set and their types; `values`, `groups` and `known` exist only if the header says
so."""


@dataclass(frozen=True)
class Header:
    """The entries of dataset.json and their types; what a data set does not have has no entry."""

    sequences: int
    events: int
    time_kind: Literal["number", "datetime", "order"]
    event_names: list[str]
    label_names: list[str]
    checksums: dict[str, str]
    value_names: list[str] = field(default_factory=list)
    grouped: bool = False
    known: int | None = None
    kinds: dict[str, Any] = field(default_factory=dict)


def write_columns(
    folder: Path,
    header: Mapping[str, Any],
    parts: Mapping[str, Iterable[NDArray[Any]]],
    n_labels: int,
    sequence_ids: pa.Array,
) -> None:
    """Write a new folder; columns come in parts, so they need not fit in memory."""
    shapes = _shapes(header, n_labels)
    with atomic_folder(folder) as target:
        sums = {
            f"{name}.npy": _write_column(target / f"{name}.npy", COLUMNS[name], shape, parts[name])
            for name, shape in shapes.items()
        }
        table = pa.table({"sequence_id": sequence_ids})
        with pa.OSFile(str(target / IDS), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        sums[IDS] = file_checksum(target / IDS)
        write_document(target / "dataset.json", FORMAT, FORMAT_VERSION, {**header, "checksums": sums})


def read_columns(
    folder: Path, verify: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], pa.Array]:
    """Read a saved folder: its header, its columns mapped into memory, and its sequence ids.

    With `verify`, all bytes are read once and compared with their checksums.
    """
    header = _read_header(folder)
    if verify:
        for name in (*(f"{column}.npy" for column in _shapes(header, 0)), IDS):
            check_file(folder / name, header["checksums"].get(name), AGAIN)
    columns = _map_columns(folder, header)
    ids = _read_ids(folder / IDS)
    if len(ids) != header["sequences"]:
        raise DataError(
            f"{folder} has {counted(len(ids), 'sequence id')} for {counted(header['sequences'], 'sequence')}"
        )
    return header, columns, ids


def _map_columns(folder: Path, header: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The columns, mapped into memory; the offsets of labels say how many labels there are."""
    shapes = _shapes(header, 0)
    label_offsets = _map(folder / "label_offsets.npy", shapes["label_offsets"])
    shapes = _shapes(header, int(label_offsets[-1]))
    columns = {name: _map(folder / f"{name}.npy", shape) for name, shape in shapes.items()}
    ends = {"offsets": "events", "label_offsets": "labels", "known_offsets": "known"}
    for name, (end,) in ((name, shapes[ends[name]]) for name in ends if name in shapes):
        offsets = columns[name]
        if offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
            raise DataError(f"{folder / name}.npy does not rise from 0 to {end:,}; {AGAIN}")
    return columns


def _map(path: Path, shape: tuple[int, ...]) -> NDArray[Any]:
    """A column mapped into memory; its file must start and end as one of this type and shape does."""
    kind = COLUMNS[path.stem]
    start, size = _npy_start(kind, shape), math.prod(shape) * kind.itemsize
    try:
        with path.open("rb") as file:
            begins = file.read(len(start)) == start
        fits = begins and path.stat().st_size == len(start) + size
        if fits and size:
            return np.memmap(path, kind, "r", len(start), shape)
    except OSError as error:
        raise DataError(
            f"{path.parent} is damaged: {path.name}: {error.strerror or error}; {AGAIN}"
        ) from None
    if not fits:
        raise DataError(
            f"{path.parent} is damaged: {path.name} does not hold {kind} of shape {shape}, as its "
            f"header says; {AGAIN}"
        )
    return np.zeros(shape, kind)


def _read_ids(path: Path) -> pa.Array:
    try:
        with pa.memory_map(str(path)) as source:
            ids = pa.ipc.open_file(source).read_all()["sequence_id"].combine_chunks()
        ids = ids if isinstance(ids, pa.Array) else pa.concat_arrays(ids.chunks)
        ids.validate(full=True)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise DataError(f"{path.parent} is damaged: {path.name}: {error}; {AGAIN}") from None
    if ids.type != pa.large_string():
        raise DataError(f"{path} holds {ids.type}, not ids; {AGAIN}")
    return ids


def _shapes(header: Mapping[str, Any], n_labels: int) -> dict[str, tuple[int, ...]]:
    """The shape of every stored column; what a data set does not have has no file."""
    value_names = header.get("value_names", ())
    values = {"values": (header["events"], len(value_names))} if value_names else {}
    groups = {"groups": (header["sequences"],)} if header.get("grouped") else {}
    known = (
        {"known_offsets": (header["sequences"] + 1,), "known": (header["known"],)}
        if header.get("known") is not None
        else {}
    )
    return {
        "offsets": (header["sequences"] + 1,),
        "events": (header["events"],),
        "times": (header["events"],),
        "label_offsets": (header["sequences"] + 1,),
        "labels": (n_labels,),
        **values,
        **groups,
        **known,
    }


def _npy_start(kind: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The first bytes of an .npy file: its own header."""
    start = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(start, described)
    return start.getvalue()


def _write_column(
    path: Path, kind: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
) -> str:
    """Write a column and return its checksum."""
    start = _npy_start(kind, shape)
    code = checksum(start)
    with path.open("wb") as sink:
        sink.write(start)
        for part in parts:
            content = np.ascontiguousarray(part, kind).reshape(-1).view(np.uint8).data
            sink.write(content)
            code = checksum(content, code)
    return shown(code)


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / "dataset.json"
    if not path.is_file():
        raise DataError(
            f"{folder} is not a saved data set: it has no dataset.json; use read_events for tables"
        )
    content = read_document(path, FORMAT, FORMAT_VERSION, "save it again, or use read_events for tables")
    try:
        header = parse_as(Header, content, "its header")
        if min(header.sequences, header.events, header.known or 0) < 0:
            raise DataError("its header counts less than nothing")
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; {AGAIN}") from None
    return {**content, "time_kind": header.time_kind}
