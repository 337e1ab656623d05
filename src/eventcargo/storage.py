"""Columns of a data set as files in a folder: flat arrays, mapped into memory, and a JSON header.

Only plain numbers and strings are stored, and nothing is unpickled. Every file is checked against the header,
so that an error names a truncated, foreign or mixed-up folder.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventcargo.errors import DataError, counted
from eventcargo.files import atomic_folder, read_document, write_document

FORMAT = "eventcargo-dataset"
FORMAT_VERSION = 1
HEADER = ("sequences", "events", "time_kind", "event_names", "label_names")
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
        write_document(target / "dataset.json", FORMAT, FORMAT_VERSION, header)
        for name, shape in shapes.items():
            _write_column(target / f"{name}.npy", COLUMNS[name], shape, parts[name])
        table = pa.table({"sequence_id": sequence_ids})
        path = str(target / "sequence_ids.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


def read_columns(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], pa.Array]:
    """Read a saved folder: its header, its columns mapped into memory, and its sequence ids."""
    header = _read_header(folder)
    try:
        columns = {
            name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in _shapes(header, 0)
        }
        with pa.memory_map(str(folder / "sequence_ids.arrow")) as source:
            ids = pa.ipc.open_file(source).read_all()["sequence_id"].combine_chunks()
    except (OSError, ValueError, EOFError, KeyError, pa.ArrowInvalid) as error:
        raise DataError(f"{folder} is damaged: {error}; write it again") from None
    _check_columns(folder, header, columns, len(ids))
    return header, columns, ids if isinstance(ids, pa.Array) else pa.concat_arrays(ids.chunks)


def _shapes(header: Mapping[str, Any], n_labels: int) -> dict[str, tuple[int, ...]]:
    """The shape of every stored column; what a data set does not have has no file."""
    value_names = header.get("value_names", ())
    values = {"values": (header["events"], len(value_names))} if value_names else {}
    groups = {"groups": (header["sequences"],)} if header.get("grouped") else {}
    known = (
        {"known_offsets": (header["sequences"] + 1,), "known": (header["known"],)}
        if "known" in header
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


def _write_column(
    path: Path, kind: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
) -> None:
    with path.open("wb") as sink:
        np.lib.format.write_array_header_1_0(
            sink, {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
        )
        for part in parts:
            np.ascontiguousarray(part, kind).tofile(sink)


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / "dataset.json"
    if not path.is_file():
        raise DataError(
            f"{folder} is not a saved data set: it has no dataset.json; use read_events for tables"
        )
    header = read_document(path, FORMAT, FORMAT_VERSION, "save it again, or use read_events for tables")
    missing = set(HEADER) - header.keys()
    if missing:
        raise DataError(f"{path} is damaged: it lacks {sorted(missing)}; write it again")
    if not isinstance(header.get("value_names", []), list):
        raise DataError(
            f"{path} is damaged: value_names is {header['value_names']!r}, not a list; write it again"
        )
    return header


def _check_columns(
    folder: Path, header: dict[str, Any], columns: dict[str, NDArray[Any]], n_ids: int
) -> None:
    n_labels = int(columns["label_offsets"][-1]) if len(columns["label_offsets"]) else 0
    expected = _shapes(header, n_labels)
    for name, shape in expected.items():
        if columns[name].shape != shape:
            raise DataError(f"{folder}/{name}.npy has shape {columns[name].shape}, expected {shape}")
        if columns[name].dtype != COLUMNS[name]:
            raise DataError(f"{folder}/{name}.npy holds {columns[name].dtype}, expected {COLUMNS[name]}")
    ends = {"offsets": "events", "label_offsets": "labels", "known_offsets": "known"}
    for name, (end,) in ((name, expected[ends[name]]) for name in ends if name in expected):
        offsets = columns[name]
        if offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
            raise DataError(f"{folder}/{name}.npy does not rise from 0 to {end:,}; write it again")
    if n_ids != header["sequences"]:
        raise DataError(
            f"{folder} has {counted(n_ids, 'sequence id')} for {counted(header['sequences'], 'sequence')}"
        )
