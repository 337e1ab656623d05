import numpy as np
import pytest

from eventcargo.errors import ConfigError
from eventcargo.simulation.arrangement import (
    UNUSED,
    ArrangedConfig,
    DenseConfig,
    Roles,
    flatten,
    in_order,
    shuffled_places,
)


def test_rows_are_sorted_by_place_with_unused_entries_last() -> None:
    table = np.array([[4, UNUSED, 6], [7, 8, 9]], np.int32)
    ordered, order = in_order(table, np.array([[2.0, 0.0, 1.0], [0.5, 2.0, 1.0]]))
    assert ordered.tolist() == [[6, 4, UNUSED], [7, 9, 8]]
    assert order.tolist() == [[2, 0, 1], [0, 2, 1]]


def test_unused_entries_are_left_out_of_the_flat_column() -> None:
    lengths, events = flatten(np.array([[6, 4, UNUSED], [7, 9, 8]], np.int32))
    assert (lengths.tolist(), events.tolist()) == ([2, 3], [6, 4, 7, 9, 8])


def test_places_are_a_permutation_in_each_row() -> None:
    places = shuffled_places(np.random.default_rng(0), (5, 7))
    assert (np.sort(places, axis=1) == np.arange(7)).all()


def test_fillers_are_no_causes_and_as_many_as_asked_for() -> None:
    rng = np.random.default_rng(0)
    cast = Roles.draw(rng, DenseConfig())
    table = cast.draw_fillers(rng, np.array([3, 0, 5]))
    assert (table != UNUSED).sum(1).tolist() == [3, 0, 5]
    assert not np.isin(table, cast.causes).any()


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("sequences", 0, 1),
        ("labels", 0, 1),
        ("event_types", 9, 10),
        ("label_noise", 0.6, 0.5),
        ("length_min", 8, 9),
        ("length_max", 19, 20),
        ("label_share", 0.04, 0.05),
        ("label_share", 0.96, 0.95),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        ArrangedConfig(**{knob: refused})
    ArrangedConfig(**{knob: allowed})
