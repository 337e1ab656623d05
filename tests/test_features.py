"""Families by hand on short sequences."""

import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.event_kinds import EventKinds
from eventcargo.features import (
    DISTANCE_EDGES,
    FAMILIES,
    N_BUCKETS,
    PAIRS,
    TIME_EDGES,
    Events,
    Moments,
    chosen_moments,
    is_sensible,
    own_places,
    relevant,
    sides,
)

SIZE = 7
A, B, C = 4, 5, 6


def batch_of(*sequences: str, times: list[float] | None = None) -> Batch:
    """A batch of sequences of the event types a, b, c; times are 0, 1, 2, ... unless given."""
    rows = [
        EventSequence(str(at), tuple(events), tuple(times or np.arange(float(len(events))).tolist()), ())
        for at, events in enumerate(sequences)
    ]
    data = EventDataset.from_sequences(rows)
    return Batches(data, Vocabulary(("a", "b", "c")), 64).take(np.arange(len(rows)))


def moments_of(family: str, batch: Batch, window: int = 8) -> list[tuple[int, int, int]]:
    """First moments as (row, position, key), sorted."""
    first = FAMILIES[family](Events.from_batch(batch, SIZE), window).first()
    return sorted(zip(first.rows.tolist(), first.positions.tolist(), first.keys.tolist(), strict=True))


def time_bucket(time: float) -> int:
    return int(np.searchsorted(TIME_EDGES, np.float32(time)))


def test_marks_and_padding_are_no_events() -> None:
    events = Events.from_batch(batch_of("ab", "c"), SIZE)
    assert events.ids.tolist() == [A, B, C]


def test_presence_becomes_true_at_the_first_occurrence() -> None:
    assert moments_of("presence", batch_of("aba", "c")) == [(0, 1, A), (0, 2, B), (1, 1, C)]


def test_count_tells_the_second_to_the_fifth_occurrence() -> None:
    found = moments_of("count", batch_of("aaaaaaa"))
    assert found == [(0, k, A * N_BUCKETS + k - 1) for k in (2, 3, 4, 5)]


def test_adjacent_pairs_stop_at_the_end_of_a_sequence() -> None:
    assert moments_of("adjacent", batch_of("ab", "ca")) == [(0, 2, A * SIZE + B), (1, 2, C * SIZE + A)]


def test_ordered_pair_looks_at_first_occurrences_only() -> None:
    assert moments_of("ordered", batch_of("aaba")) == [(0, 3, A * SIZE + B)]


def test_ordered_pair_stays_within_its_window() -> None:
    assert (0, 3, A * SIZE + C) not in moments_of("ordered", batch_of("abc"), window=1)


def test_ordered_pair_reaches_as_far_as_its_window() -> None:
    assert (0, 3, A * SIZE + C) in moments_of("ordered", batch_of("abc"), window=2)


def test_gap_key_holds_the_bucket_of_the_time_between() -> None:
    found = moments_of("gap", batch_of("ab", times=[3.0, 3.5]))
    assert found == [(0, 2, (A * SIZE + B) * N_BUCKETS + time_bucket(0.5))]


def test_gap_of_zero_has_the_lowest_bucket() -> None:
    found = moments_of("gap", batch_of("ab", times=[3.0, 3.0]))
    assert found == [(0, 2, (A * SIZE + B) * N_BUCKETS)]


def test_lateness_is_the_distance_of_the_last_occurrence_from_the_end() -> None:
    keys = [A * N_BUCKETS + np.searchsorted(DISTANCE_EDGES, 2), B * N_BUCKETS]
    assert moments_of("lateness", batch_of("aab")) == [(0, 4, keys[0]), (0, 4, keys[1])]


def test_since_is_the_time_of_the_last_occurrence_before_the_last_event() -> None:
    found = moments_of("since", batch_of("aab", times=[0.0, 1.0, 4.0]))
    assert found == [(0, 4, A * N_BUCKETS + time_bucket(3.0)), (0, 4, B * N_BUCKETS)]


@pytest.mark.parametrize("edges", [TIME_EDGES, DISTANCE_EDGES])
def test_buckets_fit_into_a_key(edges: np.ndarray) -> None:
    assert len(edges) < N_BUCKETS


def test_eight_events_from_the_end_is_the_last_of_its_bucket() -> None:
    eighth, ninth = np.searchsorted(DISTANCE_EDGES, [8, 9])
    assert eighth < ninth


def test_first_moment_is_the_earliest_of_each_row_and_key() -> None:
    moments = Moments(np.array([0, 1, 0, 0]), np.array([5, 2, 3, 9]), np.array([7, 7, 7, 8]))
    first = moments.first()
    assert first.positions.tolist() == [3, 9, 2]


@pytest.mark.parametrize("family", FAMILIES)
def test_empty_sequences_have_no_feature(family: str) -> None:
    assert moments_of(family, batch_of("", "")) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_keys_of_a_large_vocabulary_are_exact(family: str) -> None:
    vocabulary = Vocabulary(tuple(f"{i:05}" for i in range(29_100)))
    names = ("29099", "29098", "29099", "29099")
    data = EventDataset.from_sequences([EventSequence("a", names, (0.0, 1.0, 2.0, 3.0), ())])
    batch = Batches(data, vocabulary, 16).take(np.array([0]))
    keys = FAMILIES[family](Events.from_batch(batch, len(vocabulary)), 2).keys
    assert (keys // (N_BUCKETS * len(vocabulary) ** 2) == 0).all()
    assert keys.min() > 0


SIZE, WINDOW = 9, 3


@pytest.fixture(scope="module")
def events() -> Events:
    """Six sequences of seven events of five types, of which the last two are in the last sequences only."""
    rng = np.random.default_rng(1)
    rows, positions = (part.ravel() for part in np.indices((6, 7)))
    ids = np.where(rows < 4, rng.integers(4, 7, 42), rng.integers(4, 9, 42))
    times = rng.exponential(size=(6, 7)).cumsum(axis=1).ravel().astype(np.float32)
    return Events(rows, positions + 1, ids, times, np.full(6, 8), SIZE)


def all_moments(events: Events, family: str) -> Moments:
    return FAMILIES[family](events, WINDOW).first()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_chosen_features_become_true_when_they_do_among_all(events: Events, family: str, seed: int) -> None:
    every = all_moments(events, family)
    keys = np.sort(np.random.default_rng(seed).choice(np.unique(every.keys), 3, replace=False))
    found, inside = chosen_moments(events, family, WINDOW, keys), np.isin(every.keys, keys)
    assert found.rows.tolist() == every.rows[inside].tolist()
    assert found.positions.tolist() == every.positions[inside].tolist()
    assert keys[found.keys].tolist() == every.keys[inside].tolist()


@pytest.mark.parametrize("family", ["adjacent", "ordered"])
def test_sequences_with_one_side_of_a_pair_alone_are_left_out(events: Events, family: str) -> None:
    kept = relevant(events, family, np.array([4 * SIZE + 8]))
    assert set(kept.rows.tolist()) <= {4, 5}


def test_sequences_that_are_kept_keep_their_other_events(events: Events) -> None:
    kept = relevant(events, "ordered", np.array([4 * SIZE + 5]))
    row = int(kept.rows[0])
    assert kept.ids[kept.rows == row].tolist() == events.ids[events.rows == row].tolist()


def test_sides_of_every_kind_of_feature() -> None:
    keys = {"presence": [4], "count": [4 * N_BUCKETS + 2], "ordered": [4 * 7 + 5, 6 * 7 + 6]}
    keys["gap"] = [(4 * 7 + 5) * N_BUCKETS + 9]
    first, second = sides({family: np.array(part) for family, part in keys.items()}, 7)
    assert first.tolist() == [4, 4, 4, 6, 4]
    assert second.tolist() == [-1, -1, 5, -1, 5]


KINDS = EventKinds(attributes=("f",), families={"I": ("a", "b")}, scales=(("u", "v"),))
KIND_NAMES = ["I", "a", "b", "c", "f", "u", "v"]


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in PAIRS])
def test_an_attribute_has_no_feature_but_presence(family: str) -> None:
    numbered = KINDS.numbered(KIND_NAMES)
    keys = np.arange(len(KIND_NAMES)) * (1 if family == "presence" else N_BUCKETS)
    sensible = is_sensible(family, keys, numbered)
    assert [KIND_NAMES[at] for at in np.flatnonzero(~sensible)] == ([] if family == "presence" else ["f"])


@pytest.mark.parametrize("family", PAIRS)
def test_a_pair_with_an_attribute_or_of_one_moment_is_no_feature(family: str) -> None:
    numbered, n = KINDS.numbered(KIND_NAMES), len(KIND_NAMES)
    keys = np.arange(n * n) * (N_BUCKETS if family == "gap" else 1)
    senseless = [
        "".join(KIND_NAMES[i] for i in divmod(int(at), n))
        for at in np.flatnonzero(~is_sensible(family, keys, numbered))
    ]
    with_f = {pair for name in KIND_NAMES for pair in (f"f{name}", f"{name}f")}
    assert set(senseless) == with_f | {"Ia", "aI", "Ib", "bI", "uv", "vu"}


@pytest.mark.parametrize(
    ("events", "times", "places"),
    [
        ("abc", [0, 1, 2], [1, 2, 3]),
        ("facI", [0, 0, 0, 5], [0, 1, 2, 3]),  # I stands alone, so it is an event of its own
        ("aIc", [0, 0, 1], [1, 1, 2]),
        ("Iac", [0, 0, 1], [1, 1, 2]),
        ("aIbIc", [0, 0, 0, 0, 1], [1, 1, 2, 2, 3]),
        ("IaIb", [0, 0, 3, 3], [1, 1, 2, 2]),
        ("caIa", [0, 1, 1, 1], [1, 2, 2, 3]),
        ("cuv", [0, 0, 0], [1, 1, 1]),
        ("f", [0], [0]),
        ("", [], []),
    ],
)
def test_events_that_accompany_others_have_their_place(
    events: str, times: list[float], places: list[int]
) -> None:
    numbers = np.array([KIND_NAMES.index(name) for name in events], np.int64)
    rows = np.zeros(len(events), np.int64)
    found = own_places(rows, numbers, np.array(times, np.float64), KINDS.numbered(KIND_NAMES))
    assert found.tolist() == places
    twice = np.concatenate([rows, rows + 1])  # every sequence begins anew
    both = own_places(
        twice, np.tile(numbers, 2), np.tile(np.array(times, float), 2), KINDS.numbered(KIND_NAMES)
    )
    assert both.tolist() == places * 2
