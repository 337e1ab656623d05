from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventcargo import ConfigError, EventCargoWarning, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches, kept_attributes, report_cuts
from eventcargo.event_kinds import EventKinds
from eventcargo.vocabulary import BOS, EOS, PAD, UNK

ABC = Vocabulary(("a", "b", "c"))
A, B, C = 4, 5, 6


def _of_lengths(lengths: list[int]) -> EventDataset:
    """Sequences whose order by name is the order of the lengths."""
    return EventDataset.from_sequences(
        [EventSequence(f"{i:03}", ("a",) * n, tuple(map(float, range(n))), ()) for i, n in enumerate(lengths)]
    )


def _taken(data: EventDataset, *rows: int, max_length: int = 16) -> Batch:
    return Batches(data, ABC, max_length).take(np.array(rows, np.int64))


def test_events_stand_between_bos_and_eos(tiny: EventDataset) -> None:
    assert _taken(tiny, 1).ids.tolist() == [[BOS, B, A, B, EOS]]


def test_padding_is_on_the_right(tiny: EventDataset) -> None:
    assert _taken(tiny, 1, 0).ids.tolist() == [[BOS, B, A, B, EOS], [BOS, A, EOS, PAD, PAD]]


def test_sequence_without_events_is_bos_and_eos(tiny: EventDataset) -> None:
    assert _taken(tiny, 2, 0).ids.tolist() == [[BOS, EOS, PAD], [BOS, A, EOS]]


def test_last_sequence_without_events_alone_is_bos_and_eos() -> None:
    assert _taken(_of_lengths([1, 0]), 1).ids.tolist() == [[BOS, EOS]]


def test_no_rows_give_an_empty_batch(tiny: EventDataset) -> None:
    assert _taken(tiny).ids.shape == (0, 2)


def test_event_type_outside_of_the_vocabulary_becomes_unk(tiny: EventDataset) -> None:
    batch = Batches(tiny, Vocabulary(("a",)), 16).take(np.array([3]))
    assert batch.ids.tolist() == [[BOS, UNK, A, EOS]]


def test_times_count_from_the_first_event_and_eos_has_the_last() -> None:
    data = EventDataset.from_sequences([EventSequence("s", ("a", "b"), (5.0, 7.5), ())])
    assert _taken(data, 0).times.tolist() == [[0.0, 0.0, 2.5, 2.5]]


def test_times_of_padding_are_zero(tiny: EventDataset) -> None:
    assert _taken(tiny, 1, 3).times[1, -1] == 0.0


def test_small_gaps_between_large_times_are_kept() -> None:
    late = 1.7e9
    data = EventDataset.from_sequences([EventSequence("s", ("a", "b"), (late, late + 0.25), ())])
    assert _taken(data, 0).times[0, 2] == 0.25


def test_labels_are_ones_in_their_columns(tiny: EventDataset) -> None:
    assert _taken(tiny, 0, 1, 3).labels.tolist() == [[0, 0], [1, 1], [1, 0]]


def test_mask_is_true_up_to_eos(tiny: EventDataset) -> None:
    assert _taken(tiny, 1, 0).mask.sum(axis=1).tolist() == [5, 3]


def test_at_end_is_true_at_eos_alone(tiny: EventDataset) -> None:
    batch = _taken(tiny, 0, 1, 2, 3)
    assert np.array_equal(batch.at_end, batch.ids == EOS)


def test_a_row_is_the_same_alone_and_beside_longer_ones(hundred: EventDataset) -> None:
    batches = Batches(hundred, Vocabulary.from_dataset(hundred), 16)
    together = batches.take(np.arange(99, -1, -1))
    for row in (0, 1, 42, 99):
        alone, at = batches.take(np.array([row])), 99 - row
        width = alone.ids.shape[1]
        assert np.array_equal(alone.ids[0], together.ids[at, :width])
        assert np.array_equal(alone.times[0], together.times[at, :width])
        assert np.array_equal(alone.labels[0], together.labels[at])


def test_a_row_may_be_taken_twice(tiny: EventDataset) -> None:
    assert _taken(tiny, 1, 1).ids.tolist() == [[BOS, B, A, B, EOS]] * 2


def test_a_selection_gives_its_own_rows(tiny: EventDataset) -> None:
    assert _taken(tiny.select(["car4", "car2"]), 0).ids.tolist() == [[BOS, C, A, EOS]]


def test_data_mapped_from_disk_give_the_same_batches(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "saved")
    assert np.array_equal(_taken(EventDataset.load(tmp_path / "saved"), 1, 3).times, _taken(tiny, 1, 3).times)


def test_long_sequence_keeps_its_last_events(tiny: EventDataset) -> None:
    assert _taken(tiny, 1, max_length=4).ids.tolist() == [[BOS, A, B, EOS]]


def test_times_of_a_cut_sequence_count_from_the_first_event_shown(tiny: EventDataset) -> None:
    assert _taken(tiny, 1, max_length=4).times.tolist() == [[0.0, 0.0, 1.5, 1.5]]


def _with_attributes(*sequences: EventSequence) -> EventDataset:
    data = EventDataset.from_sequences(sequences, value_names=["km"] if sequences[0].values else [])
    data.kinds = EventKinds(attributes=("a", "b"))
    return data


def test_attributes_stay_when_a_sequence_is_cut() -> None:
    data = _with_attributes(
        EventSequence("1", ("a", "b", *"cccdd"), (1.0, 1.0, 1.0, 2.0, 3.0, 5.0, 8.0), ()),
        EventSequence("2", ("c",) * 7, tuple(map(float, range(7))), ()),
        EventSequence("3", ("a", "c"), (4.0, 4.0), ()),
    )
    batch = Batches(data, Vocabulary(tuple("abcd")), 6).take(np.arange(3))
    assert batch.ids.tolist() == [
        [BOS, A, B, 7, 7, EOS],
        [BOS, C, C, C, C, EOS],
        [BOS, A, C, EOS, PAD, PAD],
    ]
    assert batch.times[0].tolist() == [0.0, 0.0, 0.0, 0.0, 3.0, 3.0]
    assert kept_attributes(data, 6).tolist() == [2, 0, 0]


def test_an_event_stays_beside_attributes_however_short_the_cut_is() -> None:
    data = _with_attributes(EventSequence("1", tuple("abcd"), (0.0, 0.0, 0.0, 1.0), ()))
    assert _taken(data, 0, max_length=3).ids.tolist() == [[BOS, UNK, EOS]]
    assert _taken(data, 0, max_length=4).ids.tolist() == [[BOS, A, UNK, EOS]]


def test_values_of_a_cut_sequence_stay_with_their_events() -> None:
    values = tuple((float(at),) for at in range(4))
    data = _with_attributes(EventSequence("1", tuple("accc"), (0.0, 0.0, 1.0, 2.0), (), values))
    assert _taken(data, 0, max_length=4).values[0, :, 0].tolist() == [0.0, 0.0, 3.0, 3.0]


def test_cut_sequences_are_counted_in_a_warning(tiny: EventDataset) -> None:
    with pytest.warns(
        EventCargoWarning, match="2 sequences of 4 longer than 1 event: of each only the last 1"
    ):
        report_cuts(tiny, 3)


def test_sequence_that_just_fits_is_not_cut(tiny: EventDataset) -> None:
    assert Batches(tiny, ABC, 5).lengths.tolist() == [3, 5, 2, 4]


def test_length_without_room_for_events_is_refused_with_its_value(tiny: EventDataset) -> None:
    with pytest.raises(ConfigError, match=r"max_length=2 .* use 3 or more"):
        Batches(tiny, ABC, 2)


def _rectangle(batches: Batches, rows: np.ndarray) -> int:
    return int(batches.lengths[rows].max()) * len(rows)


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 200))
def test_packing_in_order_keeps_every_row_once_and_in_order(lengths: list[int], tokens: int) -> None:
    batches = Batches(_of_lengths(lengths), ABC, 64)
    packed = [row for rows in batches.in_order(tokens) for row in rows]
    assert packed == list(range(len(lengths)))


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 200), st.integers(0, 9))
def test_shuffling_keeps_every_row_once(lengths: list[int], tokens: int, seed: int) -> None:
    batches = Batches(_of_lengths(lengths), ABC, 64)
    packed = [row for rows in batches.shuffled(tokens, np.random.default_rng(seed)) for row in rows]
    assert sorted(packed) == list(range(len(lengths)))


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 200))
def test_rectangles_have_at_most_the_tokens_or_one_row(lengths: list[int], tokens: int) -> None:
    batches = Batches(_of_lengths(lengths), ABC, 64)
    shuffled = batches.shuffled(tokens, np.random.default_rng(0))
    for rows in [*batches.in_order(tokens), *shuffled]:
        assert len(rows) == 1 or _rectangle(batches, rows) <= tokens


def test_packing_fills_the_rectangle_up_to_the_tokens() -> None:
    batches = Batches(_of_lengths([8] * 10), ABC, 64)
    assert [len(rows) for rows in batches.in_order(40)] == [4, 4, 2]


def test_shuffled_batches_hardly_pad() -> None:
    lengths = np.random.default_rng(0).integers(10, 200, 500)
    batches = Batches(_of_lengths(lengths.tolist()), ABC, 256)
    areas = [_rectangle(batches, rows) for rows in batches.shuffled(2_000, np.random.default_rng(0))]
    assert sum(areas) < 1.15 * batches.lengths.sum()


def _order(batches: Batches, seed: int) -> list[list[int]]:
    return [rows.tolist() for rows in batches.shuffled(60, np.random.default_rng(seed))]


def test_same_generator_gives_the_same_batches(hundred: EventDataset) -> None:
    batches = Batches(hundred, ABC, 16)
    assert _order(batches, 5) == _order(batches, 5)


def test_other_generator_gives_other_batches(hundred: EventDataset) -> None:
    batches = Batches(hundred, ABC, 16)
    assert sorted(map(sorted, _order(batches, 5))) != sorted(map(sorted, _order(batches, 6)))


def test_shuffled_batches_do_not_come_by_length() -> None:
    batches = Batches(_of_lengths([2, 4, 8, 16, 32, 60]), ABC, 64)
    widths = [int(batches.lengths[rows].max()) for rows in batches.shuffled(1, np.random.default_rng(0))]
    assert widths != sorted(widths)


def _valued(*rows: tuple[float, ...]) -> EventDataset:
    """A sequence for each row, with one event for each value."""
    return EventDataset.from_sequences(
        [
            EventSequence(
                f"{i:03}", ("a",) * len(row), tuple(map(float, range(len(row)))), (), tuple((v,) for v in row)
            )
            for i, row in enumerate(rows)
        ],
        value_names=["mileage"],
    )


def test_bos_has_the_first_value_eos_the_last_and_padding_zero() -> None:
    values = _taken(_valued((3.0, 5.0), (7.0,)), 0, 1).values
    assert values[..., 0].tolist() == [[3, 3, 5, 5], [7, 7, 7, 0]]
    assert values.dtype == np.float32


def test_values_not_recorded_stay_so() -> None:
    values = _taken(_valued((np.nan, 5.0)), 0).values[0, :, 0]
    np.testing.assert_array_equal(values, [np.nan, np.nan, 5, 5])


def test_a_sequence_without_events_has_no_value_recorded() -> None:
    values = _taken(_valued((), (2.0, 3.0)), 0, 1).values[0, :, 0]
    np.testing.assert_array_equal(values, [np.nan, np.nan, 0, 0])


def test_values_of_a_cut_sequence_are_those_of_the_events_shown() -> None:
    batches = Batches(_valued((1.0, 2.0, 3.0)), ABC, 4)
    assert batches.take(np.array([0])).values[0, :, 0].tolist() == [2, 2, 3, 3]


def test_a_batch_without_value_columns_has_an_axis_of_none(tiny: EventDataset) -> None:
    made = _taken(tiny, 0, 1)
    assert made.values.shape == (2, 5, 0)
    assert Batch(made.ids, made.times, made.lengths, made.labels).values.shape == (2, 5, 0)
