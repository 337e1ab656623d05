import math

import numpy as np
import pytest

from eventcargo import ConfigError, DataError, EventDataset, EventSequence

DRIVEN = [
    EventSequence("car2", ("a",), (0.0,), (), ((700.0, 20.5),)),
    EventSequence("car1", ("a", "b"), (0.0, 1.0), (), ((10.0, math.nan), (30.0, -4.0))),
    EventSequence("car3", (), (), ()),
]


@pytest.fixture
def driven() -> EventDataset:
    """Three sequences with two value columns."""
    return EventDataset.from_sequences(DRIVEN, value_names=("mileage", "temperature"))


def test_values_are_parallel_to_the_events(driven: EventDataset) -> None:
    assert driven.value_names == ("mileage", "temperature")
    np.testing.assert_array_equal(driven.values, [[10, math.nan], [30, -4], [700, 20.5]])


def test_a_sequence_has_its_values(driven: EventDataset) -> None:
    assert driven["car2"].values == ((700.0, 20.5),)
    assert driven["car3"].values == ()


def test_a_sequence_of_data_without_value_columns_has_none(tiny: EventDataset) -> None:
    assert tiny["car2"].values == ()
    assert tiny.values.shape == (6, 0)
    assert tiny.value_names == ()


def test_the_order_of_sequences_changes_no_value(driven: EventDataset) -> None:
    again = EventDataset.from_sequences(DRIVEN[::-1], value_names=driven.value_names)
    np.testing.assert_array_equal(again.values, driven.values)


def test_a_selection_is_a_view_on_the_values(driven: EventDataset) -> None:
    chosen = driven.select(["car2"])
    assert np.shares_memory(chosen.values, driven.values)
    assert chosen["car2"] == driven["car2"]
    assert chosen.value_names == driven.value_names


def test_every_split_and_chunk_keeps_the_values(driven: EventDataset) -> None:
    parts = [*driven.split(0.5), *driven.chunks(2)]
    assert all(part.value_names == driven.value_names for part in parts)


def test_values_cannot_be_written_over(driven: EventDataset) -> None:
    with pytest.raises(ValueError, match="read-only"):
        driven.values[0, 0] = 1.0


def test_the_columns_are_named_where_there_are_any(driven: EventDataset, tiny: EventDataset) -> None:
    assert "mileage, temperature" in repr(driven)
    assert "values" not in repr(tiny)


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ((), "0 values for 2 events and 1 value name;"),
        (((1.0,),), "1 value for 2 events and 1 value name;"),
        (((1.0,), (2.0, 3.0)), "3 values for 2 events and 1 value name;"),
    ],
)
def test_an_event_with_too_few_or_too_many_values_is_refused(
    values: tuple[tuple[float, ...], ...], counts: str
) -> None:
    with pytest.raises(DataError, match=f"'s' has {counts}"):
        EventDataset.from_sequences(
            [EventSequence("s", ("a", "b"), (0.0, 1.0), (), values)], value_names=["mileage"]
        )


def test_values_without_a_name_are_refused() -> None:
    with pytest.raises(DataError, match="'car1' has 4 values for 2 events and 0 value names"):
        EventDataset.from_sequences(DRIVEN)


def test_an_infinite_value_is_refused() -> None:
    endless = EventSequence("s", ("a",), (0.0,), (), ((-math.inf,),))
    with pytest.raises(DataError, match="a value is -inf"):
        EventDataset.from_sequences([endless], value_names=["mileage"])


def test_one_text_in_place_of_names_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'mileage', one text; give a list: \['mileage'\]"):
        EventDataset.from_sequences([], value_names="mileage")


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="'mileage' is named 2 times"):
        EventDataset.from_sequences([], value_names=["mileage", "mileage"])
