"""Several data sets as one: the sequences of one week, and then those of the next.

Names are joined, and numbers follow them. A label that a part does not have is absent there: no sequence of
it carries the label. A group goes on in a later part if a sequence of the same subject is in both: sequences
that a cohort cut are named `subject@time`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventcargo.errors import DataError, counted
from eventcargo.event_kinds import EventKinds
from eventcargo.events import EventDataset
from eventcargo.known_labels import KnownLabels
from eventcargo.ragged import Ragged

Ints = NDArray[np.int64]

SHOWN = 3
"""Sequences named in a message."""


def join_data(parts: Sequence[EventDataset]) -> EventDataset:
    """The sequences of all parts, which must differ in their ids, as one data set in canonical order.

    >>> from eventcargo.events import EventSequence
    >>> weeks = [
    ...     EventDataset.from_sequences([EventSequence("b", ("x",), (0.0,), ("brake",))]),
    ...     EventDataset.from_sequences([EventSequence("a", ("y",), (1.0,), ())]),
    ... ]
    >>> both = join_data(weeks)
    >>> both.event_names, both["a"].events, both["b"].labels
    (('x', 'y'), ('y',), ('brake',))
    """
    if len(parts) == 1:
        return parts[0]
    first = next((part for part in parts if len(part)), parts[0])  # without sequences there are no times
    for part in parts:
        _check_alike(first, part)
    ids = pa.concat_arrays([part.sequence_ids.cast(pa.large_string()) for part in parts])
    check_distinct(parts)
    event_names = sorted({name for part in parts for name in part.event_names})
    label_names = sorted({name for part in parts for name in part.label_names})
    flat = [part.flat() for part in parts]
    joined = EventDataset(
        sequence_ids=ids,
        events=np.concatenate(
            [_numbers(part.event_names, event_names)[own[1]] for part, own in zip(parts, flat, strict=True)]
        ),
        times=np.concatenate([own[2] for own in flat]),
        rows=_stacked([part.lengths for part in parts]),
        labels=np.concatenate(
            [_numbers(part.label_names, label_names)[part.label_rows.gather(part.labels)] for part in parts]
        ),
        label_rows=_stacked([part.label_rows.lengths for part in parts]),
        event_names=event_names,
        label_names=label_names,
        time_kind=first.time_kind,
        values=np.concatenate([part.rows.gather(part.values) for part in parts]),
        value_names=first.value_names,
        groups=_groups(parts),
        kinds=joined_kinds([part.kinds for part in parts]),
        known=_known(parts, label_names),
    )
    return joined.select(pc.sort_indices(ids).to_numpy().astype(np.int64))


def check_distinct(parts: Sequence[EventDataset]) -> None:
    """Refuse sequences that are in two parts: they would count twice."""
    first = parts[0].sequence_ids.cast(pa.large_string())
    for part in parts[1:]:
        own = part.sequence_ids.cast(pa.large_string())
        twice = own.filter(pc.is_in(own, value_set=first))
        if len(twice):
            some = ", ".join(twice[:SHOWN].to_pylist()) + (", ..." if len(twice) > SHOWN else "")
            are = "are" if len(twice) > 1 else "is"
            raise DataError(
                f"{len(twice):,} of {counted(len(own), 'new sequence')} {are} in the data already: {some}; "
                "leave them out, or give each an id of its own; a subject whose history goes on needs a "
                "cohort that ends sequences at index times"
            )
        first = pa.concat_arrays([first, own])


def labelled_as(data: EventDataset, names: Sequence[str]) -> EventDataset:
    """The same sequences with these labels alone; one that the data do not have is absent, or unknown.

    >>> from eventcargo.events import EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x",), (0.0,), ("brake", "odd"))])
    >>> labelled_as(data, ["brake", "fuel"])["a"].labels
    ('brake',)
    """
    number = {name: at for at, name in enumerate(names)}
    numbers = np.array([number.get(name, -1) for name in data.label_names], np.int32)
    labels = data.label_rows.gather(data.labels)
    labels = numbers[labels] if len(labels) else labels
    rows = np.repeat(np.arange(len(data)), data.label_rows.lengths)[labels >= 0]
    view = data.select(np.arange(len(data)))
    view.labels, view.label_names = labels[labels >= 0], tuple(names)
    view.label_rows = _stacked([np.bincount(rows, minlength=len(data))])
    own = data.known_matrix()
    if own is not None:
        known = np.zeros((len(data), len(names)), bool)
        known[:, numbers[numbers >= 0]] = own[:, numbers >= 0]
        view.known = KnownLabels.of(known)
    return view


def subjects(data: EventDataset) -> list[str]:
    """The subject of each sequence: its name up to the last @, which a cohort put before the time."""
    return [name.rpartition("@")[0] or name for name in data.sequence_ids.to_pylist()]


def _check_alike(first: EventDataset, other: EventDataset) -> None:
    """Refuse parts whose times or numbers mean different things."""
    if first.time_kind != other.time_kind and len(other):
        words = {"number": "numbers", "datetime": "dates", "order": "only an order"}
        raise DataError(
            f"the times of the data are {words[first.time_kind]}, those of the new data are "
            f"{words[other.time_kind]}; give both the same kind of times"
        )
    if first.value_names != other.value_names:
        raise DataError(
            f"the data have the value columns {list(first.value_names)}, the new data "
            f"{list(other.value_names)}; read both with the same"
        )


def _numbers(names: Sequence[str], every: Sequence[str]) -> NDArray[np.int32]:
    """For each name its number among all."""
    number = {name: at for at, name in enumerate(every)}
    return np.array([number[name] for name in names], np.int32)


def _stacked(lengths: Sequence[NDArray[Any]]) -> Ragged:
    return Ragged.from_offsets(np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64))


def _groups(parts: Sequence[EventDataset]) -> NDArray[np.int32] | None:
    """The group numbers: those of the first part, and of later ones that of the same subject or a new one."""
    if all(part.groups is None for part in parts):
        return None
    known, numbers = dict[str, int](), list[NDArray[np.int32]]()
    for part in parts:
        own = part.group_numbers if part.groups is None else np.asarray(part.groups, np.int64)
        free = max((int(before.max(initial=-1)) + 1 for before in numbers), default=0)
        names = subjects(part)
        number = _continued(own, names, known, free) if numbers else {int(one): int(one) for one in own}
        numbers.append(np.array([number[group] for group in own.tolist()], np.int32))
        known |= _only_groups(numbers[-1], names)
    return np.concatenate(numbers)


def _continued(own: Ints, names: Sequence[str], known: Mapping[str, int], free: int) -> dict[int, int]:
    """The number of each group of a later part: that of a group with a subject of it, or from `free` on."""
    going_on = {group: known[name] for group, name in zip(own.tolist(), names, strict=True) if name in known}
    fresh = [group for group in np.unique(own).tolist() if group not in going_on]
    return going_on | {group: free + at for at, group in enumerate(fresh)}


def _only_groups(own: NDArray[np.int32], names: Sequence[str]) -> dict[str, int]:
    """The group of each subject that is in one group only: blocks of time have all of a stream in many."""
    pairs = sorted({(name, group) for group, name in zip(own.tolist(), names, strict=True)})
    count = Counter(name for name, _ in pairs)
    return {name: group for name, group in pairs if count[name] == 1}


def joined_kinds(kinds: Sequence[EventKinds]) -> EventKinds:
    """What the event types of all parts are.

    >>> joined_kinds([EventKinds(attributes=("sex=f",)), EventKinds(attributes=("sex=m",))]).attributes
    ('sex=f', 'sex=m')
    """
    return EventKinds(
        tuple(sorted({name for one in kinds for name in one.attributes})),
        tuple(sorted({name for one in kinds for name in one.adjusted})),
        _merged([one.families for one in kinds]),
        _longest([scale for one in kinds for scale in one.scales]),
        _merged([one.measured for one in kinds]),
    )


def _merged(some: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    names = sorted({name for one in some for name in one})
    return {
        name: tuple(dict.fromkeys(member for one in some for member in one.get(name, ()))) for name in names
    }


def _longest(scales: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The scales without those that are part of another one."""
    kept = list[tuple[str, ...]]()
    for scale in dict.fromkeys(scales):
        if not any(set(scale) < set(other) for other in scales):
            kept.append(scale)
    return tuple(kept)


def _known(parts: Sequence[EventDataset], label_names: Sequence[str]) -> KnownLabels | None:
    """Which labels are known.

    A label that a part does not have is absent there, or unknown if the part has unknown labels: its
    sequences are there for the sake of others.
    """
    if all(part.known is None for part in parts):
        return None
    masks = []
    for part in parts:
        own = part.known_matrix()
        mask = np.full((len(part), len(label_names)), own is None)
        if own is not None:
            mask[:, _numbers(part.label_names, label_names)] = own
        masks.append(mask)
    return KnownLabels.of(np.concatenate(masks))
