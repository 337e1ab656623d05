from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from eventcargo import ConfigError, DataError, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.models import DensityModel, label_probabilities
from eventcargo.models.huggingface import KIND, HuggingFace
from eventcargo.models.pretrained import write_model
from eventcargo.simulation import simulate

from tests.sealed import edit

VOCABULARY = Vocabulary(("a", "b", "c"))
LABELS = ("brake", "fuel")
SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def _llama(n_ids: int = 7, seed: int = 0, **knobs: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = transformers.LlamaConfig(
            vocab_size=n_ids, max_position_embeddings=64, initializer_range=0.3, **SIZES, **knobs
        )
        return transformers.LlamaForCausalLM(config)


def _gpt2() -> Any:
    config = transformers.GPT2Config(vocab_size=7, n_positions=64, n_embd=16, n_layer=2, n_head=2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return transformers.GPT2LMHeadModel(config)


def _gemma2() -> Any:
    """A model that squashes its logits after the output layer."""
    config = transformers.Gemma2Config(
        vocab_size=7, head_dim=8, num_key_value_heads=2, final_logit_softcapping=0.5, **SIZES
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return transformers.Gemma2ForCausalLM(config)


def _batch(data: EventDataset) -> Batch:
    return Batches(data, VOCABULARY, 64).take(np.arange(len(data)))


def _head() -> torch.nn.Linear:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return torch.nn.Linear(16, 2)


def test_it_is_a_density_model() -> None:
    assert isinstance(HuggingFace(_llama(), VOCABULARY, LABELS), DensityModel)


@pytest.mark.parametrize("make", [_llama, _gpt2, _gemma2])
def test_event_logits_are_those_of_the_model(tiny: EventDataset, make: Any) -> None:
    backbone, batch = make(), _batch(tiny)
    found = HuggingFace(backbone, VOCABULARY, LABELS).densities(batch, events_at=batch.mask).events
    with torch.no_grad():
        expected = backbone(input_ids=torch.from_numpy(batch.ids)).logits[torch.from_numpy(batch.mask)]
    assert found is not None
    assert torch.allclose(found, expected, atol=1e-5)


def test_ids_beyond_the_vocabulary_are_left_out(tiny: EventDataset) -> None:
    batch = _batch(tiny)
    found = HuggingFace(_llama(n_ids=9), VOCABULARY, LABELS).densities(batch, events_at=batch.mask).events
    assert found is not None
    assert found.shape[1] == 7


def test_label_logits_are_the_head_on_the_last_hidden_states(tiny: EventDataset) -> None:
    backbone, head, batch = _llama(), _head(), _batch(tiny)
    found = HuggingFace(backbone, VOCABULARY, LABELS, head).densities(batch, labels_at=batch.at_end).labels
    with torch.no_grad():
        out = backbone(input_ids=torch.from_numpy(batch.ids), output_hidden_states=True)
        expected = head(out.hidden_states[-1][torch.from_numpy(batch.at_end)])
    assert found is not None
    assert torch.allclose(found, expected, atol=1e-5)


def test_label_columns_choose_labels_in_their_order(tiny: EventDataset) -> None:
    model, batch = HuggingFace(_llama(), VOCABULARY, LABELS, _head()), _batch(tiny)
    every = model.densities(batch, labels_at=batch.mask).labels
    turned = model.densities(batch, labels_at=batch.mask, label_columns=np.array([1, 0])).labels
    assert every is not None
    assert turned is not None
    assert torch.equal(turned, every.flip(1))


def test_a_new_head_gives_every_label_one_half(tiny: EventDataset) -> None:
    assert (label_probabilities(HuggingFace(_llama(), VOCABULARY, LABELS), tiny) == 0.5).all()


def test_padding_changes_nothing(tiny: EventDataset) -> None:
    model = HuggingFace(_llama(), VOCABULARY, LABELS, _head())
    alone = np.concatenate([label_probabilities(model, tiny[row : row + 1]) for row in range(len(tiny))])
    assert np.allclose(label_probabilities(model, tiny), alone, atol=1e-6)


def test_the_longest_sequence_is_the_models() -> None:
    assert HuggingFace(_gpt2(), VOCABULARY, LABELS).max_length == 64


def test_a_model_in_training_is_put_into_evaluation() -> None:
    assert not HuggingFace(_gpt2().train(), VOCABULARY, LABELS).model.training


def test_a_model_with_too_few_ids_is_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match="the model has 6 ids, the vocabulary 7"):
        HuggingFace(_llama(n_ids=6), VOCABULARY, LABELS)


def test_a_head_of_another_size_is_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match=r"maps 16 to 3; .* needs 16 to 2"):
        HuggingFace(_llama(), VOCABULARY, LABELS, torch.nn.Linear(16, 3))


def _chain() -> EventDataset:
    return simulate("chain", sequences=100, labels=1, event_types=10, seed=100).data


def _for(data: EventDataset, seed: int = 0) -> HuggingFace:
    vocabulary = Vocabulary.from_dataset(data)
    return HuggingFace(_llama(len(vocabulary), seed), vocabulary, data.label_names)


def test_a_fitted_head_tells_short_sequences_apart_even_on_an_untrained_model() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "b")] * 8
    data = EventDataset.from_sequences(
        [EventSequence(f"{i}", pair, (0.0, 1.0), ("bad",) * ("a" in pair)) for i, pair in enumerate(pairs)]
    )
    found = label_probabilities(_for(data).fit_labels(data, epochs=60, tokens=32), data)
    assert np.array_equal(found > 0.5, data.label_matrix().toarray() == 1)


def test_unknown_labels_are_no_examples_for_the_head() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "b")] * 8
    labels = [("bad",) if "a" in pair and i < 16 else () for i, pair in enumerate(pairs)]
    data = EventDataset.from_sequences(
        [EventSequence(f"{i:02}", pair, (0.0, 1.0), labels[i]) for i, pair in enumerate(pairs)]
    ).knowing(np.arange(32)[:, None] < 16)
    found = label_probabilities(_for(data).fit_labels(data, epochs=120, tokens=32), data)
    assert np.array_equal(found[:, 0] > 0.5, ["a" in pair for pair in pairs])


def test_fitting_the_head_leaves_the_model_as_it_is() -> None:
    train = _chain()
    model = _for(train)
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    model.fit_labels(train, epochs=1)
    assert all(torch.equal(value, before[name]) for name, value in model.model.state_dict().items())


def test_same_seed_gives_the_same_head() -> None:
    train = _chain()
    one, two = (_for(train).fit_labels(train, epochs=1, seed=7).label_head.weight for _ in range(2))
    assert torch.equal(one, two)


def test_data_without_labels_cannot_fit_the_head() -> None:
    train = _chain()
    bare = EventDataset.from_sequences([])
    with pytest.raises(DataError, match="needs examples of its 1"):
        _for(train).fit_labels(bare)


@pytest.mark.parametrize(("option", "value"), [("epochs", 0), ("learning_rate", 0.0)])
def test_options_of_the_fit_are_refused_with_their_value(option: str, value: float) -> None:
    train = _chain()
    with pytest.raises(ConfigError, match=f"{option}={value}"):
        _for(train).fit_labels(train, **{option: value})


def test_a_loss_that_is_not_finite_stops_with_advice() -> None:
    train = _chain()
    model = _for(train)
    torch.nn.init.constant_(model.label_head.bias, float("nan"))
    with pytest.raises(ConfigError, match=r"the loss is nan at learning_rate=0\.01"):
        model.fit_labels(train)


def test_a_saved_model_gives_the_same_probabilities(tiny: EventDataset, tmp_path: Path) -> None:
    model = HuggingFace(_llama(), VOCABULARY, LABELS, _head())
    model.save_pretrained(tmp_path / "model")
    again = HuggingFace.from_pretrained(tmp_path / "model")
    assert np.array_equal(label_probabilities(again, tiny), label_probabilities(model, tiny))


def test_a_damaged_backbone_is_refused_by_name(tmp_path: Path) -> None:
    HuggingFace(_llama(), VOCABULARY, LABELS).save_pretrained(tmp_path / "model")
    path = tmp_path / "model" / "backbone" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="backbone is not a model of transformers"):
        HuggingFace.from_pretrained(tmp_path / "model")


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    HuggingFace(_llama(), VOCABULARY, LABELS).save_pretrained(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    edit(path, kind="counts")
    with pytest.raises(DataError, match="kind 'counts', not 'huggingface'"):
        HuggingFace.from_pretrained(tmp_path / "model")


def test_a_model_without_its_head_is_refused_by_name(tmp_path: Path) -> None:
    write_model(
        tmp_path, {"kind": KIND, "label_names": list(LABELS)}, VOCABULARY, {"weight": torch.zeros(2, 16)}
    )
    with pytest.raises(DataError, match=r"holds \['weight'\]; a label head has weight and bias"):
        HuggingFace.from_pretrained(tmp_path)
