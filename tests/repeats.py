"""Data sets in which every sequence is there several times, as one group: they say no more than each once."""

from dataclasses import replace

import numpy as np

from eventcargo import EventDataset


def repeated(data: EventDataset, times: int = 5, grouped: bool = True) -> EventDataset:
    """Every sequence `times` times; with `grouped`, its copies are one group."""
    copies = [replace(sequence, id=f"{sequence.id}/{n}") for sequence in data for n in range(times)]
    again = EventDataset.from_sequences(copies, time_kind=data.time_kind)
    number = {name: at for at, name in enumerate(data.sequence_ids.to_pylist())}
    groups = [number[name.rsplit("/", 1)[0]] for name in again.sequence_ids.to_pylist()]
    return again.in_groups(groups if grouped else None)


def torn(*parts: EventDataset) -> set[int]:
    """The groups of which more than one part holds a sequence."""
    distinct = [np.unique(part.groups) for part in parts if part.groups is not None]
    numbers, counts = np.unique(np.concatenate(distinct), return_counts=True)
    return set(numbers[counts > 1].tolist())
