from pathlib import Path

import numpy as np
import pytest

from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.models.density import label_probabilities
from eventcargo.models.training.trainer import TrainConfig, Training
from eventcargo.models.transformer.config import transformer_size
from eventcargo.simulation import simulate

SHAPE = transformer_size("tiny", max_length=96)
CONFIG = TrainConfig(steps=3, checks=1, trial=2)


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return simulate("window", sequences=2_500, labels=2, seed=100).data


@pytest.fixture(scope="module")
def trained(data: EventDataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[Training, Path]:
    folder = tmp_path_factory.mktemp("run")
    training = Training(data, CONFIG, SHAPE, run=folder)
    training.run()
    return training, folder


def test_labels_that_need_one_have_a_focused_network_and_the_transformer_is_not_tried(
    trained: tuple[Training, Path], data: EventDataset
) -> None:
    training, _ = trained
    account = training.quality.training if training.quality is not None else {}
    assert account["focused"] == list(data.label_names)
    assert account["helped"] == []
    assert account["steps"] == 0
    assert account["ended"] == "focused networks of 2 labels learned what the linear term leaves over"


def test_without_them_labels_are_predicted_worse(trained: tuple[Training, Path], data: EventDataset) -> None:
    plain = Training(data, CONFIG, transformer_size("tiny", max_length=96, focused=False))
    plain.run()
    assert plain.model.focused is None
    truth = data.label_matrix().toarray() > 0
    right = [((label_probabilities(each.model, data) > 0.5) == truth).mean() for each in (trained[0], plain)]
    assert right[0] > right[1] + 0.05


def test_networks_that_are_fitted_are_read_when_a_run_is_resumed(
    trained: tuple[Training, Path], data: EventDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, folder = trained

    def refuse(*_: object) -> None:
        raise AssertionError("fitted again")

    (folder / "checkpoint.safetensors").unlink()
    monkeypatch.setattr("eventcargo.models.training.focused_term.fit_focused", refuse)
    again = Training(data, CONFIG, SHAPE, run=folder, resume=True).run()
    one, other = (label_probabilities(model, data[:50]) for model in (training.model, again))
    assert np.array_equal(one, other)


def test_networks_of_other_settings_are_refused(trained: tuple[Training, Path], data: EventDataset) -> None:
    with pytest.raises(ConfigError):
        Training(data, TrainConfig(steps=4, checks=1, trial=2), SHAPE, run=trained[1], resume=True)
