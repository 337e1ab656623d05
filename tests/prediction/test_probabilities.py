import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence
from eventcargo.errors import EventCargoWarning
from eventcargo.event_kinds import EventKinds
from eventcargo.models.density import label_probabilities
from eventcargo.models.transformer.model import Transformer
from eventcargo.prediction import predict, prefix_probabilities, unknown_events, warn_of_unknown


def test_every_sequence_has_the_model_s_probabilities(either: Transformer, letters: EventDataset) -> None:
    with pytest.warns(EventCargoWarning, match="1 sequence"):
        table = predict(either, letters)
    assert table.columns == ["sequence_id", "L0", "L1"]
    assert table["sequence_id"].to_list() == letters.sequence_ids.to_pylist()
    with pytest.warns(EventCargoWarning, match="1 sequence"):
        expected = label_probabilities(either, letters)
    assert np.allclose(table.select("L0", "L1").to_numpy(), expected, atol=1e-6)


def test_labels_of_new_data_are_not_read(either: Transformer) -> None:
    data = EventDataset.from_sequences([EventSequence("s", ("a",), (0.0,), ("never heard of",))])
    assert predict(either, data)["L0"].item() > 0.9


def test_unknown_event_types_are_counted(either: Transformer) -> None:
    sequences = [("x", "x", "a"), ("x", "y"), ("a", "b")]
    data = EventDataset.from_sequences(
        [
            EventSequence(str(at), events, tuple(map(float, range(len(events)))), ())
            for at, events in enumerate(sequences)
        ]
    )
    found = unknown_events(either, data)
    assert found.rows() == [("x", 3, 2), ("y", 1, 1)]
    with pytest.warns(EventCargoWarning, match=r"2 event types, 57\.1% of all events: x \(3\), y \(1\)"):
        warn_of_unknown(found, data)
    assert unknown_events(either, data.select(["2"])).rows() == []


def test_progress_counts_sequences(either: Transformer, letters: EventDataset) -> None:
    told: list[tuple[float, float]] = []
    predict(either, letters[:50], progress=lambda _, done, total, __="", /: told.append((done, total)))
    assert told[-1] == (50, 50)


def test_the_last_of_a_sequence_s_prefix_probabilities_is_that_of_the_whole(
    either: Transformer, letters: EventDataset
) -> None:
    with pytest.warns(EventCargoWarning, match="1 sequence"):
        whole = predict(either, letters).select("L0", "L1").to_numpy()
    every = list(prefix_probabilities(either, letters))
    assert np.allclose([so_far[-1] for _, so_far in every], whole, atol=1e-6)
    assert [len(so_far) for _, so_far in every] == [len(places) + 2 for places, _ in every]


def test_prefix_probabilities_change_where_a_cause_occurs(either: Transformer) -> None:
    data = EventDataset.from_sequences([EventSequence("s", ("c", "a", "d"), (0.0, 1.0, 2.0), ())])
    ((places, so_far),) = prefix_probabilities(either, data)
    assert places.tolist() == [0, 1, 2]
    assert (so_far[:, 0] > 0.5).tolist() == [False, False, True, True, True]
    assert (so_far[:, 1] > 0.5).tolist() == [False, True, True, False, False]


def test_prefix_probabilities_stand_at_the_events_that_the_model_reads(either: Transformer) -> None:
    """Of a sequence that is cut, attributes and the last events are read."""
    events = ("age", *"cccccccccadd")
    data = EventDataset.from_sequences([EventSequence("s", events, tuple(map(float, range(13))), ())])
    ((places, _),) = prefix_probabilities(either, data)
    assert places.tolist() == list(range(5, 13))
    data.kinds = EventKinds(attributes=("age",))
    ((places, _),) = prefix_probabilities(either, data)
    assert places.tolist() == [0, *range(6, 13)]
