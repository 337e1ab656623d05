"""SequenceFiles: cut sequences as flat files, from which rare types and empty sequences are dropped."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.cohort.cutting import Piece

FIELDS = {"events": np.int32, "times": np.float64, "values": np.float64}


class SequenceFiles:
    """The pieces of all parts, in order, one file per column."""

    def __init__(self, folder: Path, n_types: int, n_values: int, count_sequences: bool) -> None:
        self._folder, self._n_values, self._counts_sequences = folder, n_values, count_sequences
        self.n_events = np.zeros(n_types, np.int64)
        self.n_sequences = np.zeros(n_types, np.int64)
        self._lengths: list[NDArray[np.int64]] = []

    def add(self, piece: Piece) -> None:
        for name in FIELDS:
            with (self._folder / name).open("ab") as file:
                np.ascontiguousarray(getattr(piece, name)).tofile(file)
        self._lengths.append(piece.lengths)
        self.n_events += np.bincount(piece.events, minlength=len(self.n_events))
        if self._counts_sequences:
            owner = np.repeat(np.arange(len(piece.lengths)), piece.lengths)
            keys = np.unique(owner * len(self.n_events) + piece.events)
            self.n_sequences += np.bincount(keys % len(self.n_events), minlength=len(self.n_events))

    def pieces(self) -> Iterator[Piece]:
        """The pieces in order."""
        files = {name: (self._folder / name).open("rb") for name in FIELDS if self._lengths}
        try:
            for lengths in self._lengths:
                n = int(lengths.sum())
                read: dict[str, NDArray[Any]] = {
                    name: np.fromfile(files[name], kind, n * (self._n_values if name == "values" else 1))
                    for name, kind in FIELDS.items()
                }
                values = read["values"].reshape(n, self._n_values)
                yield Piece(read["events"], read["times"], values, lengths)
        finally:
            for file in files.values():
                file.close()


@dataclass(frozen=True)
class Kept:
    """What stays of the sequences: numbers of event types afterwards (-1 if dropped), lengths, totals."""

    files: SequenceFiles
    number_of: NDArray[np.int32]
    are_sequences: NDArray[np.bool_]
    lengths: NDArray[np.int64]

    @classmethod
    def of(
        cls, files: SequenceFiles, number_of: NDArray[np.int32], is_attribute: NDArray[np.bool_]
    ) -> "Kept":
        """Drop event types without a number, then sequences that have nothing but attributes."""
        are_sequences, lengths = [np.zeros(0, bool)], [np.zeros(0, np.int64)]
        for piece in files.pieces():
            owner = np.repeat(np.arange(len(piece.lengths)), piece.lengths)
            stays = number_of[piece.events] >= 0
            n_plain = np.bincount(owner[stays & ~is_attribute[piece.events]], minlength=len(piece.lengths))
            are_sequences.append(n_plain > 0)
            lengths.append(np.bincount(owner[stays], minlength=len(piece.lengths))[n_plain > 0])
        return cls(files, number_of, np.concatenate(are_sequences), np.concatenate(lengths))

    def positions(self) -> NDArray[np.float64]:
        """The place of every kept event in its sequence, as its time where there is only an order."""
        ends = np.cumsum(self.lengths)
        return np.arange(ends[-1], dtype=np.float64) - np.repeat(ends - self.lengths, self.lengths)

    def column(self, name: str) -> Iterator[NDArray[Any]]:
        """The kept events of one column, piece by piece."""
        at = 0
        for piece in self.files.pieces():
            stays = np.repeat(self.are_sequences[at : at + len(piece.lengths)], piece.lengths)
            stays &= self.number_of[piece.events] >= 0
            kept = getattr(piece, name)[stays]
            yield self.number_of[kept] if name == "events" else kept
            at += len(piece.lengths)
