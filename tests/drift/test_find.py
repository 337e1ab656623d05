"""Drift is found where it was planted, and not called where there is none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eventcargo import DataError, EventDataset, EventSequence
from eventcargo.drift import Drift, DriftConfig, find_drift, read_drift, write_drift
from eventcargo.drift.find import _has_grown
from eventcargo.drift.ratios import changed, n_noticeable, occurrence_rates, ratio_p_values
from eventcargo.models import Oracle
from eventcargo.simulation.exact import ExactConfig, ExactProcess

from ..repeats import repeated
from ..sealed import edit


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=1)


@pytest.fixture(scope="module")
def before(process: ExactProcess) -> EventDataset:
    return process.sample(1000, seed=1).data


@pytest.fixture(scope="module")
def new(process: ExactProcess) -> EventDataset:
    return process.sample(600, seed=2).data


def with_more(data: EventDataset, event: str, times: int = 2) -> EventDataset:
    """Every occurrence of an event type several times, in sequences no longer than the process makes them."""
    sequences, longest = [], int(data.lengths.max())
    for s in data:
        events = [e for name in s.events for e in [name] * (times if name == event else 1)][-longest:]
        sequences.append(replace(s, events=tuple(events), times=tuple(map(float, range(len(events))))))
    return EventDataset.from_sequences(sequences)


def test_sequences_of_the_same_process_are_no_drift(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    drift = find_drift(Oracle(process), before, new)
    assert not drift.is_out_of_date
    assert drift.sentence.startswith(
        "No sign that the model is out of date, by 600 new sequences; a doubling"
    )
    assert drift.n_event_types == len(before.event_names)


def test_an_event_type_that_occurs_twice_as_often_is_found_alone(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    event = before.event_names[3]
    drift = find_drift(Oracle(process), before, with_more(new, event))
    assert [one.name for one in drift.event_types] == [event]
    assert drift.event_types[0].ratio == pytest.approx(2, rel=0.2)
    assert f"({event} " in drift.sentence
    assert "train it anew" in drift.sentence


def test_an_event_type_that_is_gone_is_found(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    gone = before.event_names[0]
    rest = with_more(new, gone, times=0)
    assert gone not in rest.event_names
    assert gone in [one.name for one in find_drift(Oracle(process), before, rest).event_types]


def test_a_label_twice_as_frequent_as_expected_is_found(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    label = before.label_names[0]
    drift = find_drift(Oracle(process), before, twice_as_often(new, label))
    assert [one.name for one in drift.labels] == [label]
    assert drift.labels[0].ratio == pytest.approx(2, rel=0.25)


def twice_as_often(data: EventDataset, label: str) -> EventDataset:
    """As many sequences more carry a label as carry it."""
    rows = [at for at, s in enumerate(data) if label not in s.labels][: data.label_support[label]]
    sequences = [replace(s, labels=(*s.labels, label)) if at in set(rows) else s for at, s in enumerate(data)]
    return EventDataset.from_sequences(sequences)


def test_of_a_label_that_was_hardly_ever_seen_in_training_nothing_is_sure(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    label = before.label_names[0]
    without = before.select(np.array([label not in s.labels for s in before]))
    assert find_drift(Oracle(process), without, twice_as_often(new, label)).labels == ()


def test_copies_of_sequences_make_no_label_surer(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    twice = twice_as_often(new, before.label_names[0])
    alone, copies = (
        find_drift(Oracle(process), before, data).labels[0].p_value
        for data in (twice, repeated(twice, times=3))
    )
    assert np.log(copies) == pytest.approx(np.log(alone), rel=0.1)


def test_each_of_three_checks_has_a_third_of_alpha(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    more = with_more(new, before.event_names[3])
    whole = find_drift(Oracle(process), before, more)
    (change,) = whole.event_types
    sure = 3 * change.p_value * whole.n_event_types
    assert find_drift(Oracle(process), before, more, DriftConfig(alpha=1.01 * sure)).event_types == (change,)
    assert find_drift(Oracle(process), before, more, DriftConfig(alpha=0.99 * sure)).event_types == ()


@pytest.mark.parametrize(
    ("share", "variance", "has_grown"), [(0.02, 1e-9, True), (0.02, 1e-4, False), (0.005, 1e-9, False)]
)
def test_a_share_has_grown_if_it_is_larger_and_surely_so(
    share: float, variance: float, has_grown: bool
) -> None:
    assert _has_grown([(0.0, 0.0), (share, variance)], 0.01, 0.05) == has_grown


def test_new_event_types_are_found_by_their_share(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    draw = np.random.default_rng(0)
    sequences = [
        replace(s, events=tuple("NEW" if draw.random() < 0.1 else name for name in s.events)) for s in new
    ]
    drift = find_drift(Oracle(process), before, EventDataset.from_sequences(sequences))
    assert drift.is_more_unknown
    assert drift.unknown_types == ("NEW",)
    assert drift.unknown == pytest.approx(0.1, abs=0.02)
    assert "10" in drift.sentence or "9." in drift.sentence


def test_labels_that_are_not_known_are_not_missed(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    carried = new.label_matrix().toarray() > 0
    half = carried | (np.random.default_rng(0).random(carried.shape) < 0.5)
    bare = new.knowing(half)
    drift = find_drift(Oracle(process), before, bare)
    assert all(one.ratio > 1 for one in drift.labels)  # of half the sequences without it, as many carry it


def test_sequences_whose_labels_are_not_known_are_not_expected_to_carry_any(
    process: ExactProcess, before: EventDataset, new: EventDataset
) -> None:
    known = np.tile(np.arange(len(new))[:, None] % 3 == 0, (1, len(new.label_names)))
    sequences = [s if at % 3 == 0 else replace(s, labels=()) for at, s in enumerate(new)]
    bare = EventDataset.from_sequences(sequences)
    assert find_drift(Oracle(process), before, bare).labels != ()
    assert find_drift(Oracle(process), before, bare.knowing(known)).labels == ()


def test_copies_in_a_group_count_once(before: EventDataset) -> None:
    alone = occurrence_rates(before)
    copies = occurrence_rates(repeated(before, times=3))
    assert np.allclose(copies.rate, alone.rate)
    assert np.allclose(copies.log_variance, alone.log_variance, rtol=0.05)


def test_a_sure_but_small_change_is_none() -> None:
    assert ratio_p_values(np.log([1.24]), np.array([1e-9]), 1.25)[0] > 0.05
    assert ratio_p_values(np.log([1 / 1.3]), np.array([1e-9]), 1.25)[0] < 1e-6


def test_of_many_only_discoveries_count() -> None:
    assert changed(np.array([1e-5, 0.02, 0.5]), 0.05).tolist() == [True, True, False]
    assert changed(np.array([0.04, 0.5, 0.5]), 0.05).tolist() == [False, False, False]
    assert n_noticeable(np.array([1e-3, 10.0]), 0.05, 1.25) == 1


def test_drift_is_written_and_read(
    process: ExactProcess, before: EventDataset, new: EventDataset, tmp_path: Path
) -> None:
    drift = find_drift(Oracle(process), before, with_more(new, before.event_names[3]))
    assert read_drift(tmp_path) is None
    write_drift(tmp_path, drift)
    assert read_drift(tmp_path) == drift
    assert Drift.from_dict(drift.to_dict()) == drift
    edit(tmp_path / "drift.json", unknown="much")
    with pytest.raises(DataError, match="unknown"):
        read_drift(tmp_path)


def test_settings_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match="least_ratio"):
        DriftConfig(least_ratio=1.0)


def test_a_sequence_without_events_is_no_trouble(process: ExactProcess, before: EventDataset) -> None:
    empty = EventDataset.from_sequences([EventSequence("a", (), (), ()), EventSequence("b", (), (), ())])
    assert not find_drift(Oracle(process), before, empty).is_more_unknown
