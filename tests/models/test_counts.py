from math import log
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from eventcargo import ConfigError, DataError, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.models import label_probabilities
from eventcargo.models.counts import KIND, PULLS, Counts, Tally, left_out_likelihood
from eventcargo.models.density import walk
from eventcargo.models.pretrained import write_model
from eventcargo.simulation import simulate
from eventcargo.vocabulary import BOS, EOS, PAD, UNK

from tests.sealed import edit


def _data(*sequences: tuple[str, str]) -> EventDataset:
    """Sequences from (one letter per event, one letter per label)."""
    return EventDataset.from_sequences(
        [
            EventSequence(f"{i:04}", tuple(events), tuple(map(float, range(len(events)))), tuple(labels))
            for i, (events, labels) in enumerate(sequences)
        ]
    )


def _batch(model: Counts, data: EventDataset) -> Batch:
    return Batches(data, model.vocabulary, 100).take(np.arange(len(data)))


def _next(model: Counts, data: EventDataset) -> NDArray[np.float64]:
    """P(next id) at all positions."""
    batch = _batch(model, data)
    logits = model.densities(batch, events_at=batch.mask).events
    assert logits is not None
    return torch.softmax(logits.double(), 1).numpy()


def _logits(model: Counts, data: EventDataset) -> NDArray[np.float32]:
    """Label logits at all positions."""
    batch = _batch(model, data)
    logits = model.densities(batch, labels_at=batch.mask).labels
    assert logits is not None
    return np.asarray(logits.numpy())


ORDERED = _data(("ab", ""), ("ab", ""), ("ac", ""))
"""Of singles, a comes 3 times, b 2, c 1, EOS 3, UNK never."""

LABELLED = _data(("xx", "L"), ("x", "L"), ("y", ""), ("y", ""))


def test_singles_are_discounted_toward_all_ids_evenly() -> None:
    model = Counts.fit(ORDERED)
    at_eos = _next(model, ORDERED[:1])[-1]
    spread = 0.75 * 4 / 5
    expected = [0, 0, 2.25 + spread, spread, 2.25 + spread, 1.25 + spread, 0.25 + spread]
    assert np.allclose(at_eos, np.array(expected) / 9, atol=1e-6)


def test_pairs_are_discounted_toward_singles() -> None:
    model = Counts.fit(ORDERED)
    after_a, m = _next(model, ORDERED[:1])[1], model.pull
    b, c = model.vocabulary.encode("bc")
    assert after_a[b] == pytest.approx((1.25 + (m + 1.5) * 1.85 / 9) / (3 + m), abs=1e-6)
    assert after_a[c] == pytest.approx((0.25 + (m + 1.5) * 0.85 / 9) / (3 + m), abs=1e-6)
    assert after_a[EOS] == pytest.approx((m + 1.5) * 2.85 / 9 / (3 + m), abs=1e-6)


def test_next_event_chances_add_up_to_one(hundred: EventDataset) -> None:
    batch = _batch(model := Counts.fit(hundred), hundred)
    logits = model.densities(batch, events_at=batch.mask).events
    assert logits is not None
    assert torch.allclose(logits.double().exp().sum(1), torch.ones(1).double(), atol=1e-5)


def test_pad_and_bos_never_come(hundred: EventDataset) -> None:
    assert not _next(Counts.fit(hundred), hundred)[:, [PAD, BOS]].any()


def test_an_event_type_never_seen_has_a_chance() -> None:
    assert (_next(Counts.fit(ORDERED), _data(("az", "")))[:, UNK] > 0).all()


def test_what_follows_an_event_type_never_seen_are_singles() -> None:
    _, _, after_z, at_eos = _next(Counts.fit(ORDERED), _data(("az", "")))
    assert np.allclose(after_z, at_eos, atol=1e-6)


def _perplexity(model: Counts, data: EventDataset) -> float:
    nats, n = 0.0, 0
    for _, batch in walk(model, data, 4_096):
        logits = model.densities(batch, events_at=batch.mask & ~batch.at_end).events
        assert logits is not None
        following = torch.from_numpy(batch.ids[:, 1:][(batch.mask & ~batch.at_end)[:, :-1]])
        nats += torch.nn.functional.cross_entropy(logits, following, reduction="sum").item()
        n += len(following)
    return float(np.exp(nats / n))


def _unigram_perplexity(model: Counts, data: EventDataset) -> float:
    singles = _next(model, data[:1])[-1]
    ids = np.concatenate(
        [row[1:n] for b in [_batch(model, data)] for row, n in zip(b.ids, b.lengths, strict=True)]
    )
    return float(np.exp(-np.log(singles[ids]).mean()))


def test_order_is_used_where_it_helps() -> None:
    train, test = simulate("exact", sequences=1_000, seed=100).data.split(0.8)
    model = Counts.fit(train)
    assert _perplexity(model, test) < 0.85 * _unigram_perplexity(model, test)


def test_pairs_do_no_harm_where_order_says_nothing() -> None:
    letters = np.random.default_rng(100).choice(list("abcdefghijklmnopqrst"), (400, 10))
    train, test = _data(*(("".join(row), "") for row in letters)).split(0.5)
    model = Counts.fit(train)
    assert _perplexity(model, test) < 1.01 * _unigram_perplexity(model, test)


def test_pull_is_small_where_the_last_event_decides() -> None:
    assert Counts.fit(_data(*[("abcabc", "")] * 20)).pull == PULLS[0]


def test_likelihood_leaves_out_each_occurrence_of_a_pair() -> None:
    pairs, single, m = sp.csr_array(np.array([[3, 1, 0]])), np.array([0.5, 0.3, 0.2]), 2.0
    thrice = (2 - 0.75 + (m + 0.75 * 2) * 0.5) / (3 + m)
    once = (m + 0.75 * 1) * 0.3 / (3 + m)
    assert left_out_likelihood(pairs, single, m) == pytest.approx(3 * log(thrice) + log(once))


def test_seeing_an_event_type_adds_its_weight() -> None:
    at_bos, after_x, _ = _logits(Counts.fit(LABELLED, smoothing=1.0), _data(("x", "L")))
    assert np.allclose([at_bos[0], after_x[0]], [0.0, log(3)], atol=1e-6)


def test_at_eos_what_was_not_seen_counts_as_well() -> None:
    model = Counts.fit(LABELLED, smoothing=1.0)
    assert _logits(model, _data(("x", "L")))[-1, 0] == pytest.approx(2 * log(3), abs=1e-6)
    assert _logits(model, _data(("xy", "L")))[-1, 0] == pytest.approx(0.0, abs=1e-6)


def test_a_second_occurrence_adds_nothing() -> None:
    _, once, twice, _ = _logits(Counts.fit(LABELLED), _data(("xx", "L")))
    assert once == twice


def test_the_prior_is_the_base_rate() -> None:
    model = Counts.fit(_data(("a", "L"), ("a", ""), ("a", ""), ("a", "")))
    assert _logits(model, _data(("a", "L")))[0, 0] == pytest.approx(log(1.5 / 3.5), abs=1e-6)


def test_an_event_type_in_every_sequence_says_nothing() -> None:
    model = Counts.fit(_data(("a", "L"), ("a", ""), ("a", ""), ("a", "")))
    assert np.ptp(_logits(model, _data(("a", "L")))) < 1e-6


def test_a_label_without_example_is_never_predicted() -> None:
    data = _data(("xy", "L"), ("x", "M"), ("y", "M"), ("xy", "M"))
    rest = data[1:]
    assert (label_probabilities(Counts.fit(rest), rest)[:, 0] < 0.5).all()


def test_smoothing_weakens_weights() -> None:
    weak, strong = (_logits(Counts.fit(LABELLED, smoothing=s), _data(("x", "L")))[1, 0] for s in (10.0, 0.1))
    assert 0 < weak < strong


def test_labels_of_chain_are_better_than_the_base_rate() -> None:
    train, test = simulate("chain", sequences=1_000, seed=100).data.split(0.8)
    carried, base = test.label_matrix().toarray(), train.support / len(train)
    found = label_probabilities(Counts.fit(train), test)
    assert _log_loss(found, carried) < 0.6 * _log_loss(np.broadcast_to(base, carried.shape), carried)


def _log_loss(chances: NDArray[np.floating], carried: NDArray[np.integer]) -> float:
    return float(-np.log(np.where(carried == 1, chances, 1 - chances)).mean())


def test_later_events_do_not_change_a_prefix(hundred: EventDataset) -> None:
    model = Counts.fit(LABELLED)
    one, other = (_logits(model, _data((events, "L")))[:2] for events in ("xx", "xy"))
    assert np.array_equal(one, other)


def test_padding_changes_nothing(hundred: EventDataset) -> None:
    model = Counts.fit(hundred)
    alone = np.concatenate([_logits(model, hundred[row : row + 1]) for row in range(20)])
    assert np.array_equal(_logits(model, hundred[:20]), alone)


def test_label_columns_choose_labels_in_their_order(tiny: EventDataset) -> None:
    model, batch = Counts.fit(tiny), _batch(Counts.fit(tiny), tiny)
    chosen = model.densities(batch, labels_at=batch.mask, label_columns=np.array([1, 0])).labels
    assert chosen is not None
    assert np.array_equal(chosen.numpy(), _logits(model, tiny)[:, ::-1])


def test_what_is_not_asked_for_is_none(tiny: EventDataset) -> None:
    model, batch = Counts.fit(tiny), _batch(Counts.fit(tiny), tiny)
    assert model.densities(batch, labels_at=batch.mask).events is None
    assert model.densities(batch, events_at=batch.mask).labels is None


def test_no_position_asked_for_gives_no_row(tiny: EventDataset) -> None:
    model, batch = Counts.fit(tiny), _batch(Counts.fit(tiny), tiny)
    nowhere = np.zeros_like(batch.mask)
    found = model.densities(batch, events_at=nowhere, labels_at=nowhere)
    assert found.events is not None
    assert found.labels is not None
    assert (found.events.shape, found.labels.shape) == ((0, 7), (0, 2))


LARGE = Vocabulary((*(f"e{i}" for i in range(29_098)), "x", "y"))


def test_pairs_of_29100_event_types_are_stored_sparsely() -> None:
    model = Counts.fit(LABELLED, LARGE)
    assert model.tally.pairs.nnz == 5
    assert _next(model, LABELLED[:1]).shape == (4, 29_104)


def test_event_types_that_never_occur_change_no_label() -> None:
    assert np.allclose(
        _logits(Counts.fit(LABELLED, LARGE), LABELLED), _logits(Counts.fit(LABELLED), LABELLED)
    )


def test_data_without_labels_give_next_events_alone() -> None:
    model = Counts.fit(ORDERED)
    assert _logits(model, ORDERED[:1]).shape == (4, 0)


def test_data_without_sequences_are_refused(tiny: EventDataset) -> None:
    with pytest.raises(DataError, match="0 sequences"):
        Counts.fit(tiny[:0])


@pytest.mark.parametrize("smoothing", [0.0, -1.0, float("nan"), float("inf")])
def test_smoothing_outside_is_refused_with_its_value(tiny: EventDataset, smoothing: float) -> None:
    with pytest.raises(ConfigError, match=f"smoothing={smoothing}"):
        Counts.fit(tiny, smoothing=smoothing)


def test_a_saved_model_gives_the_same_logits(hundred: EventDataset, tmp_path: Path) -> None:
    model = Counts.fit(hundred, smoothing=2.0)
    model.save_pretrained(tmp_path / "model")
    again = Counts.from_pretrained(tmp_path / "model")
    assert np.array_equal(_logits(again, hundred), _logits(model, hundred))
    assert np.array_equal(_next(again, hundred), _next(model, hundred))
    assert (again.vocabulary, again.label_names) == (model.vocabulary, model.label_names)


def _saved(tmp_path: Path) -> Path:
    Counts.fit(LABELLED).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_truncated_counts_are_refused_by_name(tmp_path: Path) -> None:
    path = _saved(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"model\.safetensors is truncated"):
        Counts.from_pretrained(tmp_path / "model")


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"config\.json does not exist"):
        Counts.from_pretrained(tmp_path)


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = _saved(tmp_path) / "config.json"
    edit(path, kind="transformer")
    with pytest.raises(DataError, match="kind 'transformer', not 'counts'"):
        Counts.from_pretrained(tmp_path / "model")


def test_a_vocabulary_of_another_model_is_refused(tmp_path: Path) -> None:
    Vocabulary(("x", "z")).to_json(_saved(tmp_path) / "vocabulary.json")
    with pytest.raises(DataError, match="belongs to another"):
        Counts.from_pretrained(tmp_path / "model")


@pytest.mark.parametrize("header", [{"label_names": ["L"]}, {"label_names": [], "smoothing": 5, "width": 3}])
def test_other_settings_are_refused_by_name(tmp_path: Path, header: dict[str, object]) -> None:
    write_model(tmp_path / "model", {"kind": KIND, **header}, Vocabulary(("x",)), {})
    with pytest.raises(DataError, match="counts have label_names and smoothing"):
        Counts.from_pretrained(tmp_path / "model")


def test_a_model_without_its_counts_is_refused_by_name(tmp_path: Path) -> None:
    settings = {"kind": KIND, "label_names": ["L"], "smoothing": 5.0}
    write_model(tmp_path / "model", settings, Vocabulary(("x",)), {})
    with pytest.raises(DataError, match=r"model\.safetensors is damaged: no counts of 5 ids"):
        Counts.from_pretrained(tmp_path / "model")


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
