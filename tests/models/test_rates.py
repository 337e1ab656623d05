import pytest

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.models.rates import Rates
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


def test_times_that_never_pass_have_the_unit_one() -> None:
    data = EventDataset.from_sequences([EventSequence("a", ("x", "x"), (5.0, 5.0), ())])
    assert Rates.of(data, Vocabulary(("x",))).time_scale == 1.0
