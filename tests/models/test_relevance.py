"""Fewer events, the same moments; the families of one event type keep their events alone."""

import numpy as np
import pytest

from eventcargo.features import FAMILIES, N_BUCKETS, Events, Moments
from eventcargo.models.relevance import chosen_moments, relevant, sides

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
