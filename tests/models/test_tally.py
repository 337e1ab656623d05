import numpy as np
import pytest
import torch

from eventcargo import DataError, EventDataset, Vocabulary
from eventcargo.models.tally import Tally
from eventcargo.vocabulary import BOS, EOS, UNK

ABC = Vocabulary(("a", "b", "c"))
A, B, C = 4, 5, 6


def test_neighbours_are_counted_with_bos_and_eos(tiny: EventDataset) -> None:
    expected = np.zeros((7, 7), int)
    for before, after in [(BOS, A), (A, EOS), (BOS, B), (B, A), (A, B), (B, EOS), (BOS, EOS)]:
        expected[before, after] += 1
    for before, after in [(BOS, C), (C, A), (A, EOS)]:
        expected[before, after] += 1
    assert np.array_equal(Tally.of(tiny, ABC).pairs.toarray(), expected)


def test_an_event_type_is_present_once_in_a_sequence(tiny: EventDataset) -> None:
    assert Tally.of(tiny, ABC).present.tolist() == [0, 0, 0, 0, 3, 1, 1]


def test_event_types_outside_of_the_vocabulary_are_counted_as_unk(tiny: EventDataset) -> None:
    assert Tally.of(tiny, Vocabulary(("a",))).present[UNK] == 2


def test_sequences_with_event_type_and_label_are_counted(tiny: EventDataset) -> None:
    assert Tally.of(tiny, ABC).joint.toarray()[A:].tolist() == [[2, 1], [1, 1], [1, 0]]


def test_support_counts_sequences_without_events(tiny: EventDataset) -> None:
    assert Tally.of(tiny, ABC).support.tolist() == [3, 1]


def test_parts_add_up_to_the_whole(hundred: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(hundred)
    whole = Tally.of(hundred, vocabulary).to_tensors()
    parts = (Tally.of(hundred[:37], vocabulary) + Tally.of(hundred[37:], vocabulary)).to_tensors()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_counting_leaves_the_data_as_they_are(hundred: EventDataset) -> None:
    before = hundred.events.copy()
    Tally.of(hundred, Vocabulary.from_dataset(hundred))
    assert np.array_equal(hundred.events, before)


def test_tensors_give_the_tally_back(tiny: EventDataset) -> None:
    tally = Tally.of(tiny, ABC)
    again = Tally.from_tensors(tally.to_tensors(), 7, 2)
    assert np.array_equal(again.pairs.toarray(), tally.pairs.toarray())
    assert np.array_equal(again.joint.toarray(), tally.joint.toarray())
    assert (again.present.tolist(), again.support.tolist()) == (
        tally.present.tolist(),
        tally.support.tolist(),
    )
    assert again.sequences == 4


@pytest.mark.parametrize("missing", ["pairs.data", "joint.indptr", "present", "support", "sequences"])
def test_missing_counts_are_refused_by_name(tiny: EventDataset, missing: str) -> None:
    tensors = Tally.of(tiny, ABC).to_tensors()
    del tensors[missing]
    with pytest.raises(DataError, match=missing):
        Tally.from_tensors(tensors, 7, 2)


@pytest.mark.parametrize(("n_ids", "n_labels"), [(8, 2), (7, 3), (6, 2), (7, 1)])
def test_counts_of_another_size_are_refused(tiny: EventDataset, n_ids: int, n_labels: int) -> None:
    with pytest.raises(DataError, match=f"no counts of {n_ids} ids and {n_labels} labels"):
        Tally.from_tensors(Tally.of(tiny, ABC).to_tensors(), n_ids, n_labels)


def test_an_id_outside_of_the_vocabulary_is_refused(tiny: EventDataset) -> None:
    tensors = Tally.of(tiny, ABC).to_tensors()
    tensors["pairs.indices"][0] = 70
    with pytest.raises(DataError, match="no counts of 7 ids"):
        Tally.from_tensors(tensors, 7, 2)
