from typing import Any

import numpy as np
import pytest
import torch
import transformers

from eventcargo import DataError
from eventcargo.models.huggingface.backbone import Backbone
from eventcargo.models.huggingface.token_ids import TokenIds

from tests.models.huggingface.elsewhere import gemma2, gpt2, llama, mamba, mistral, other_ids, seeded

IDS = TokenIds(other_ids(("a", "b", "c")), bos=3, eos=2, unk=1, pad=0)
KINDS = [llama, gpt2, mamba, mistral, gemma2]
LONG, SHORT = [3, 4, 6, 5, 5, 4, 2], [3, 5, 2]


def _expected(model: Any, tokens: list[int]) -> Any:
    """Hidden states and logits of one sequence, of the plain model."""
    with torch.no_grad():
        out = model(input_ids=torch.tensor([tokens]), output_hidden_states=True)
    return out.hidden_states[-1][0], out.logits[0]


@pytest.mark.parametrize("make", KINDS)
def test_states_and_logits_are_those_of_the_plain_model_whatever_the_padding(make: Any) -> None:
    model = make(7).eval()
    backbone = Backbone(model, IDS)
    batch = np.array([LONG, SHORT + [-1] * (len(LONG) - len(SHORT))])
    for at, tokens in enumerate((LONG, SHORT)):
        states, logits = _expected(model, tokens)
        assert torch.allclose(backbone.states(batch)[at, : len(tokens)], states, atol=1e-5)
        assert torch.allclose(backbone.logits(batch)[at, : len(tokens)], logits, atol=1e-5)


@pytest.mark.parametrize("make", KINDS)
def test_what_the_model_has_no_id_for_is_left_out_of_what_it_reads(make: Any) -> None:
    model = make(7).eval()
    states = Backbone(model, IDS).states(np.array([[-1, 4, -1, 6, 5, -1]]))[0]
    expected = _expected(model, [4, 6, 5])[0]
    assert torch.equal(states[0], torch.zeros(16))
    assert torch.allclose(states[[1, 2, 3, 4, 5]], expected[[0, 0, 1, 2, 2]], atol=1e-5)


def test_a_sequence_of_which_nothing_is_read_has_states_of_zero() -> None:
    assert not Backbone(llama(7), IDS).states(np.full((2, 3), -1)).any()


def test_a_sliding_window_is_that_of_the_model() -> None:
    backbone = Backbone(mistral(7), IDS)
    near, far = np.array([LONG]), np.array([[3, 5, *LONG[2:]]])
    changed = (backbone.states(near) - backbone.states(far)).abs().amax(dim=2)[0] > 1e-6
    assert changed.tolist() == [False, *[True] * 5, False]  # two layers of a window of three reach five


@pytest.mark.parametrize(("make", "plain"), [(llama, True), (gemma2, False)])
def test_logits_that_are_not_plain_are_noticed(make: Any, plain: bool) -> None:
    assert Backbone(make(7), IDS).has_plain_logits == plain


def test_the_longest_sequence_is_the_models() -> None:
    lengths = [Backbone(make(7), IDS).max_length for make in (llama, gpt2, mamba)]
    assert lengths == [64, 64, 2**31 - 1]


def test_a_model_is_put_into_evaluation_and_frozen() -> None:
    model = Backbone(gpt2(7).train(), IDS).model
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())


def test_a_model_that_reads_what_follows_is_refused_with_its_kind() -> None:
    config = transformers.BertConfig(
        vocab_size=7,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        initializer_range=1.0,
    )
    model = seeded(lambda: transformers.BertLMHeadModel(config))
    with pytest.raises(DataError, match="BertLMHeadModel reads what follows a position"):
        Backbone(model, IDS)


def test_a_vocabulary_larger_than_the_embedding_is_refused_with_the_name() -> None:
    name = next(name for name, at in IDS.events.items() if at == 6)
    with pytest.raises(DataError, match=f"outside the model's 6 ids, such as '{name}' with 6"):
        Backbone(llama(6), IDS)


def test_an_id_that_the_output_layer_lacks_is_refused_with_the_name() -> None:
    model = llama(7)
    model.lm_head = torch.nn.Linear(16, 6, bias=False)
    with pytest.raises(DataError, match="outside the model's 6 ids"):
        Backbone(model, IDS)


def test_a_fingerprint_tells_weights_and_ids_apart() -> None:
    others = TokenIds(other_ids(("a", "b", "c"), seed=1), bos=3, eos=2)
    made = [
        Backbone(llama(7), IDS),
        Backbone(llama(7), others),
        Backbone(llama(7, initializer_range=1.0), IDS),
    ]
    assert len({one.fingerprint for one in made}) == 3
    assert Backbone(llama(7), IDS).fingerprint == made[0].fingerprint
