"""Rules that no feature and no rule of the language names: what whole runs find of them all the same.

Every kind has 30 event types, 5 labels with event types of their own, and 8,000 sequences for the run; half
as many are fresh. The event types of a label occur in every sequence, so that presence says nothing. Labels
are computed from the finished sequences, then 2 % of the true ones are dropped. `fresh.py` has what is
measured. Settings were chosen on seeds from 100 on.
Run: `.venv/bin/python -m benchmarks.accuracy.unnamed [--seeds ...] [--cases ...] [--variants ...]`
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eventcargo import EventDataset, LabelGraph
from eventcargo.simulation.arrangement import UNUSED, Roles, flatten, in_order, shuffled_places
from eventcargo.simulation.background import draw_times
from eventcargo.simulation.rules import flip
from eventcargo.simulation.simulated import Cause, Columns, assemble, event_names, offsets_of

from benchmarks.accuracy.fresh import KnownCase, Labels, run_script

FILLERS = (12, 30)
"""Fewest and most events of a sequence that belong to no label."""


@dataclass(frozen=True)
class Own:
    """The events of one label in one sequence: positions and times of each of its event types."""

    at: Sequence[Sequence[int]]
    when: Sequence[Sequence[float]]
    length: int
    """number of all events of the sequence"""
    end: float
    """time of its last event"""


def even(own: Own) -> bool:
    return len(own.at[0]) % 2 == 0


def early_only(own: Own) -> bool:
    return bool(own.at[0]) and own.at[0][-1] < own.length / 2


def long_pause(own: Own, limit: float = 15.0) -> bool:
    return any(later - earlier > limit for earlier, later in pairwise(own.when[0]))


def steady(own: Own, ratio: float = 4.0) -> bool:
    gaps = [later - earlier for earlier, later in pairwise(own.at[0])]
    return len(gaps) > 1 and max(gaps) < ratio * min(gaps)


def enclosed(own: Own, limit: float = 12.0) -> bool:
    a, b = own.when
    return any(last - first < limit and any(first < t < last for t in b) for first, last in pairwise(a))


def second_after_first(own: Own) -> bool:
    a, b = own.at
    return len(a) > 1 and bool(b) and a[1] > b[0]


def long_on(own: Own, limit: float = 18.0) -> bool:
    """The state is on from `m1` to the next `m2` or to the end."""
    switches = sorted([(t, True) for t in own.when[0]] + [(t, False) for t in own.when[1]])
    steps = pairwise([*switches, (own.end, False)])
    return sum(later - earlier for (earlier, is_on), (later, _) in steps if is_on) > limit


def more_between(own: Own) -> bool:
    a, b, c = own.at
    return bool(a) and sum(a[0] < at < a[-1] for at in b) > sum(a[0] < at < a[-1] for at in c)


def not_between(own: Own) -> bool:
    a, b, c = own.at
    return all(own.at) and not any(a[0] < place < b[-1] for place in c)


def median_type(own: Own) -> bool:
    a, b, c = (np.mean(places) if places else np.inf for places in own.at)
    return min(b, c) < a < max(b, c)


@dataclass(frozen=True)
class Unnamed:
    """A kind of rule: its text, the sign and the fewest and most occurrences of each event type."""

    form: str
    signs: tuple[int, ...]
    counts: tuple[tuple[int, int], ...]
    holds: Callable[[Own], bool]


KINDS: Mapping[str, Unnamed] = {
    "even": Unnamed("even number of {0}", (0,), ((1, 7),), even),
    "early only": Unnamed("{0} in the first half and not in the second", (0,), ((1, 2),), early_only),
    "long pause": Unnamed("more than 15 between two successive {0}", (0,), ((2, 4),), long_pause),
    "steady": Unnamed("longest gap of {0} less than 4 times its shortest", (0,), ((4, 4),), steady),
    "enclosed": Unnamed("{1} between two {0} less than 12 apart in time", (0, 0), ((2, 4), (1, 3)), enclosed),
    "second after first": Unnamed("second {0} after first {1}", (0, 0), ((3, 6), (1, 2)), second_after_first),
    "long on": Unnamed("more than 18 between {0} and the next {1}", (1, -1), ((1, 3), (1, 3)), long_on),
    "more between": Unnamed(
        "more {1} than {2} between the first and the last {0}",
        (0, 1, -1),
        ((2, 3), (2, 3), (2, 3)),
        more_between,
    ),
    "not between": Unnamed(
        "{0}, {1} and {2}, which is not between the first {0} and the last {1}",
        (0, 0, 0),
        ((1, 3),) * 3,
        not_between,
    ),
    "in the middle": Unnamed(
        "mean place of {0} between those of {1} and {2}", (0, 0, 0), ((1, 3),) * 3, median_type
    ),
}


@dataclass(frozen=True)
class UnnamedConfig:
    """Sizes of a data set."""

    types_per_label: int
    sequences: int = 8_000
    event_types: int = 30
    labels: int = 5
    label_noise: float = 0.02


@dataclass(frozen=True)
class Made:
    """A data set with its truth; `true_labels` tells where the true rules hold in any data of its kind."""

    kind: Unnamed
    data: EventDataset
    truth: LabelGraph
    rules: Mapping[str, str]
    types: Sequence[Sequence[str]]

    def true_labels(self, data: EventDataset) -> Labels:
        """Where the rule of each label holds: (sequences, labels)."""
        number = {name: at for at, name in enumerate(data.event_names)}
        causes = np.array([[number.get(name, -1) for name in own] for own in self.types])
        return where_true(self.kind, causes, *data.flat())


def make(name: str, seed: int, sequences: int = 8_000) -> Made:
    """Simulate a kind of rule; the same seed has the same rules whatever the number of sequences."""
    kind, rng = KINDS[name], np.random.default_rng(seed)
    config = UnnamedConfig(len(kind.counts), sequences)
    roles = Roles.draw(rng, config)
    lengths, events = flatten(_draw_table(rng, config, kind, roles))
    times = draw_times(rng, lengths)
    holds = where_true(kind, roles.causes, offsets_of(lengths), events, times)
    columns = Columns(lengths, events, times, flip(rng, holds, config.label_noise, 0.0))
    names = event_names(config.event_types)
    types = [[names[event] for event in own] for own in roles.causes.tolist()]
    causes = [
        Cause(dict(zip(own, kind.signs, strict=True)), kind.form.format(*(names[event] for event in own)))
        for own in roles.causes.tolist()
    ]
    made = assemble(name, config, seed, columns, causes)
    return Made(kind, made.data, made.truth, made.rules, types)


def _draw_table(
    rng: np.random.Generator, config: UnnamedConfig, kind: Unnamed, roles: Roles
) -> NDArray[np.int32]:
    """Events in random order: those of each label, as often as its kind allows, and fillers."""
    fewest, most = np.array(kind.counts).T
    counts = rng.integers(fewest, most, (config.sequences, *roles.causes.shape), endpoint=True)
    is_used = np.arange(most.max()) < counts[..., None]
    planted = np.where(is_used, roles.causes[None, :, :, None], UNUSED).reshape(config.sequences, -1)
    fillers = roles.draw_fillers(rng, rng.integers(*FILLERS, config.sequences, endpoint=True))
    table = np.concatenate([planted, fillers], axis=1).astype(np.int32)
    return in_order(table, shuffled_places(rng, table.shape))[0]


def where_true(
    kind: Unnamed,
    causes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    events: NDArray[np.int32],
    times: NDArray[np.float64],
) -> Labels:
    """Where the rule of each label holds, sequence by sequence: (sequences, labels)."""
    spans = list(pairwise(offsets.tolist()))
    return np.array(
        [
            [kind.holds(_own(own, events[start:stop], times[start:stop])) for own in causes]
            for start, stop in spans
        ]
    )


def _own(types: NDArray[np.int32], events: NDArray[np.int32], times: NDArray[np.float64]) -> Own:
    places = [np.flatnonzero(events == event) for event in types]
    when = [times[at].tolist() for at in places]
    return Own([at.tolist() for at in places], when, len(events), float(times[-1]) if len(times) else 0.0)


def load(name: str, seed: int) -> KnownCase:
    """A kind of rule with half as many sequences again, which are fresh."""
    made = make(name, seed, sequences=12_000)
    return KnownCase.cut(made.data, made.truth, made.rules, made.true_labels(made.data))


if __name__ == "__main__":
    run_script("unnamed", __doc__, list(KINDS), load)
