from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eventcargo import (
    Cargo,
    ConfigError,
    DataError,
    EdgeTable,
    EventCargoWarning,
    EventDataset,
    discover,
    explain,
    train,
)
from eventcargo.discovery import DiscoverConfig
from eventcargo.models.density import label_probabilities, walk
from eventcargo.models.huggingface import Backbone, BackboneConfig, HuggingFace
from eventcargo.models.huggingface.token_ids import TokenIds
from eventcargo.models.loading import load_model
from eventcargo.models.training import Training
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.transformer.config import transformer_size
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.simulation import simulate
from eventcargo.vocabulary import Vocabulary

from tests.models.huggingface.elsewhere import llama, mamba, other_ids, write_model

pytestmark = pytest.mark.filterwarnings("ignore:the model from elsewhere predicts the next event worse")
# the models of these tests were never trained

TINY, QUICK = transformer_size("tiny"), TrainConfig(steps=4, checks=2, tokens=512)


def _chain(sequences: int = 120) -> EventDataset:
    return simulate("chain", sequences=sequences, labels=2, event_types=10, seed=100).data


def _backbone(data: EventDataset, make: Any = llama, *, without: int = 0, **knobs: Any) -> Backbone:
    names = data.event_names
    ids = TokenIds(other_ids(names[without:]), bos=3, eos=2, unk=1, pad=0)
    return Backbone(make(len(names) + 4, **knobs), ids, BackboneConfig(min_coverage=0.5))


@pytest.fixture(scope="module")
def chain() -> EventDataset:
    return _chain()


@pytest.fixture(scope="module")
def states() -> tuple[EventDataset, Backbone]:
    """Sequences whose label "seen" is a function of the state of a model from elsewhere; "chance" is none."""
    plain = _chain(600)
    backbone = _backbone(plain)
    model = HuggingFace(backbone, Vocabulary.from_dataset(plain), ())
    unlabelled = _with_labels(plain, np.zeros((len(plain), 0), bool), ())
    ends = np.concatenate([_end_states(model, batch) for _, batch in walk(model, unlabelled)])
    along = np.linalg.svd(ends - ends.mean(0), full_matrices=False)[0][:, 3]  # in no event type alone
    chance = np.random.default_rng(0).random(len(plain)) < 0.4
    return _with_labels(plain, np.stack([chance, along > 0], axis=1), ("chance", "seen")), backbone


def _end_states(model: HuggingFace, batch: Any) -> Any:
    with torch.no_grad():
        return model.states(batch)[0][torch.from_numpy(batch.at_end)].double().numpy()


def _with_labels(data: EventDataset, carried: Any, names: tuple[str, ...]) -> EventDataset:
    return EventDataset.from_sequences(
        [
            replace(one, labels=tuple(np.array(names)[row])) if names else replace(one, labels=())
            for one, row in zip(data, carried, strict=True)
        ]
    )


@pytest.mark.slow
def test_the_head_is_used_for_the_label_that_needs_the_states_and_not_for_chance(
    states: tuple[EventDataset, Backbone], tmp_path: Path
) -> None:
    data, backbone = states
    config = TrainConfig(steps=150, checks=5, learning_rate=0.02, hidden_share=0.0, prefix_share=0.0)
    training = Training(data, config, transformer_size("tiny", focused=False), backbone=backbone)
    model = training.run()
    assert training.quality is not None
    assert training.quality.training["helped"] == ["seen"]
    assert model.untrusted == ("chance",)


def test_the_model_from_elsewhere_stays_as_it_is(chain: EventDataset) -> None:
    backbone = _backbone(chain)
    before = backbone.fingerprint
    model = train(chain, QUICK, TINY, from_=backbone)
    assert isinstance(model, HuggingFace)
    assert model.backbone.fingerprint == before
    assert not model.label_head.is_zero


@pytest.mark.parametrize("linear", [True, False])
def test_a_trained_model_is_saved_with_its_terms_and_calibration(
    chain: EventDataset, tmp_path: Path, linear: bool
) -> None:
    shape = transformer_size("tiny", linear=linear)
    model = train(chain, QUICK, shape, from_=_backbone(chain), run=tmp_path)
    again = load_model(tmp_path / "model")
    assert again.fingerprint == model.fingerprint
    assert (model.linear is not None) == linear == (not model.label_queries)  # type: ignore[union-attr]
    assert np.array_equal(label_probabilities(again, chain), label_probabilities(model, chain))


def test_a_resumed_training_ends_with_the_same_weights(chain: EventDataset, tmp_path: Path) -> None:
    whole = train(chain, QUICK, TINY, from_=_backbone(chain))
    stopped = Training(chain, replace(QUICK, save_every=1), TINY, run=tmp_path, backbone=_backbone(chain))
    for rows in islice(stopped._order(), 2):
        stopped._begin_labels()
        stopped._step(rows)
        stopped._look()
    stopped._write()
    resumed = train(
        chain, replace(QUICK, save_every=1), TINY, run=tmp_path, resume=True, from_=_backbone(chain)
    )
    assert resumed.fingerprint == whole.fingerprint


def test_another_model_from_elsewhere_is_not_resumed(chain: EventDataset, tmp_path: Path) -> None:
    train(chain, QUICK, TINY, run=tmp_path, from_=_backbone(chain))
    other = _backbone(chain, initializer_range=0.1)
    with pytest.raises(ConfigError, match="from"):
        train(chain, QUICK, TINY, run=tmp_path, resume=True, from_=other)


def test_what_the_model_knows_is_in_its_quality(chain: EventDataset) -> None:
    with pytest.warns(EventCargoWarning) as said:
        training = Training(chain, QUICK, TINY, backbone=_backbone(chain, without=1))
    training.run()
    assert any("knows 9 of 10 event types" in str(one.message) for one in said)
    assert any("names and ids may be mixed up" in str(one.message) for one in said)
    assert training.quality is not None
    known = training.quality.training["from"]
    assert (known["known_types"], known["types"], known["max_length"]) == (9, 10, 64)
    assert known["next_event_loss"] > known["frequencies_loss"] == pytest.approx(2.0, abs=0.1)
    assert training.quality.events["perplexity"] > training.quality.events["unigram_perplexity"]


def test_a_model_that_knows_too_little_is_refused_before_training(
    chain: EventDataset, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"knows 2 of 10 event types .* less than min_coverage=0\.5"):
        train(chain, QUICK, TINY, run=tmp_path / "run", from_=_backbone(chain, without=8))
    assert not (tmp_path / "run").exists()


def test_pretraining_of_a_model_from_elsewhere_is_refused(chain: EventDataset) -> None:
    with pytest.raises(ConfigError, match=r"pretrain=0\.5 trains the next event, but .* stays as it is"):
        train(chain, replace(QUICK, pretrain=0.5), TINY, from_=_backbone(chain))


def test_sequences_that_the_model_cannot_read_whole_are_told(chain: EventDataset) -> None:
    with pytest.warns(EventCargoWarning, match=r"only the last 14 events count; the model reads no more"):
        model = train(chain, QUICK, TINY, from_=_backbone(chain, max_position_embeddings=16))
    assert model.max_length == 16


@pytest.mark.parametrize("make", [llama, mamba])
@pytest.mark.parametrize("test", ["total", "prefix"])
def test_both_tests_of_phase_1_ask_the_model_with_its_states(
    chain: EventDataset, make: Any, test: Any, tmp_path: Path
) -> None:
    model = train(chain, QUICK, transformer_size("tiny", linear=False), from_=_backbone(chain, make))
    extract(model, chain[:20], tmp_path, ExtractConfig(test=test, particles=2, context=3, workers=1))
    assert EdgeTable.read(tmp_path).support["test"].unique().to_list() == [test]
    assert explain(model, chain[0]).probabilities


def test_an_estimator_takes_the_trained_model(chain: EventDataset) -> None:
    model = train(chain, QUICK, TINY, from_=_backbone(chain))
    found = Cargo(model).fit(chain)
    assert found.graph_.labels == list(chain.label_names)


@pytest.mark.slow
def test_a_run_discovers_with_a_model_from_elsewhere_and_resumes_with_the_same(
    chain: EventDataset, tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "llama", llama(14), other_ids(chain.event_names))
    config = DiscoverConfig(preset="fast", steps=2)
    results = discover(chain, tmp_path / "run", config, from_=folder)
    assert isinstance(load_model(tmp_path / "run" / "model"), HuggingFace)
    again = discover(chain, tmp_path / "run", config, from_=folder, resume=True)
    assert again.graph.edges.equals(results.graph.edges)
    with pytest.raises(ConfigError, match="model"):
        discover(chain, tmp_path / "run", config, resume=True)
    with pytest.raises(ConfigError, match="give one of them"):
        discover(chain, tmp_path / "other", config, from_=folder, model=results.model)
