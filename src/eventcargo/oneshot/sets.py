"""Sets of event types that decide a label together, though no part of them does.

Where either of two event types would have been enough and both occur, hiding one changes nothing. A set is
decisive if hiding all of it moves the label's probability across 1/2 and by more than a threshold in nats. It
is minimal if hiding any part of it stays below the threshold, so that each member alone would have been
enough, and if each member, once the others are hidden, moves the label by more than the threshold: many small
effects that merely add up are no set.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from eventcargo.event_kinds import NumberedKinds
from eventcargo.models.density import HidingChanges
from eventcargo.oneshot.scores import bernoulli_kl, probability_change

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_SIZE = 3
"""Most event types of a set."""

CANDIDATES = 8
"""Event types of a sequence among which the sets of a label are searched: those that contribute most."""

COSTLY_CANDIDATES = 5
"""The same if each set costs a forward pass: at most 20 passes for a sequence and a label."""

NONE = -1
"""In place of an event type beyond the size of a set, and of a candidate that a sequence does not have."""

HiddenLogits = Callable[[Ints, Ints, Ints], Floats]
"""Logits of labels (n,) in sequences (n,) with the event types of each, (n, any number), hidden."""


@dataclass(frozen=True)
class HiddenTypes:
    """Logits of labels with and without single event types, flat, sorted by row, label and id."""

    rows: Ints
    labels: Ints
    ids: Ints
    whole: Floats
    without: Floats


@dataclass(frozen=True)
class EventSets:
    """Minimal sets, one row each, sorted by row and label, the strongest first.

    `others_hidden` holds, for each member, the logit with all other members hidden.
    """

    rows: Ints
    labels: Ints
    ids: Ints  # (n, MAX_SIZE) ascending; NONE beyond the size of the set
    whole: Floats  # logits
    without: Floats
    others_hidden: Floats  # (n, MAX_SIZE)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def sizes(self) -> Ints:
        return (self.ids != NONE).sum(axis=1)

    @property
    def strength(self) -> Floats:
        """KL(P(label | sequence) || P(label | sequence with the set hidden)), in nats."""
        return _kl(self.whole, self.without)

    @property
    def effect(self) -> Floats:
        """The change that the set makes to the label's probability."""
        effect: Floats = probability_change(*map(torch.from_numpy, (self.whole, self.without))).numpy()
        return effect

    @property
    def probability_without(self) -> Floats:
        """The label's probability with the set hidden."""
        return expit(self.without)

    def take(self, which: Flags | Ints) -> "EventSets":
        return EventSets(*(getattr(self, field.name)[which] for field in fields(self)))

    @classmethod
    def join(cls, parts: "list[EventSets]") -> "EventSets":
        """All sets, sorted; ties go to smaller sets and lower ids."""
        columns = ([getattr(part, field.name) for part in [NO_SETS, *parts]] for field in fields(cls))
        joined = cls(*map(np.concatenate, columns))
        order = (*joined.ids.T[::-1], joined.sizes, -joined.strength, joined.labels, joined.rows)
        return joined.take(np.lexsort(order))


NO_SETS = EventSets(
    *(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, MAX_SIZE), np.int64)),
    *(np.zeros(0), np.zeros(0), np.zeros((0, MAX_SIZE))),
)


def decisive_types(hidden: HiddenTypes, threshold: float) -> EventSets:
    """The event types that are decisive alone, as sets of one."""
    alone = np.flatnonzero(_is_decisive(hidden.whole, hidden.without, threshold))
    ids, others_hidden = np.full((len(alone), MAX_SIZE), NONE), np.full((len(alone), MAX_SIZE), np.nan)
    ids[:, 0], others_hidden[:, 0] = hidden.ids[alone], hidden.whole[alone]
    columns = (hidden.whole[alone], hidden.without[alone], others_hidden)
    return EventSets(hidden.rows[alone], hidden.labels[alone], ids, *columns)


def sets_by_sums(
    hidden: HiddenTypes, changes: HidingChanges, asked: Flags, threshold: float, kinds: NumberedKinds
) -> EventSets:
    """Sets of two and three if a label's logit is the linear term alone, without a forward pass.

    `hidden` has the `asked` changes. A feature about two event types is lost once if both are hidden: a set
    takes what its members take, less what every two of them share.
    """
    taken = changes.slope[hidden.labels] * changes.taken[asked]
    sign, need = np.where(hidden.whole >= 0, 1.0, -1.0), changes.slope[hidden.labels]
    need = np.abs(need * changes.logits[hidden.rows, hidden.labels])
    gains = sign * taken + _relieved(hidden, changes, sign)
    gains[_kl(hidden.whole, hidden.without) > threshold] = 0.0
    at = _candidates(hidden, gains, need, CANDIDATES)
    if not len(at):
        return NO_SETS
    first, subsets = at[:, 0], _subsets(CANDIDATES)
    rows, labels = hidden.rows[first], hidden.labels[first]
    own = np.where(at == NONE, 0.0, taken[at])
    total = _total(own, _shared(hidden, at, changes), subsets.members)
    slope, cap = changes.slope[labels, None], changes.cap[labels, None]
    logits = np.minimum(slope * changes.logits[rows, labels][:, None] - total, cap)
    return _minimal(hidden, at, logits, threshold, kinds)


def sets_by_passes(
    hidden: HiddenTypes, hide: HiddenLogits, threshold: float, kinds: NumberedKinds
) -> EventSets:
    """Sets of two and three for any other model, each by a forward pass, where no type is decisive alone.

    Candidates are the event types that move the logit most toward the other side of 1/2.
    """
    decisive = _is_decisive(hidden.whole, hidden.without, threshold)
    pairs = hidden.labels + hidden.rows * (int(hidden.labels.max(initial=0)) + 1)
    moved = _kl(hidden.whole, hidden.without) > threshold
    gains = np.where(hidden.whole >= 0, 1.0, -1.0) * (hidden.whole - hidden.without)
    gains[moved | np.isin(pairs, pairs[decisive])] = -np.inf
    at = _candidates(hidden, gains, None, COSTLY_CANDIDATES)
    if not len(at):
        return NO_SETS
    subsets, whole = _subsets(COSTLY_CANDIDATES), hidden.whole[at[:, 0]]
    valid = _is_valid(hidden, at, subsets, kinds)
    logits = np.full((len(at), len(subsets.members)), np.nan)
    logits[:, : at.shape[1]] = np.where(at == NONE, np.nan, hidden.without[at])
    for size in range(2, MAX_SIZE + 1):
        parts = _kl(whole[:, None], logits) > threshold
        open_ = valid & (subsets.sizes == size) & ~parts[:, subsets.lacking].any(axis=2)
        group, which = np.nonzero(open_)
        ids = _ids(hidden, at, group, subsets.members[which])
        first = at[group, 0]
        logits[group, which] = hide(hidden.rows[first], hidden.labels[first], ids)
    return _minimal(hidden, at, logits, threshold, kinds)


@dataclass(frozen=True)
class _Subsets:
    """The subsets of one to three of k candidates; k stands for no member."""

    members: Ints  # (n, MAX_SIZE)
    sizes: Ints
    lacking: Ints  # (n, MAX_SIZE): the subset without each member; a subset of one lacks nothing: itself


@lru_cache
def _subsets(k: int) -> _Subsets:
    chosen = [each for size in range(1, MAX_SIZE + 1) for each in combinations(range(k), size)]
    number = {each: at for at, each in enumerate(chosen)}
    members = np.array([(*each, *[k] * (MAX_SIZE - len(each))) for each in chosen])
    lacking = [
        [number.get(tuple(one for one in each if one != member), number[each]) for member in row]
        for each, row in zip(chosen, members.tolist(), strict=True)
    ]
    return _Subsets(members, np.array(list(map(len, chosen))), np.array(lacking))


def _candidates(hidden: HiddenTypes, gains: Floats, need: Floats | None, k: int) -> Ints:
    """For each row and label the candidates, as places in `hidden`: (groups, k), NONE where there are fewer.

    Only positive gains are candidates (any but -inf if nothing is needed), and only rows and labels whose
    three largest add up to what is needed.
    """
    kept = np.flatnonzero(gains > (0.0 if need is not None else -np.inf))
    new = (np.diff(hidden.rows[kept]) != 0) | (np.diff(hidden.labels[kept]) != 0)
    group = np.concatenate([[0], np.cumsum(new)])[: len(kept)]
    order = np.lexsort((-gains[kept], group))
    size = np.bincount(group)
    rank = np.arange(len(kept)) - (np.cumsum(size) - size)[group[order]]
    at = np.full((len(size), k), NONE)
    inside = rank < k
    at[group[order][inside], rank[inside]] = kept[order][inside]
    at = at[size > 1]
    if need is not None:
        largest = np.where(at == NONE, 0.0, gains[at])[:, :MAX_SIZE].sum(axis=1)
        at = at[largest >= need[at[:, 0]]]
    at = np.sort(np.where(at == NONE, len(gains), at), axis=1)  # by id
    return np.where(at == len(gains), NONE, at)


def _relieved(hidden: HiddenTypes, changes: HidingChanges, sign: Floats) -> Floats:
    """At most what an event type takes in addition if others are hidden too.

    A weight that two event types share against the direction of hiding is lost with the first of them.
    """
    shared = changes.shared
    relieved = np.zeros(len(sign))
    if shared is None or not len(shared.rows):
        return relieved
    for ids in (shared.first, shared.second):
        at = _places(hidden, shared.rows, shared.labels, ids)
        known = at != NONE
        weights = -sign[at[known]] * (changes.slope[shared.labels] * shared.weights)[known]
        np.add.at(relieved, at[known], np.maximum(weights, 0.0))
    return relieved


def _shared(hidden: HiddenTypes, at: Ints, changes: HidingChanges) -> Floats:
    """What each two candidates share: (groups, k + 1, k + 1), 0 in the last place, that of no member."""
    k, shared = at.shape[1], changes.shared
    matrix = np.zeros((len(at), k + 1, k + 1))
    if shared is None or not len(shared.rows):
        return matrix
    slot = np.full(len(hidden.rows), NONE)
    group, column = np.nonzero(at != NONE)
    slot[at[group, column]] = group * k + column
    first, second = (
        _places(hidden, shared.rows, shared.labels, ids) for ids in (shared.first, shared.second)
    )
    one, two = (np.where(side == NONE, NONE, slot[side]) for side in (first, second))
    both = (one != NONE) & (two != NONE)
    weights = (changes.slope[shared.labels] * shared.weights)[both]
    one, two = one[both], two[both]
    np.add.at(matrix, (one // k, one % k, two % k), weights)
    np.add.at(matrix, (one // k, two % k, one % k), weights)
    return matrix


def with_members(hidden: HiddenTypes, sets: EventSets) -> tuple[Floats, Floats, Ints]:
    """Logits with and without each event type, and the others that are hidden for it: (n, MAX_SIZE - 1).

    An event type that is in a set is compared with the other members of its strongest set hidden.
    """
    others = np.full((len(hidden.rows), MAX_SIZE - 1), NONE)
    if not len(sets):
        return hidden.whole, hidden.without, others
    whole, without = hidden.whole.copy(), hidden.without.copy()
    which, column = np.nonzero(sets.ids != NONE)  # the strongest sets first
    at = _places(hidden, sets.rows[which], sets.labels[which], sets.ids[which, column])
    at, first = np.unique(at, return_index=True)
    which, column = which[first], column[first]
    rest = np.array([[1, 2], [0, 2], [0, 1]])[column]
    whole[at], without[at] = sets.others_hidden[which, column], sets.without[which]
    others[at] = sets.ids[which[:, None], rest]
    return whole, without, others


def _places(hidden: HiddenTypes, rows: Ints, labels: Ints, ids: Ints) -> Ints:
    """The places of these in `hidden`, NONE where it has none."""
    n_labels = int(max(hidden.labels.max(initial=0), labels.max(initial=0))) + 1
    size = int(max(hidden.ids.max(initial=0), ids.max(initial=0))) + 1
    codes = (hidden.rows * n_labels + hidden.labels) * size + hidden.ids
    wanted = (rows * n_labels + labels) * size + ids
    at = np.minimum(np.searchsorted(codes, wanted), max(len(codes) - 1, 0))
    return np.where(codes[at] == wanted, at, NONE) if len(codes) else np.full(len(ids), NONE)


def _total(own: Floats, shared: Floats, members: Ints) -> Floats:
    """What hiding subsets of the candidates takes: (groups, subsets)."""
    own = np.pad(own, ((0, 0), (0, 1)))
    pairs = combinations(members.T, 2)
    return own[:, members].sum(axis=2) - sum(shared[:, one, other] for one, other in pairs)


def _minimal(
    hidden: HiddenTypes, at: Ints, logits: Floats, threshold: float, kinds: NumberedKinds
) -> EventSets:
    """The minimal sets, from the logits with each subset of the candidates hidden: (groups, subsets)."""
    subsets, whole = _subsets(at.shape[1]), hidden.whole[at[:, 0]]
    decisive = _is_decisive(whole[:, None], logits, threshold)
    decisive &= (subsets.sizes > 1) & _is_valid(hidden, at, subsets, kinds)
    group, which = np.nonzero(decisive)
    lacking, is_member = subsets.lacking[which], subsets.members[which] < at.shape[1]
    others_hidden = np.where(is_member, logits[group[:, None], lacking], np.nan)
    moved = _kl(whole[group, None], others_hidden) > threshold
    own = _kl(others_hidden, logits[group, which][:, None])
    kept = ~moved.any(axis=1) & ((own > threshold) | ~is_member).all(axis=1)
    group, which, first = group[kept], which[kept], at[group[kept], 0]
    ids = _ids(hidden, at, group, subsets.members[which])
    columns = (whole[group], logits[group, which], others_hidden[kept])
    return EventSets(hidden.rows[first], hidden.labels[first], ids, *columns)


def _is_valid(hidden: HiddenTypes, at: Ints, subsets: _Subsets, kinds: NumberedKinds) -> Flags:
    """Which subsets have all their members, of which none accompanies another: (groups, subsets)."""
    filled = np.pad(at != NONE, ((0, 0), (0, 1)), constant_values=True)
    valid: Flags = np.asarray(filled[:, subsets.members].all(axis=2))
    if not kinds:
        return valid
    ids = np.pad(np.where(at == NONE, NONE, hidden.ids[at]), ((0, 0), (0, 1)), constant_values=NONE)
    for one, other in combinations(subsets.members.T, 2):
        valid &= ~kinds.accompany(ids[:, one], ids[:, other])
    return valid


def _ids(hidden: HiddenTypes, at: Ints, group: Ints, members: Ints) -> Ints:
    """The event types of some subsets: (n, MAX_SIZE)."""
    chosen = np.pad(at, ((0, 0), (0, 1)), constant_values=NONE)[group[:, None], members]
    return np.where(chosen == NONE, NONE, hidden.ids[chosen])


def _is_decisive(whole: Floats, without: Floats, threshold: float) -> Flags:
    """Whether the logit goes to the other side of 1/2, and far enough; where it is unknown (NaN), no."""
    whole, without = np.broadcast_arrays(whole, without)
    crosses = ~np.isnan(without) & ((whole >= 0) != (without >= 0))
    decisive = np.zeros(crosses.shape, bool)
    decisive[crosses] = _kl(whole[crosses], without[crosses]) > threshold
    return decisive


def _kl(after: Floats, before: Floats) -> Floats:
    strength: Floats = bernoulli_kl(torch.tensor(after), torch.tensor(before)).numpy()
    return strength
