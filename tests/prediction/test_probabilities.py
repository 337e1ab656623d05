import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence
from eventcargo.errors import EventCargoWarning
from eventcargo.models.density import label_probabilities
from eventcargo.models.transformer.model import Transformer
from eventcargo.prediction import predict, unknown_events, warn_of_unknown


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
