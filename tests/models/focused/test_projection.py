import numpy as np
import pytest

from eventcargo.batches import Batch, Batches
from eventcargo.events import EventDataset, EventSequence
from eventcargo.models.density import hidden
from eventcargo.models.focused.projection import EMPTY, N_BEFORE, project
from eventcargo.models.focused.term import slots_of
from eventcargo.vocabulary import Vocabulary


def batch_of(*texts: str) -> tuple[Batch, Vocabulary]:
    """One event a letter, a second apart."""
    sequences = [
        EventSequence(str(at), tuple(text), tuple(map(float, range(len(text)))), ())
        for at, text in enumerate(texts)
    ]
    data, vocabulary = EventDataset.from_sequences(sequences), Vocabulary(tuple("abcdx"))
    return Batches(data, vocabulary, 64).take(np.arange(len(texts))), vocabulary


def slots(vocabulary: Vocabulary, names: str) -> np.ndarray:
    return slots_of(vocabulary.lookup(tuple(names)), len(vocabulary))


def test_events_of_candidates_keep_their_places_and_times() -> None:
    batch, vocabulary = batch_of("xaxxbxax", "xx")
    found = project(batch, slots(vocabulary, "ab"), n_slots=2, max_events=8)
    assert found.slots.tolist() == [[0, 1, 0, 2], [2, EMPTY, EMPTY, EMPTY]]
    assert found.places[0].tolist() == [2.0, 5.0, 7.0, 9.0]
    assert found.times[0].tolist() == [1.0, 4.0, 6.0, 7.0]
    assert found.places[1, 0] == 3.0


def test_of_many_events_the_last_are_kept() -> None:
    batch, vocabulary = batch_of("ababab")
    found = project(batch, slots(vocabulary, "ab"), n_slots=2, max_events=3)
    assert found.slots.tolist() == [[1, 0, 1, 2]]
    assert found.places[0].tolist() == [4.0, 5.0, 6.0, 7.0]


def test_a_prefix_is_projected_like_the_sequence_that_ends_there() -> None:
    batch, vocabulary = batch_of("abxabb")
    shorter, _ = batch_of("abx")
    found = project(batch, slots(vocabulary, "ab"), 2, 8, ends=np.array([4]))
    alone = project(shorter, slots(vocabulary, "ab"), 2, 8)
    assert found.slots.tolist() == alone.slots.tolist() == [[0, 1, 2]]
    assert found.places.tolist() == alone.places.tolist()


def test_an_event_knows_its_distance_to_earlier_ones_of_its_type() -> None:
    batch, vocabulary = batch_of("axabxxa")
    before = project(batch, slots(vocabulary, "ab"), 2, 8).before[0].reshape(-1, N_BEFORE, 3)
    assert before[0].tolist() == np.zeros((N_BEFORE, 3)).tolist()
    assert before[1, 0] == pytest.approx([np.log(3), np.log(3), 1.0])
    assert before[2].tolist() == np.zeros((N_BEFORE, 3)).tolist()  # the first b
    assert before[3, 0] == pytest.approx([np.log(5), np.log(5), 1.0])
    assert before[3, 1] == pytest.approx([np.log(7), np.log(7), 1.0])
    assert before[3, 2, 2] == 0.0


def test_hiding_a_slot_is_hiding_its_events_before_projecting() -> None:
    batch, vocabulary = batch_of("abcabxc", "bbb", "ca")
    of = slots(vocabulary, "abc")
    whole = project(batch, of, 3, 8)
    for names in ("a", "b", "ab", "abc"):
        ids = np.tile(vocabulary.lookup(tuple(names)), (3, 1))
        later = whole.hide(of[ids])
        earlier = project(hidden(batch, np.arange(3), ids), of, 3, 8)
        for row in range(3):
            left = later.slots[row] != EMPTY
            n = int(left.sum())
            for name in ("slots", "places", "times", "before"):
                one, other = getattr(later, name)[row][left], getattr(earlier, name)[row][:n]
                np.testing.assert_array_equal(one, other)


def test_rows_are_as_wide_as_the_longest_of_them() -> None:
    batch, vocabulary = batch_of("aaaa", "a", "xx")
    whole = project(batch, slots(vocabulary, "a"), 1, 8)
    assert [whole.rows(np.array(rows)).width for rows in ([0], [1, 2], [2])] == [5, 2, 1]
    assert whole.rows(np.array([1])).widened(4).slots.tolist() == [[0, 1, EMPTY, EMPTY]]


def test_exchanged_events_come_at_the_same_share_of_the_sequence() -> None:
    batch, vocabulary = batch_of("axxbaxx", "xbxxxaxxbxxxxxx", "xx")
    whole = project(batch, slots(vocabulary, "ab"), 2, 8)
    found = whole.exchange(0, np.array([1, 2, 0]))
    assert found.slots.tolist() == [[0, 1, 2], [1, 1, 2], [0, 0, 2]]
    assert found.places[0].tolist() == [3.0, 4.0, 8.0]  # a was at 6 of 16 places
    assert found.times[0, 0] == pytest.approx(5 * 6 / 14)
    assert found.places[1].tolist() == [2.0, 9.0, 16.0]  # no a in the third
    assert found.places[2] == pytest.approx([3 / 8, 15 / 8, 3.0])
    assert found.before[2, 1, :3] == pytest.approx([np.log1p(12 / 8), np.log1p(4 / 6), 1.0])


def test_events_exchanged_for_their_own_stay_as_they_are() -> None:
    batch, vocabulary = batch_of("abcabxc", "bbb", "ca")
    whole = project(batch, slots(vocabulary, "abc"), 3, 8)
    for slot in range(3):
        same = whole.exchange(slot, np.arange(3))
        for name in ("slots", "places", "times", "before"):
            np.testing.assert_allclose(getattr(same, name), getattr(whole, name), rtol=1e-6)
