"""The matrix of whole sequences agrees with the moments of batches, also where it is made in parts."""

from collections import Counter

import numpy as np
import pytest

from eventcargo import Vocabulary
from eventcargo.batches import Batches
from eventcargo.features import FAMILIES, Events, chosen_moments
from eventcargo.models.linear import row_features
from eventcargo.models.linear.row_features import RowFeatures
from eventcargo.simulation import simulate

from tests.test_features import SIZE, A, B, batch_of


@pytest.fixture(params=["one part", "many parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether features are counted in many parts."""
    is_divided = bool(request.param == "many parts")
    if is_divided:
        monkeypatch.setattr(row_features, "AT_ONCE", 50)
        monkeypatch.setattr(row_features, "FEW_SLOTS", 0)
        monkeypatch.setattr(row_features, "BLOCK", 30)
    return is_divided


@pytest.mark.filterwarnings("ignore:.*longer than 22 events")  # sequences cut at their start
@pytest.mark.parametrize("family", FAMILIES)
def test_matrix_of_whole_sequences_agrees_with_moments_of_batches(family: str, parts: bool) -> None:
    data = simulate("timing", sequences=60, labels=2, seed=5).data
    vocabulary = Vocabulary.from_dataset(data)
    made = Batches(data, vocabulary, 24)
    batches = [made.take(rows) for rows in made.in_order(300)]
    rows = RowFeatures.of(batches, family, len(vocabulary), 3, 2)
    assert (len(list(rows.names())) > 1) == (parts and len(rows.keys) > 50)
    matrix, keys = rows.whole()
    whole = made.take(np.arange(len(data)))
    found = chosen_moments(Events.from_batch(whole, len(vocabulary)), family, 3, keys)
    again = np.zeros(matrix.shape, int)
    again[found.rows, found.keys] = 1
    assert np.array_equal(matrix.sparse().toarray(), again)


def test_rare_features_are_left_out_of_the_matrix() -> None:
    matrix, keys = RowFeatures.of([batch_of("ab", "a", "a")], "presence", SIZE, 1, 2).whole()
    assert (keys.tolist(), matrix.sparse().toarray().tolist()) == ([A], [[1], [1], [1]])


def test_a_feature_with_just_enough_support_stays() -> None:
    assert RowFeatures.of([batch_of("ab", "a", "ab")], "presence", SIZE, 1, 2).whole()[1].tolist() == [A, B]


def test_repeated_feature_counts_one_sequence_once() -> None:
    assert len(RowFeatures.of([batch_of("aaa", "b")], "presence", SIZE, 1, 2).whole()[1]) == 0


def test_parts_have_about_as_many_keys_each_and_every_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.random.default_rng(0).geometric(0.01, 5_000)
    keys[0] = row_features.FEW_SLOTS + 1  # too many for a table; most ranges are of few keys
    rows = RowFeatures(np.array([0, len(keys)]), keys, int(keys.max()) + 1, 3)
    (whole,) = rows.names()
    monkeypatch.setattr(row_features, "AT_ONCE", 500)
    divided = list(rows.names())
    assert len(divided) == 10
    assert np.concatenate(divided).tolist() == whole.tolist()
    assert whole.tolist() == sorted(key for key, count in Counter(keys.tolist()).items() if count >= 3)
    every = RowFeatures(rows.starts, keys, rows.end, 1)
    assert all(400 < np.isin(keys, part).sum() < 600 for part in every.names())


def test_few_kinds_of_keys_are_one_part_however_often_they_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_features, "AT_ONCE", 50)
    keys = np.random.default_rng(0).integers(0, 9, 500)
    rows = RowFeatures(np.array([0, len(keys)]), keys, 9, 2)
    assert [part.tolist() for part in rows.names()] == [list(range(9))]


def test_keys_of_pairs_of_many_event_types_are_told_apart() -> None:
    size = 100_000  # squared, more than 32 bits hold
    batch = batch_of("ab", "ab", "ba")
    batch.ids[batch.ids >= A] += size - 10
    matrix, keys = RowFeatures.of([batch], "ordered", size, 2, 1).whole()
    assert sorted(divmod(key, size) for key in keys.tolist()) == [
        (A + size - 10, B + size - 10),
        (B + size - 10, A + size - 10),
    ]
    assert matrix.sparse().toarray().tolist() == [[1, 0], [1, 0], [0, 1]]
