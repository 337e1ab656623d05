from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from eventcargo import DataError, EventDataset
from eventcargo.batches import Batch, Batches
from eventcargo.models import label_probabilities
from eventcargo.models.oracle import LOGIT_LIMIT, Oracle
from eventcargo.simulation.exact import ExactConfig, ExactProcess
from eventcargo.vocabulary import BOS, EOS, PAD, SPECIAL, UNK

FIRST = len(SPECIAL)


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=100)


@pytest.fixture(scope="module")
def drawn(process: ExactProcess) -> EventDataset:
    return process.sample(20_000, seed=101).data


def _batch(*rows: Sequence[int]) -> Batch:
    """Rows of ids, padded."""
    ids = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
    lengths = np.array([len(row) for row in rows], np.int64)
    return Batch(ids, np.zeros(ids.shape, np.float32), lengths, np.zeros((len(rows), 0), np.float32))


def _sequence(*events: int | None) -> list[int]:
    """Ids of a whole sequence; None stands for a hidden event."""
    return [BOS, *(UNK if event is None else event + FIRST for event in events), EOS]


def _next(model: Oracle, batch: Batch, where: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    logits = model.densities(batch, events_at=batch.mask if where is None else where).events
    assert logits is not None
    return torch.softmax(logits.double(), 1).numpy()


def _labels(model: Oracle, batch: Batch, where: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    logits = model.densities(batch, labels_at=batch.mask if where is None else where).labels
    assert logits is not None
    return torch.sigmoid(logits.double()).numpy()


EVENTS = (3, 0, 8, 9, 0, 11)


def test_next_events_are_those_of_the_process(process: ExactProcess) -> None:
    found = _next(Oracle(process), _batch(_sequence(*EVENTS)))
    assert np.allclose(found[:-1, FIRST:], process.next_event_probabilities(EVENTS)[:, :-1], atol=1e-6)


def test_chance_of_eos_is_the_chance_of_the_end(process: ExactProcess) -> None:
    found = _next(Oracle(process), _batch(_sequence(*EVENTS)))
    assert np.allclose(found[:-1, EOS], process.next_event_probabilities(EVENTS)[:, -1], atol=1e-6)


def test_pad_bos_and_unk_never_come(process: ExactProcess) -> None:
    assert not _next(Oracle(process), _batch(_sequence(*EVENTS)))[:, [PAD, BOS, UNK]].any()


def test_after_eos_comes_eos(process: ExactProcess) -> None:
    assert _next(Oracle(process), _batch(_sequence(*EVENTS)))[-1, EOS] == 1.0


def test_the_longest_sequence_ends_for_certain(process: ExactProcess) -> None:
    longest = _batch(_sequence(*[1] * process.config.length_max))
    assert _next(Oracle(process), longest)[-2, EOS] == 1.0


def test_event_logits_are_finite(process: ExactProcess) -> None:
    batch = _batch(_sequence(*EVENTS))
    logits = Oracle(process).densities(batch, events_at=batch.mask).events
    assert logits is not None
    assert torch.isfinite(logits).all()


def test_labels_before_eos_are_given_the_prefix(process: ExactProcess) -> None:
    found = _labels(Oracle(process), _batch(_sequence(*EVENTS)))
    assert np.allclose(found[:-1], process.label_posteriors(EVENTS), atol=1e-6)


def test_labels_at_eos_are_given_the_whole_sequence(process: ExactProcess) -> None:
    found = _labels(Oracle(process), _batch(_sequence(*EVENTS)))
    assert np.allclose(found[-1], process.labels_complete(EVENTS), atol=1e-6)


def test_labels_of_a_sequence_shorter_than_the_process_makes_follow_the_rule(process: ExactProcess) -> None:
    found = _labels(Oracle(process), _batch(_sequence(0, 1)))
    assert np.allclose(found[-1], process.labels_complete([0, 1]), atol=1e-6)


def test_rows_come_in_the_order_of_the_mask(process: ExactProcess) -> None:
    batch = _batch(_sequence(1, 2, 3), _sequence(5))
    where = np.array([[0, 1, 0, 0, 1], [0, 1, 0, 0, 0]], bool)
    expected = [process.labels([1]), process.labels_complete([1, 2, 3]), process.labels([5])]
    assert np.allclose(_labels(Oracle(process), batch, where), expected, atol=1e-6)


def test_label_columns_choose_labels_in_their_order(process: ExactProcess) -> None:
    batch = _batch(_sequence(*EVENTS))
    chosen = Oracle(process).densities(batch, labels_at=batch.at_end, label_columns=np.array([4, 1])).labels
    assert chosen is not None
    assert np.allclose(torch.sigmoid(chosen).numpy()[0], process.labels_complete(EVENTS)[[4, 1]], atol=1e-6)


def test_what_is_not_asked_for_is_none(process: ExactProcess) -> None:
    batch = _batch(_sequence(1))
    only_labels = Oracle(process).densities(batch, labels_at=batch.mask)
    only_events = Oracle(process).densities(batch, events_at=batch.mask)
    assert only_labels.events is None
    assert only_events.labels is None


def test_no_position_asked_for_gives_no_row(process: ExactProcess) -> None:
    batch = _batch(_sequence(1))
    nowhere = np.zeros_like(batch.mask)
    assert _labels(Oracle(process), batch, nowhere).shape == (0, 6)
    assert _next(Oracle(process), batch, nowhere).shape == (0, 16)


def test_later_events_do_not_change_a_prefix(process: ExactProcess) -> None:
    model, where = Oracle(process), np.array([[True, True, True, False, False]])
    one = _labels(model, _batch(_sequence(1, 2, 3)), where)
    assert np.array_equal(one, _labels(model, _batch(_sequence(1, 2, 9)), where))


def test_padding_changes_nothing(process: ExactProcess) -> None:
    model, short = Oracle(process), _sequence(2, 4)
    batch = _batch(short, _sequence(*EVENTS))
    assert np.array_equal(_labels(model, batch)[: len(short)], _labels(model, _batch(short)))


def test_certain_labels_have_finite_logits() -> None:
    sure = Oracle(ExactProcess.from_config(ExactConfig(label_noise=0.0), seed=100))
    batch = _batch(_sequence(0, 1, 9))
    logits = sure.densities(batch, labels_at=batch.at_end).labels
    assert logits is not None
    assert logits[0, :2].tolist() == [LOGIT_LIMIT, -LOGIT_LIMIT]


def test_certain_labels_have_chances_of_one_and_nearly_zero() -> None:
    sure = Oracle(ExactProcess.from_config(ExactConfig(label_noise=0.0), seed=100))
    probabilities = _labels(sure, _batch(_sequence(0, 1, 9)))[-1]
    assert np.allclose(probabilities[:2], [1.0, 0.0], atol=1e-12)


def test_first_events_are_drawn_as_often_as_the_oracle_says(
    process: ExactProcess, drawn: EventDataset
) -> None:
    said = _next(Oracle(process), _batch([BOS]))[0, FIRST:]
    first = drawn.events[drawn.rows.starts]
    shares = np.bincount(first, minlength=len(said)) / len(drawn)
    assert np.all(np.abs(shares - said) < 4.5 * np.sqrt(said * (1 - said) / len(drawn)) + 1e-9)


def test_labels_are_drawn_as_often_as_the_oracle_says_after_the_third_event(
    process: ExactProcess, drawn: EventDataset
) -> None:
    part = drawn[:4_000]
    batch = Batches(part, Oracle(process).vocabulary, 64).take(np.arange(len(part)))
    said = _labels(Oracle(process), batch, np.arange(batch.ids.shape[1]) == np.full((len(part), 1), 3))
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        inside = (said >= low) & (said < high)
        spread = np.sqrt((said * (1 - said))[inside].sum()) / inside.sum()
        assert abs(batch.labels[inside].mean() - said[inside].mean()) < 4.5 * spread


def test_labels_of_the_process_own_data_are_scored(process: ExactProcess, drawn: EventDataset) -> None:
    part = drawn[:500]
    wrong = (label_probabilities(Oracle(process), part) > 0.5) != part.label_matrix().toarray()
    assert wrong.mean() == pytest.approx(process.config.label_noise, abs=0.015)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([BOS, 5, UNK, 6, EOS], r"row 0 of the batch has \[UNK\] at position 2"),
        ([BOS, 5, EOS, 6, EOS], r"has \[EOS\] at position 2"),
        ([5, 6, EOS], "has E00001 at position 0"),
        ([BOS, 99, EOS], "has id 99 at position 1; .* its 12 event types"),
        (_sequence(*[1] * 21), "has 21 events; this process makes at most 20"),
    ],
)
def test_sequences_the_process_cannot_make_are_refused(
    process: ExactProcess, ids: list[int], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        _labels(Oracle(process), _batch(ids))


def test_a_position_of_padding_is_refused(process: ExactProcess) -> None:
    batch = _batch(_sequence(1), _sequence(1, 2))
    with pytest.raises(DataError, match=r"row 0 of the batch has \[EOS\] at position 2"):
        _next(Oracle(process), batch, np.ones_like(batch.mask))


def test_an_event_type_of_other_data_is_refused_before_the_end(process: ExactProcess) -> None:
    batch = _batch(_sequence(1, None, 2))
    with pytest.raises(DataError, match=r"\[UNK\] at position 2"):
        _labels(Oracle(process), batch)
    with pytest.raises(DataError, match=r"\[UNK\] at position 2"):
        _next(Oracle(process), batch, batch.mask)


@pytest.mark.parametrize(
    ("label", "events", "hidden"),
    [
        (0, (0, 1), (0, None)),  # AND
        (1, (2,), (None,)),  # OR
        (3, (6, 7), (None, 7)),  # before
        (4, (8, 9), (8, None)),  # right after
        (5, (0, 0), (0, None)),  # at least twice
    ],
)
def test_a_hidden_event_stands_in_no_rule(
    process: ExactProcess, label: int, events: tuple[int, ...], hidden: tuple[int | None, ...]
) -> None:
    batch = _batch(_sequence(*events), _sequence(*hidden))
    found = Oracle(process).densities(batch, labels_at=batch.at_end).labels
    assert found is not None
    assert found.sigmoid()[:, label].tolist() == pytest.approx([0.98, 0.02])


def test_a_hidden_event_keeps_its_neighbours_apart(process: ExactProcess) -> None:
    batch = _batch(_sequence(8, None, 9))
    found = Oracle(process).densities(batch, labels_at=batch.at_end).labels
    assert found is not None
    assert found.sigmoid()[0, 4].item() == pytest.approx(0.02)
