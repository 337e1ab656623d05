import warnings

import numpy as np
import pytest

from eventcargo import DataError, EventCargoWarning, EventDataset, EventSequence, Vocabulary
from eventcargo.models.base_rates import Rates
from eventcargo.models.huggingface import Backbone, HuggingFace
from eventcargo.models.huggingface.coverage import Coverage, NextEventLoss, next_event_loss
from eventcargo.models.huggingface.token_ids import TokenIds

from tests.models.huggingface.elsewhere import learn, llama, other_ids

CYCLE = tuple("abcdefgh")


def _data(*rows: tuple[str, ...]) -> EventDataset:
    return EventDataset.from_sequences(
        [
            EventSequence(f"{at:03}", row, tuple(map(float, range(len(row)))), ())
            for at, row in enumerate(rows)
        ]
    )


COUNTED = _data(("a", "b", "b"), ("b", "c", "d", "b"))


def test_coverage_counts_event_types_and_events() -> None:
    coverage = Coverage.of(COUNTED, TokenIds({"b": 4, "c": 5, "elsewhere": 6}))
    assert coverage == Coverage(2, 4, 5, 7, ("'a' (1 event)", "'d' (1 event)"))


def test_an_event_type_that_does_not_occur_does_not_count() -> None:
    assert Coverage.of(COUNTED[:1], TokenIds({"b": 4})) == Coverage(1, 2, 2, 3, ("'a' (1 event)",))


def test_too_small_a_share_is_refused_with_names_and_remedy() -> None:
    coverage = Coverage.of(COUNTED, TokenIds({"a": 4, "c": 5}))
    with pytest.raises(
        DataError,
        match=r"knows 2 of 4 event types and 28\.6% of the events, less than min_coverage=0\.3; "
        r"unknown are 'b' \(4 events\), 'd' \(1 event\); .* by ids= or codes=, or lower min_coverage=",
    ):
        coverage.check(0.3, has_unk=True)


@pytest.mark.parametrize(
    ("has_unk", "words"), [(True, "read as its UNK"), (False, "left out of what it reads, as it has no UNK")]
)
def test_unknown_event_types_are_named_in_a_warning(has_unk: bool, words: str) -> None:
    coverage = Coverage.of(COUNTED, TokenIds({"a": 4, "c": 5, "b": 6}))
    with pytest.warns(
        EventCargoWarning, match=rf"3 of 4 event types .*; the others are {words}: 'd' \(1 event\)"
    ):
        coverage.check(0.8, has_unk=has_unk)


def test_a_model_that_knows_everything_gets_no_warning() -> None:
    Coverage.of(COUNTED, TokenIds(dict(zip("abcd", range(4), strict=True)))).check(1.0, has_unk=True)


def test_a_model_that_predicts_worse_than_frequencies_is_warned_about_with_both_losses() -> None:
    with pytest.warns(
        EventCargoWarning, match=r"\(2\.50 against 2\.00 nats an event, on 1 event\): .* mixed up"
    ):
        NextEventLoss(2.5, 2.0, 0.1, 1).warn_if_worse()
    NextEventLoss(2.0, 2.5, 0.1, 1).warn_if_worse()
    NextEventLoss(2.5, 2.0, 0.2, 1).warn_if_worse()
    NextEventLoss(2.01, 2.0, 0.0, 1).warn_if_worse()


@pytest.fixture(scope="module")
def cycles() -> EventDataset:
    """Sequences in which each event is followed by the next letter, from a random one on."""
    starts = np.random.default_rng(0).integers(0, 8, 200)
    return _data(*(tuple(CYCLE[(start + at) % 8] for at in range(10)) for start in starts.tolist()))


def test_only_events_that_the_model_can_predict_count(cycles: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(cycles)
    model = HuggingFace(Backbone(llama(12), TokenIds(other_ids(CYCLE))), vocabulary, ())  # has no EOS
    rates = Rates.of(cycles, vocabulary).events
    found = next_event_loss(model, cycles, rates)
    assert found.events == cycles.n_events
    assert found.frequencies == pytest.approx(np.log(8), abs=0.01)
    assert next_event_loss(model, _data(()), rates) == NextEventLoss(0.0, 0.0, 0.0, 0)


def test_mixed_up_names_and_ids_are_noticed(cycles: EventDataset) -> None:
    ids = other_ids(CYCLE)
    trained = learn(llama(12), cycles, ids, steps=40)
    vocabulary = Vocabulary.from_dataset(cycles)
    mixed = dict(zip(ids, [*list(ids.values())[1:], next(iter(ids.values()))], strict=True))
    swapped = {**mixed, "a": mixed["d"], "d": mixed["a"], "c": mixed["g"], "g": mixed["c"]}
    losses = []
    for events in (ids, swapped):
        backbone = Backbone(trained, TokenIds(events, bos=3, eos=2, unk=1, pad=0))
        model = HuggingFace(backbone, vocabulary, ())
        losses.append(next_event_loss(model, cycles, Rates.of(cycles, vocabulary).events))
    right, wrong = losses
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right.warn_if_worse()
    assert right.frequencies == wrong.frequencies == pytest.approx(np.log(8), abs=0.2)
    with pytest.warns(EventCargoWarning, match="names and ids may be mixed up"):
        wrong.warn_if_worse()
