from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eventcargo import DataError, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.models.density import DensityModel, label_probabilities
from eventcargo.models.huggingface import Backbone, HuggingFace
from eventcargo.models.huggingface.token_ids import TokenIds
from eventcargo.models.loading import load_model
from eventcargo.models.pretrained import write_model

from tests.models.huggingface.elsewhere import gemma2, gpt2, llama, mamba, mistral, other_ids
from tests.sealed import edit

NAMES, LABELS = ("a", "b", "c"), ("brake", "fuel")
VOCABULARY = Vocabulary(NAMES)
KINDS = [llama, gpt2, mamba, mistral, gemma2]
RATES = np.array([0.05, 0.05, 0.1, 0.1, 0.4, 0.2, 0.1])


def _data() -> EventDataset:
    rows = [("a", "b", "c", "a", "c"), ("b",), (), ("c", "c", "never seen")]
    return EventDataset.from_sequences(
        [EventSequence(f"{at}", row, tuple(map(float, range(len(row)))), ()) for at, row in enumerate(rows)]
    )


def _batch(model: HuggingFace) -> Batch:
    return Batches(_data(), model.vocabulary, model.max_length).take(np.arange(4))


def _with_heads(model: HuggingFace, seed: int = 3) -> HuggingFace:
    """The model with heads that say something."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for head in (model.label_head, model.end_head):
            head.weight.data.normal_()
            head.bias.data.normal_()
    return model.eval()


def _model(make: Any = llama, seed: int = 0, **marks: Any) -> HuggingFace:
    ids = TokenIds(other_ids(NAMES, seed), **({"bos": 3, "eos": 2, "unk": 1, "pad": 0} | marks))
    model = HuggingFace(Backbone(make(7), ids), VOCABULARY, LABELS)
    model.start_from(RATES, np.array([0.2, 0.3]), 1.0)
    return _with_heads(model)


def _by_hand(model: HuggingFace, names: tuple[str, ...]) -> Any:
    """Hidden states and next-event probabilities of our ids, by the plain model and its own ids."""
    ids = model.backbone.ids
    tokens = [3, *(ids.events.get(name, 1) for name in names), 2]
    with torch.no_grad():
        out = model.backbone.model(input_ids=torch.tensor([tokens]), output_hidden_states=True)
    columns = [2, 1, *(ids.events[name] for name in NAMES)]  # EOS, UNK and the event types
    return out.hidden_states[-1][0], out.logits[0][:, columns].softmax(dim=1)


def test_it_is_a_density_model() -> None:
    assert isinstance(_model(), DensityModel)


@pytest.mark.parametrize("make", KINDS)
def test_next_event_probabilities_are_those_of_the_plain_model_by_its_own_ids(make: Any) -> None:
    model = _model(make)
    batch = _batch(model)
    found = model.densities(batch, events_at=batch.mask).events
    assert found is not None
    expected = torch.cat([_by_hand(model, sequence.events)[1] for sequence in _data()])
    assert torch.allclose(found.softmax(dim=1)[:, 2:], expected, atol=1e-5)
    assert not found.softmax(dim=1)[:, :2].any()


@pytest.mark.parametrize("make", KINDS)
def test_label_logits_are_the_heads_on_the_normed_states_of_the_plain_model(make: Any) -> None:
    model = _model(make)
    batch = _batch(model)
    found = model.densities(batch, labels_at=batch.mask).labels
    with torch.no_grad():
        states = [model.label_norm(_by_hand(model, sequence.events)[0]) for sequence in _data()]
    heads = [[model.label_head] * (len(own) - 1) + [model.end_head] for own in states]
    expected = [
        head.weight @ state + head.bias
        for own, each in zip(states, heads, strict=True)
        for state, head in zip(own, each, strict=True)
    ]
    assert torch.allclose(found, torch.stack(expected), atol=1e-4)


@pytest.mark.parametrize("make", KINDS)
def test_a_permuted_vocabulary_gives_the_same_densities(make: Any) -> None:
    model = _model(make)
    order = torch.tensor([2, 0, 5, 6, 1, 3, 4])  # the id now of each id before
    permuted = _permuted(model.backbone.model, order, make)
    ids = model.backbone.ids
    events = {name: int(order[at]) for name, at in ids.events.items()}
    turned = TokenIds(events, *(int(order[at]) for at in (ids.bos, ids.eos, ids.unk, ids.pad)))
    other = HuggingFace(Backbone(permuted, turned), VOCABULARY, LABELS)
    other.start_from(RATES, np.array([0.2, 0.3]), 1.0)
    _with_heads(other)
    batch = _batch(model)
    for where in ("events", "labels"):
        found, expected = (
            getattr(each.densities(batch, events_at=batch.mask, labels_at=batch.mask), where)
            for each in (other, model)
        )
        assert torch.allclose(found, expected, atol=1e-5)


def _permuted(model: Any, order: torch.Tensor, make: Any) -> Any:
    """The same model with its ids in another order."""
    copy = make(7)
    copy.load_state_dict(model.state_dict())
    weights = {
        id(part.weight): part.weight for part in (copy.get_input_embeddings(), copy.get_output_embeddings())
    }
    for weight in weights.values():  # one, if they are tied
        weight.data[order] = weight.data.clone()
    return copy


def test_a_shut_gate_leaves_out_the_head_at_the_end_of_sequences() -> None:
    model = _model()
    model.gate[0] = 0.0
    shut, open_ = label_probabilities(model, _data()).T
    assert np.array_equal(shut, np.full(len(shut), 0.5))  # there is no linear term
    assert not np.any(open_ == 0.5)


def test_what_the_model_lacks_is_left_out_of_what_it_reads() -> None:
    model = _model(bos=None, eos=None, unk=None)
    batch = _batch(model)
    found = model.densities(batch, labels_at=batch.at_end).labels
    ids = model.backbone.ids.events
    with torch.no_grad():
        out = model.backbone.model.model(input_ids=torch.tensor([[ids["c"], ids["c"]]])).last_hidden_state
        state = model.label_norm(out[0, -1])
    assert found is not None
    assert torch.allclose(found[3], model.end_head.weight @ state + model.end_head.bias, atol=1e-5)


def test_without_bos_the_first_event_has_the_rates_of_the_data() -> None:
    model = _model(bos=None, eos=None, unk=None)
    found = model.densities(_batch(model), events_at=_batch(model).ids == 1).events
    assert found is not None
    assert torch.allclose(found.softmax(dim=1)[:, 4:], torch.tensor([4, 2, 1]) / 7, atol=1e-6)


def test_without_eos_and_unk_these_never_come_next() -> None:
    model = _model(eos=None, unk=None)
    batch = _batch(model)
    found = model.densities(batch, events_at=batch.mask).events
    assert found is not None
    assert not found.softmax(dim=1)[:, :4].any()
    assert model.can_follow.tolist() == [False] * 4 + [True] * 3


def test_event_types_that_the_model_does_not_know_share_the_probability_of_its_unk() -> None:
    backbone = Backbone(llama(7), TokenIds({"a": 5}, bos=3, eos=2, unk=1, pad=0))
    model = HuggingFace(backbone, VOCABULARY, LABELS).eval()
    model.start_from(RATES, np.array([0.2, 0.3]), 1.0)
    batch = _batch(model)
    found = model.densities(batch, events_at=batch.ids == 1).events
    with torch.no_grad():
        logits = backbone.model(input_ids=torch.tensor([[3]])).logits[0, 0]
    unk, whole = logits[1].exp(), logits[[2, 1, 5]].exp().sum()
    expected = torch.tensor([0.1, 0.2, 0.1]) / 0.4 * unk / whole  # UNK, b and c by their rates
    assert found is not None
    assert torch.allclose(found.softmax(dim=1)[0, [3, 5, 6]], expected, atol=1e-5)


def test_hidden_events_are_unk_or_left_out() -> None:
    for marks in ({}, {"unk": None}):
        model = _model(**marks)
        batch = _batch(model)
        hidden = batch.hide(batch.ids == VOCABULARY.encode(["a"])[0])
        found = model.densities(hidden, labels_at=hidden.at_end).labels
        tokens = [model.backbone.ids.events[name] if name != "a" else 1 for name in "abcac"]
        read = [3, *(at for at in tokens if at != 1 or not marks), 2]
        with torch.no_grad():
            state = model.backbone.model.model(input_ids=torch.tensor([read])).last_hidden_state[0, -1]
            expected = model.end_head.weight @ model.label_norm(state) + model.end_head.bias
        assert found is not None
        assert torch.allclose(found[0], expected, atol=1e-5)


def test_padding_changes_nothing() -> None:
    for make in KINDS:
        model, data = _with_heads(_model(make)), _data()
        alone = np.concatenate([label_probabilities(model, data[at : at + 1]) for at in range(len(data))])
        assert np.allclose(label_probabilities(model, data), alone, atol=1e-6)


def test_the_longest_sequence_is_that_of_the_model_or_shorter() -> None:
    backbone = _model().backbone
    lengths = [HuggingFace(backbone, VOCABULARY, LABELS, max_length=most).max_length for most in (512, 8)]
    assert lengths == [64, 8]


def test_the_model_from_elsewhere_is_no_parameter_of_ours() -> None:
    assert {name.split(".")[0] for name, _ in _model().named_parameters()} == {
        "label_norm",
        "label_head",
        "end_head",
        "term_scale",
    }


@pytest.mark.parametrize("queries", [False, True])
def test_a_saved_model_gives_the_same_probabilities_from_a_moved_folder(
    tmp_path: Path, queries: bool
) -> None:
    model = HuggingFace(_model().backbone, VOCABULARY, LABELS, label_queries=queries, max_length=32)
    _with_heads(model)
    model.save_pretrained(tmp_path / "model")
    again = load_model((tmp_path / "model").rename(tmp_path / "moved"))
    assert np.array_equal(label_probabilities(again, _data()), label_probabilities(model, _data()))
    assert (again.fingerprint, again.max_length, again.backbone.ids) == (  # type: ignore[attr-defined]
        model.fingerprint,
        32,
        model.backbone.ids,
    )


def test_a_token_that_ends_sequences_and_begins_them_is_as_probable_as_it_says() -> None:
    model = _model(bos=2)
    batch = _batch(model)
    found = model.densities(batch, events_at=batch.ids == 1).events
    assert found is not None
    with torch.no_grad():
        logits = model.backbone.model(input_ids=torch.tensor([[2]])).logits[0, 0]
    columns = [2, 1, *(model.backbone.ids.events[name] for name in NAMES)]
    assert torch.allclose(found.softmax(dim=1)[0, 2:], logits[columns].softmax(dim=0), atol=1e-5)


def test_a_saved_model_predicts_the_same_events(tmp_path: Path) -> None:
    model = _model(bos=None)  # the first event has the rates of the data
    model.save_pretrained(tmp_path)
    found, again = (
        one.densities(_batch(model), events_at=_batch(model).ids == 1).events
        for one in (model, load_model(tmp_path))
    )
    assert torch.equal(found, again)


def test_a_loaded_model_can_be_saved_where_it_was_loaded_from(tmp_path: Path) -> None:
    _model().save_pretrained(tmp_path)
    load_model(tmp_path).save_pretrained(tmp_path)  # type: ignore[attr-defined]
    assert load_model(tmp_path).fingerprint == _model().fingerprint


def test_a_fingerprint_changes_with_the_model_from_elsewhere() -> None:
    assert _model(llama).fingerprint != _model(gpt2).fingerprint
    assert _model(seed=0).fingerprint != _model(seed=1).fingerprint


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    _model().save_pretrained(tmp_path / "model")
    edit(tmp_path / "model" / "config.json", kind="counts")
    with pytest.raises(DataError, match="kind 'counts', not 'huggingface'"):
        HuggingFace.from_pretrained(tmp_path / "model")


def test_a_model_of_an_earlier_release_is_refused_with_advice(tmp_path: Path) -> None:
    write_model(tmp_path, {"kind": "huggingface", "label_names": list(LABELS)}, VOCABULARY, {})
    with pytest.raises(DataError, match="was written by an earlier release; train the model again"):
        HuggingFace.from_pretrained(tmp_path)
