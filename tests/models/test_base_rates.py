import math

import pytest

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.models import base_rates
from eventcargo.models.base_rates import Rates, ValueScales
from eventcargo.vocabulary import EOS


def test_ids_are_counted_with_the_ends(tiny: EventDataset) -> None:
    rates = Rates.of(tiny, Vocabulary(("a", "b", "c")))
    assert rates.events.sum() == pytest.approx(1)
    assert rates.events[EOS] / rates.events[4] == pytest.approx(4.5 / 3.5)


def test_labels_have_half_an_example_more(tiny: EventDataset) -> None:
    assert Rates.of(tiny, Vocabulary(("a",))).labels.tolist() == [3.5 / 5, 1.5 / 5]


def test_sequences_of_unknown_labels_do_not_count(tiny: EventDataset) -> None:
    assert Rates.of(tiny, Vocabulary(("a",)), unlabelled=True).labels.tolist() == [3.5 / 4, 1.5 / 4]


def test_the_unit_of_time_is_the_median_gap_within_sequences() -> None:
    data = EventDataset.from_sequences(
        [
            EventSequence("a", ("x",) * 2, (0.0, 1.0), ()),
            EventSequence("b", ("x",) * 2, (1000.0, 1003.0), ()),
            EventSequence("c", (), (), ()),
        ]
    )
    assert Rates.of(data, Vocabulary(("x",))).time_scale == 2.0


def test_scales_are_those_of_the_first_events(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [(0.0, 1.0), (0.0, 1.0), (0.0, 9.0), (0.0, 9.0), (0.0, 9.0)]
    rows = [EventSequence(f"{at}", ("x", "x"), own, ()) for at, own in enumerate(times)]
    data = EventDataset.from_sequences(rows)
    assert Rates.of(data, Vocabulary(("x",))).time_scale == 9.0
    monkeypatch.setattr(base_rates, "EVENTS_FOR_SCALES", 5)
    assert Rates.of(data, Vocabulary(("x",))).time_scale == 1.0


def test_times_that_never_pass_have_the_unit_one() -> None:
    data = EventDataset.from_sequences([EventSequence("a", ("x", "x"), (5.0, 5.0), ())])
    assert Rates.of(data, Vocabulary(("x",))).time_scale == 1.0


def _scales(*columns: list[list[float]]) -> ValueScales:
    """The scales of sequences given by the values of one column."""
    sequences = [
        EventSequence(f"{i:03}", ("x",) * len(row), tuple(map(float, row)), (), tuple((v,) for v in row))
        for i, row in enumerate(*columns)
    ]
    return ValueScales.of(EventDataset.from_sequences(sequences, value_names=["mileage"]))


def test_middle_and_spread_are_those_of_the_middle_half() -> None:
    scales = _scales([[0.0, 10.0, 20.0], [30.0, 1e6]])
    assert (scales.middle.tolist(), scales.spread.tolist()) == ([20.0], [20.0])


def test_the_usual_change_is_the_median_of_those_within_sequences() -> None:
    assert _scales([[0.0, 2.0, 2.0, 2.0, -2.0], [1000.0, 1006.0]]).change.tolist() == [4.0]


def test_values_not_recorded_count_in_no_scale() -> None:
    scales = _scales([[math.nan, 0.0, 10.0, math.nan, 20.0]])
    assert (scales.middle.item(), scales.spread.item(), scales.change.item()) == (10.0, 10.0, 10.0)


@pytest.mark.parametrize("row", [[7.0, 7.0], [7.0], [math.nan, math.nan], []])
def test_a_column_that_does_not_vary_has_the_spread_one(row: list[float]) -> None:
    scales = _scales([row])
    assert (scales.spread.item(), scales.change.item()) == (1.0, 1.0)
    assert scales.middle.item() == (7.0 if 7.0 in row else 0.0)


def test_rates_hold_the_scales_of_every_column(tiny: EventDataset) -> None:
    assert Rates.of(tiny, Vocabulary(("a",))).values.middle.shape == (0,)
