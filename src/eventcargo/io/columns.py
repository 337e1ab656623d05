"""Column collectors: take Arrow arrays batch by batch, return compact numpy columns.

Names become integer codes (`NameColumn`) and times become float64 (`TimeColumn`), so a row takes a few bytes.
An unusable value raises `BadValueError` with its offset; `collect` adds file and row.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import DataError
from eventcargo.io.sources import Source

SETTLE = 1 << 20
"""Number of new names to buffer before they are merged with the known names."""


LARGEST_EXACT = 1 << 53
"""float64 represents every integer up to this one exactly."""


class BadValueError(Exception):
    """An unusable value: the reason, and the value's offset in the array."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


class Collector(Protocol):
    def add(self, values: pa.Array) -> None: ...


def collect(sources: Iterable[Source], collectors: Mapping[str, Collector]) -> int:
    """Feed each collector its column from all sources; return the number of rows."""
    total = 0
    for source in sources:
        before = 0
        for batch in source.read(list(collectors)):
            for column, collector in collectors.items():
                try:
                    collector.add(batch.column(column))
                except BadValueError as bad:
                    raise DataError(f"{source.place}, row {before + bad.offset + 1}: {bad}") from None
            before += batch.num_rows
        total += before
    return total


class NameColumn:
    """Names as int32 codes in row order, with the list of distinct names."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._names = pa.array([], pa.large_string())
        self._codes: list[NDArray[np.int32]] = []
        self._waiting: list[pa.Array] = []
        self._n_waiting = 0

    def add(self, values: pa.Array) -> None:
        codes, names = self._encode(values)
        self._codes.append(codes)
        self._waiting.append(names)
        self._n_waiting += len(names)
        # A merge visits every known name, so it waits until as many new names have arrived.
        if self._n_waiting > max(SETTLE, len(self._names)):
            self._settle()

    def finish(self) -> tuple[NDArray[np.int32], pa.Array]:
        """The codes of all rows, and the names sorted by code point; a code is a position in that list."""
        self._settle()
        order = pc.sort_indices(self._names).to_numpy()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        codes = np.concatenate([np.zeros(0, np.int32), *self._codes])
        self._codes = []
        for start in range(0, len(codes), SETTLE):  # in place, in chunks: one copy of the column
            codes[start : start + SETTLE] = rank[codes[start : start + SETTLE]]
        return codes, self._names.take(pa.array(order))

    def _encode(self, values: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
        values = plain(values)  # categories may be unused, or equal as strings
        self._check_type(values)
        if values.null_count:
            raise BadValueError(
                f"{self.column} is null; every row needs a value", first_true(pc.is_null(values))
            )
        encoded = values.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        names = encoded.dictionary.cast(pa.large_string())
        self._check_names(codes, names)
        return codes, names

    def _check_type(self, values: pa.Array) -> None:
        kind = values.type
        if pa.types.is_floating(kind):
            raise BadValueError(
                f"{self.column} is the float {values[0].as_py()!r}; use strings or integers. pandas turns an "
                "integer column with gaps into floats: fill the gaps and cast the column",
                0,
            )
        if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            raise BadValueError(
                f"{self.column} is {values[0].as_py()!r} of type {kind}; use strings or integers", 0
            )

    def _check_names(self, codes: NDArray[np.int32], names: pa.Array) -> None:
        try:
            names.validate(full=True)
        except pa.ArrowInvalid:
            bad = next(i for i in range(len(names)) if not _is_utf8(names[i].as_buffer().to_pybytes()))
            raise BadValueError(
                f"{self.column} is not valid UTF-8; convert the column", int(np.argmax(codes == bad))
            ) from None
        empty = pc.index(names, pa.scalar("", pa.large_string())).as_py()
        if empty >= 0:
            raise BadValueError(
                f"{self.column} is empty; every row needs a value", int(np.argmax(codes == empty))
            )

    def _settle(self) -> None:
        """Number the buffered names; known names come first and so keep their numbers."""
        merged = pa.concat_arrays([self._names, *self._waiting]).dictionary_encode()
        numbers = merged.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        at = len(self._names)
        first = len(self._codes) - len(self._waiting)
        for i, names in enumerate(self._waiting, start=first):
            self._codes[i] = numbers[at : at + len(names)][self._codes[i]]
            at += len(names)
        self._names, self._waiting, self._n_waiting = merged.dictionary, [], 0


def plain(values: pa.Array) -> pa.Array:
    """The decoded values of a dictionary array; other arrays unchanged."""
    if not pa.types.is_dictionary(values.type):
        return values
    words = values.dictionary
    if pa.types.is_string_view(words.type):  # polars' categories, which Arrow cannot decode as they are
        words = words.cast(pa.large_string())
    return pa.DictionaryArray.from_arrays(values.indices, words).dictionary_decode()


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def exact_floats(column: str, values: pa.Array, advice: str) -> pa.Array:
    """Typed numbers as float64; refuse integers that would lose digits."""
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        if ends["min"] < -LARGEST_EXACT or ends["max"] > LARGEST_EXACT:
            worst = ends["max"] if ends["max"] > LARGEST_EXACT else ends["min"]
            raise BadValueError(
                f"{column} is {worst}, beyond 2**53, where float64 loses digits; {advice}",
                int(pc.index(values, pa.scalar(worst, values.type)).as_py()),
            )
    return values.cast(pa.float64(), safe=False)


def first_true(mask: pa.Array) -> int:
    return int(pc.index(mask, pa.scalar(True)).as_py())


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
