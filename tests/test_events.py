import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import train_test_split

from eventcargo import ConfigError, DataError, EventDataset, EventSequence
from eventcargo.events import Ragged, _binary_rows

from .repeats import torn


def _ids(data: EventDataset) -> list[str]:
    return [sequence.id for sequence in data]


def test_names_and_sequences_are_sorted(tiny: EventDataset) -> None:
    assert _ids(tiny) == ["car1", "car2", "car3", "car4"]
    assert (tiny.event_names, tiny.label_names) == (("a", "b", "c"), ("brake", "fuel"))


def test_order_of_the_input_changes_nothing(tiny: EventDataset) -> None:
    again = EventDataset.from_sequences(list(tiny)[::-1])
    assert list(again) == list(tiny)


def test_sequence_by_id_has_its_names(tiny: EventDataset) -> None:
    expected = EventSequence("car2", ("b", "a", "b"), (0.0, 1.0, 2.5), ("brake", "fuel"))
    assert tiny["car2"] == expected


def test_negative_position_counts_from_the_end(tiny: EventDataset) -> None:
    assert tiny[-1].id == "car4"


@pytest.mark.parametrize("position", [4, -5])
def test_position_outside_is_an_index_error_with_its_value(tiny: EventDataset, position: int) -> None:
    with pytest.raises(IndexError, match=f"position {position} of 4"):
        tiny[position]


def test_unknown_id_is_a_key_error_with_its_name(tiny: EventDataset) -> None:
    with pytest.raises(KeyError, match="no sequence 'car9' among 4"):
        tiny["car9"]


def test_label_given_twice_counts_once() -> None:
    first, second = EventSequence("s", (), (), ("m", "l", "m")), EventSequence("t", (), (), ("m",))
    data = EventDataset.from_sequences([first, second])
    assert (data["s"].labels, data["t"].labels) == (("l", "m"), ("m",))


def test_unequal_events_and_times_are_refused_with_both_counts() -> None:
    sequences = [EventSequence("s", ("a", "b"), (0.0,), ()), EventSequence("t", ("a",), (0.0, 1.0), ())]
    with pytest.raises(DataError, match="'s' has 2 events but 1 time;"):
        EventDataset.from_sequences(sequences)


def test_repeated_id_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="'s' appears twice"):
        EventDataset.from_sequences([EventSequence("s", (), (), ())] * 2)


def test_lengths_and_number_of_events(tiny: EventDataset) -> None:
    assert tiny.lengths.tolist() == [1, 3, 0, 2]
    assert tiny.n_events == 6


def test_support_counts_sequences(tiny: EventDataset) -> None:
    assert tiny.support.tolist() == [3, 1]


def test_support_is_that_of_the_selection(tiny: EventDataset) -> None:
    assert tiny.select(["car1", "car4"]).support.tolist() == [1, 0]


def test_select_by_ids_keeps_the_order_asked_for(tiny: EventDataset) -> None:
    assert _ids(tiny.select(["car4", "car1"])) == ["car4", "car1"]


def test_select_by_mask(tiny: EventDataset) -> None:
    assert _ids(tiny.select(np.array([True, False, False, True]))) == ["car1", "car4"]


def test_select_by_positions_counts_negative_ones_from_the_end(tiny: EventDataset) -> None:
    assert _ids(tiny.select([-1, 0])) == ["car4", "car1"]


def test_select_of_a_selection_is_relative_to_it(tiny: EventDataset) -> None:
    assert list(tiny.select([3, 1]).select([1])) == [tiny["car2"]]


def test_select_of_nothing_is_empty(tiny: EventDataset) -> None:
    assert len(tiny.select([])) == 0


@pytest.mark.parametrize("position", [4, -5])
def test_select_outside_is_refused_with_the_position(tiny: EventDataset, position: int) -> None:
    with pytest.raises(ConfigError, match=f"position {position} of 4"):
        tiny.select([0, position])


@pytest.mark.parametrize("size", [0, 3])
def test_mask_of_another_length_is_refused_with_its_shape(tiny: EventDataset, size: int) -> None:
    with pytest.raises(ConfigError, match=rf"shape \({size},\) for 4"):
        tiny.select(np.zeros(size, bool))


def test_unknown_ids_are_refused_with_count_and_first_name(tiny: EventDataset) -> None:
    with pytest.raises(DataError, match=r"2 of 3 sequence ids .* the first: 'x'"):
        tiny.select(["car1", "x", "y"])


def test_select_does_not_copy_the_columns(tiny: EventDataset) -> None:
    part = tiny.select([3, 1])
    for name in ("events", "times", "labels"):
        assert np.shares_memory(getattr(part, name), getattr(tiny, name))


def test_slice_selects_by_position(tiny: EventDataset) -> None:
    assert _ids(tiny[::-2]) == ["car4", "car2"]


@pytest.mark.parametrize("name", ["events", "times", "labels", "support"])
def test_columns_cannot_be_written(tiny: EventDataset, name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(tiny, name)[0] = 1


def test_flat_of_consecutive_sequences_is_a_view(tiny: EventDataset) -> None:
    assert np.shares_memory(tiny[1:3].flat()[1], tiny.events)


def test_flat_of_a_reordered_selection_is_in_its_order(tiny: EventDataset) -> None:
    offsets, events, times = tiny.select(["car4", "car3", "car2"]).flat()
    assert offsets.tolist() == [0, 2, 2, 5]
    assert events.tolist() == [2, 0, 1, 0, 1]
    assert times.tolist() == [1.0, 1.0, 0.0, 1.0, 2.5]


def test_gather_of_overlapping_rows_repeats_them() -> None:
    rows = Ragged(np.array([1, 0]), np.array([3, 2]))
    assert rows.gather(np.array([10, 11, 12])).tolist() == [11, 12, 10, 11]


def test_presence_counts_a_repeated_event_once(tiny: EventDataset) -> None:
    assert tiny.presence().toarray().tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]]


def test_presence_of_a_selection_has_its_rows(tiny: EventDataset) -> None:
    assert tiny.select([3, 1]).presence().toarray().tolist() == [[1, 0, 1], [1, 1, 0]]


def test_presence_leaves_the_order_of_events_alone(tiny: EventDataset) -> None:
    tiny.presence()
    assert tiny.events.tolist() == [0, 1, 0, 1, 2, 0]


def test_matrix_never_sorts_the_columns_it_was_given() -> None:
    # Offsets of 32 bits are those with which scipy would take the columns without a copy of its own.
    columns = np.array([2, 0], np.int32)
    _binary_rows(np.array([0, 2], np.int32), columns, 3)
    assert columns.tolist() == [2, 0]


def test_label_matrix_by_hand(tiny: EventDataset) -> None:
    assert tiny.label_matrix().toarray().tolist() == [[0, 0], [1, 1], [1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("fractions", "sizes"),
    [((0.8,), [80, 20]), ((0.6, 0.2), [60, 20, 20]), ((0.5, 0.5), [50, 50]), ((1.0,), [100])],
)
def test_split_has_the_sizes_asked_for(
    hundred: EventDataset, fractions: tuple[float, ...], sizes: list[int]
) -> None:
    assert [len(part) for part in hundred.split(*fractions)] == sizes


def test_split_always_leaves_a_last_part_for_the_rest(tiny: EventDataset) -> None:
    assert [len(part) for part in tiny.split(0.99)] == [4, 0]


def test_parts_are_disjoint_and_cover_all(hundred: EventDataset) -> None:
    assert sorted(name for part in hundred.split(0.5, 0.3) for name in _ids(part)) == _ids(hundred)


def test_split_is_the_same_for_the_same_seed(hundred: EventDataset) -> None:
    assert _ids(hundred.split(0.5, seed=3)[0]) == _ids(hundred.split(0.5, seed=3)[0])


def test_split_is_another_for_another_seed(hundred: EventDataset) -> None:
    assert _ids(hundred.split(0.5, seed=3)[0]) != _ids(hundred.split(0.5, seed=4)[0])


@pytest.mark.parametrize("fractions", [(), (0.0,), (-0.1,), (0.7, 0.4), (float("nan"),)])
def test_impossible_fractions_are_refused(hundred: EventDataset, fractions: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match="fractions="):
        hundred.split(*fractions)


def test_folds_are_disjoint_and_cover_all(hundred: EventDataset) -> None:
    assert sorted(name for _, fold in hundred.folds(6) for name in _ids(fold)) == _ids(hundred)


def test_rest_and_fold_make_up_the_data(hundred: EventDataset) -> None:
    for rest, fold in hundred.folds(6):
        assert sorted(_ids(rest) + _ids(fold)) == _ids(hundred)


def test_folds_differ_in_size_by_one_at_most(hundred: EventDataset) -> None:
    assert sorted(len(fold) for _, fold in hundred.folds(6)) == [16, 16, 17, 17, 17, 17]


def test_folds_are_the_same_for_the_same_seed(hundred: EventDataset) -> None:
    first, second = ([_ids(fold) for _, fold in hundred.folds(3, seed=1)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("k", [1, 5])
def test_impossible_number_of_folds_is_refused_with_its_value(tiny: EventDataset, k: int) -> None:
    with pytest.raises(ConfigError, match=f"k={k} folds of 4"):
        tiny.folds(k)


def test_as_many_folds_as_sequences_are_allowed(tiny: EventDataset) -> None:
    assert [len(fold) for _, fold in tiny.folds(4)] == [1, 1, 1, 1]


def test_chunks_follow_each_other(tiny: EventDataset) -> None:
    assert [_ids(chunk) for chunk in tiny.chunks(3)] == [["car1", "car2", "car3"], ["car4"]]


@pytest.mark.parametrize("size", [0, -1])
def test_chunk_size_below_one_is_refused_with_its_value(tiny: EventDataset, size: int) -> None:
    with pytest.raises(ConfigError, match=f"size={size}"):
        tiny.chunks(size)


def test_repr_gives_counts_and_ranges(tiny: EventDataset) -> None:
    text = repr(tiny)
    assert "4 sequences, 6 events of 3 types, 2 labels" in text
    assert "0 to 3, median 1" in text
    assert "1.00 on average, 1 sequences without" in text
    assert "numbers, 0 to 5" in text


def test_repr_gives_dates_as_days() -> None:
    times = (0.0, 86_400.0 * 365)
    data = EventDataset.from_sequences([EventSequence("s", ("a", "b"), times, ())], time_kind="datetime")
    assert "1970-01-01 to 1971-01-01" in repr(data)


def test_repr_of_times_that_are_an_order_says_so() -> None:
    data = EventDataset.from_sequences([EventSequence("s", ("a",), (0.0,), ())], time_kind="order")
    assert "the order of rows" in repr(data)


def test_empty_dataset_can_be_used() -> None:
    data = EventDataset.from_sequences([])
    assert (len(data), data.n_events, list(data), data.presence().shape) == (0, 0, [], (0, 0))
    assert "0 sequences" in repr(data)
    assert [len(part) for part in data.split(0.5)] == [0, 0]


@pytest.fixture
def grouped(hundred: EventDataset) -> EventDataset:
    """A hundred sequences of thirty groups of one to six, far apart in the order of sequences."""
    return hundred.in_groups(np.random.default_rng(0).integers(30, size=len(hundred)))


def test_split_tears_no_group_apart(grouped: EventDataset) -> None:
    parts = grouped.split(0.5, 0.3)
    assert sum(map(len, parts)) == len(grouped)
    assert torn(*parts) == set()


def test_split_by_group_has_about_the_sizes_asked_for(grouped: EventDataset) -> None:
    assert [len(part) for part in grouped.split(0.5, 0.3)] == pytest.approx([50, 30, 20], abs=5)


def test_folds_tear_no_group_apart(grouped: EventDataset) -> None:
    folds = list(grouped.folds(5))
    assert all(torn(rest, fold) == set() for rest, fold in folds)
    assert sorted(name for _, fold in folds for name in _ids(fold)) == _ids(grouped)


def test_more_folds_than_groups_are_refused(hundred: EventDataset) -> None:
    with pytest.raises(ConfigError, match="k=5 folds of 4 groups; use 2 to 4"):
        hundred.in_groups(np.arange(100) % 4).folds(5)


def test_a_draw_is_the_same_within_a_group_and_another_elsewhere(grouped: EventDataset) -> None:
    draw = grouped.group_draw(np.random.default_rng(0))
    pairs = set(zip(grouped.group_numbers.tolist(), draw.tolist(), strict=True))
    assert len(pairs) == grouped.n_groups == len(set(draw.tolist()))


def test_groups_of_one_sequence_change_no_split(hundred: EventDataset) -> None:
    alone = hundred.in_groups(np.arange(100)[::-1])
    assert _ids(alone.split(0.3, 0.3)[1]) == _ids(hundred.split(0.3, 0.3)[1])
    assert [_ids(fold) for _, fold in alone.folds(3)] == [_ids(fold) for _, fold in hundred.folds(3)]
    draws = (data.group_draw(np.random.default_rng(1)).tolist() for data in (alone, hundred))
    assert next(draws) == next(draws)


def test_the_numbers_of_groups_do_not_matter(grouped: EventDataset) -> None:
    assert grouped.groups is not None
    renamed = grouped.in_groups(1000 - 7 * grouped.groups)
    assert _ids(renamed.split(0.5)[0]) == _ids(grouped.split(0.5)[0])


def test_group_numbers_of_another_length_are_refused(tiny: EventDataset) -> None:
    with pytest.raises(ConfigError, match="3 group numbers for 4 sequences"):
        tiny.in_groups([0, 1, 2])


def test_repr_tells_the_number_of_groups(tiny: EventDataset) -> None:
    assert "4 sequences of 2 groups, 6 events" in repr(tiny.in_groups([0, 0, 1, 1]))
    assert "4 sequences, 6 events" in repr(tiny)


def test_rows_are_selected_as_in_an_array(hundred: EventDataset) -> None:
    expected = [hundred.sequence_ids[row].as_py() for row in (5, 0, 7)]
    mask = np.zeros(len(hundred), bool)
    mask[[0, 5, 7]] = True
    for rows in (np.array([5, 0, 7]), [5, 0, 7], (np.array([5, 0, 7]), ...)):
        assert hundred[rows].sequence_ids.to_pylist() == expected
    assert hundred[mask].sequence_ids.to_pylist() == sorted(expected)
    for column in (pl.Series(mask), pd.Series(mask, index=np.arange(100)[::-1]), pl.Series(sorted(expected))):
        assert hundred[column].sequence_ids.to_pylist() == sorted(expected)
    assert hundred.shape == (100,)


def test_columns_cannot_be_selected(hundred: EventDataset) -> None:
    for key in ((slice(None), 0), (1, 2, ...), ()):
        with pytest.raises(TypeError, match="rows alone"):
            hundred[key]


def test_scikit_learn_takes_rows_apart(hundred: EventDataset) -> None:
    train, test = train_test_split(hundred, test_size=0.25, random_state=0)
    assert (type(train), len(train), len(test)) == (EventDataset, 75, 25)
    assert {*train.sequence_ids.to_pylist()}.isdisjoint(test.sequence_ids.to_pylist())


def test_ids_in_parts_give_the_fingerprint_of_all_at_once(
    tiny: EventDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tiny.select(np.arange(4)).fingerprint
    monkeypatch.setattr("eventcargo.events.SAVED_AT_ONCE", 3)
    divided = tiny.select(np.arange(4))
    assert list(divided.ids()) == _ids(tiny)
    assert divided.fingerprint == whole
