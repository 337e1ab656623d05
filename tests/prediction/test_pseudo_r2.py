import numpy as np
import pytest
from sklearn.metrics import log_loss

from eventcargo import DataError, EventDataset, EventSequence
from eventcargo.models import Oracle
from eventcargo.prediction import mean_pseudo_r2, predict
from eventcargo.prediction.pseudo_r2 import pseudo_r2
from eventcargo.simulation.exact import ExactConfig, ExactProcess


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=1)


@pytest.fixture(scope="module")
def data(process: ExactProcess) -> EventDataset:
    return process.sample(300, seed=2).data


def by_hand(process: ExactProcess, data: EventDataset, label: str, rows: np.ndarray) -> float:
    """The share by scikit-learn's log-loss of probabilities."""
    carried = np.array([label in sequence.labels for sequence in data])[rows]
    given = predict(Oracle(process), data)[label].to_numpy()[rows]
    return float(1 - log_loss(carried, given) / log_loss(carried, np.full(len(given), carried.mean())))


def test_it_is_the_share_of_the_base_rates_log_loss(process: ExactProcess, data: EventDataset) -> None:
    found = pseudo_r2(Oracle(process), data)
    every = np.arange(len(data))
    assert found == pytest.approx({name: by_hand(process, data, name, every) for name in data.label_names})
    assert mean_pseudo_r2(Oracle(process), data) == pytest.approx(np.mean(list(found.values())))


def test_sequences_for_which_a_label_is_unknown_do_not_count(
    process: ExactProcess, data: EventDataset
) -> None:
    known = np.ones((len(data), len(data.label_names)), bool)
    known[:100, 0] = data.label_matrix().toarray()[:100, 0] > 0
    found = pseudo_r2(Oracle(process), data.knowing(known))
    label = data.label_names[0]
    assert found[label] == pytest.approx(by_hand(process, data, label, np.flatnonzero(known[:, 0])))


def test_a_label_that_the_model_does_not_know_counts_as_the_base_rate(process: ExactProcess) -> None:
    event = process.sample(1, seed=1).data.event_names[0]
    data = EventDataset.from_sequences(
        [EventSequence("a", (event,), (0.0,), ("new",)), EventSequence("b", (event,), (0.0,), ())]
    )
    assert pseudo_r2(Oracle(process), data) == {"new": 0.0}


def test_sequences_among_which_no_label_varies_are_refused(process: ExactProcess, data: EventDataset) -> None:
    with pytest.raises(DataError, match="no prediction can be scored"):
        mean_pseudo_r2(Oracle(process), data.without_labels())
