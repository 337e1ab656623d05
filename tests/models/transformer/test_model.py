from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.errors import DataError
from eventcargo.models.density import DensityModel
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.training.config import LossConfig
from eventcargo.models.training.losses import draw_targets, joint_loss
from eventcargo.models.transformer.model import Transformer, TransformerConfig, transformer_size
from eventcargo.vocabulary import BOS, EOS, PAD

LABELS = ("brake", "fuel", "rust")
VOCABULARY = Vocabulary(tuple("abcdef"))
SHAPES = {
    "one stack": TransformerConfig(width=16, layers=2, heads=2, feedforward=16, max_length=32),
    "two stacks": TransformerConfig(
        width=16,
        layers=1,
        heads=2,
        feedforward=16,
        label_layers=1,
        activation="gelu",
        times="additive",
        tied=False,
    ),
    "label queries": TransformerConfig(
        width=16, layers=2, heads=2, feedforward=16, max_length=32, label_queries=True
    ),
}


def stirred(config: TransformerConfig, labels: tuple[str, ...] = LABELS) -> Transformer:
    """A model whose heads are not zero any more."""
    model = Transformer(config, VOCABULARY, labels).eval()
    with torch.no_grad():
        for head in (model.label_head, model.end_head):
            torch.nn.init.normal_(head.weight, generator=torch.Generator().manual_seed(1))
    return model


@pytest.fixture(params=list(SHAPES))
def model(request: pytest.FixtureRequest) -> Transformer:
    return stirred(SHAPES[request.param])


def batch_of(*sequences: str, times: float = 1.0) -> Batch:
    """A batch in the order given: each letter is an event, `times` apart."""
    data = EventDataset.from_sequences(
        [
            EventSequence(f"s{i}", tuple(text), tuple(times * at for at in range(len(text))), ())
            for i, text in enumerate(sequences)
        ]
    )
    return Batches(data, VOCABULARY, 32).take(np.arange(len(sequences)))


def read(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        found = model.densities(batch, events_at=batch.mask, labels_at=batch.mask)
    assert found.events is not None
    assert found.labels is not None
    return found.events, found.labels


def test_it_is_a_density_model(model: Transformer) -> None:
    assert isinstance(model, DensityModel)


def test_results_are_one_row_for_each_position_asked_for(model: Transformer) -> None:
    batch = batch_of("abc", "f")
    events_at, labels_at = batch.mask & (batch.ids == BOS), batch.at_end
    found = model.densities(batch, events_at=events_at, labels_at=labels_at, label_columns=np.array([2]))
    assert found.events is not None
    assert found.labels is not None
    assert found.events.shape == (2, len(VOCABULARY))
    assert found.labels.shape == (2, 1)


def test_heads_not_asked_for_are_not_computed(model: Transformer) -> None:
    found = model.densities(batch_of("a"))
    assert found.events is None
    assert found.labels is None


def test_label_columns_choose_among_all_labels(model: Transformer) -> None:
    batch = batch_of("abc")
    some = model.densities(batch, labels_at=batch.mask, label_columns=np.array([2, 0])).labels
    assert some is not None
    assert torch.allclose(some, read(model, batch)[1][:, [2, 0]], atol=1e-6)


def test_padding_and_company_change_nothing(model: Transformer) -> None:
    alone, together = batch_of("abc"), batch_of("abc", "fedcbafedcba")
    for one, both in zip(read(model, alone), read(model, together), strict=True):
        assert torch.allclose(one, both[: len(one)], atol=1e-5)


def test_what_comes_later_changes_nothing_before_it(model: Transformer) -> None:
    for one, other in zip(read(model, batch_of("abc")), read(model, batch_of("abf")), strict=True):
        assert torch.allclose(one[:3], other[:3], atol=1e-6)
        assert not torch.allclose(one[3:], other[3:], atol=1e-3)


def test_the_end_is_told_from_going_on(model: Transformer) -> None:
    ended, longer = read(model, batch_of("ab"))[1], read(model, batch_of("abc"))[1]
    assert not torch.allclose(ended[3], longer[3], atol=1e-3)


@pytest.mark.parametrize("head", [0, 1])
def test_changing_the_times_changes_the_output(model: Transformer, head: int) -> None:
    slow, fast = read(model, batch_of("abcd", times=5.0)), read(model, batch_of("abcd", times=1.0))
    assert not torch.allclose(slow[head][-1], fast[head][-1], atol=1e-3)


@pytest.mark.parametrize("silent", ["time_input", "attention.time"])
def test_times_enter_with_the_events_and_in_every_layer(silent: str) -> None:
    model = stirred(SHAPES["two stacks"])
    for name, parameter in model.named_parameters():
        if silent in name:
            parameter.data.zero_()
    slow, fast = read(model, batch_of("abcd", times=5.0)), read(model, batch_of("abcd", times=1.0))
    assert not torch.allclose(slow[0][-1], fast[0][-1], atol=1e-3)


def test_the_label_stack_sees_the_events_themselves() -> None:
    model = stirred(SHAPES["two stacks"])
    for name, parameter in model.named_parameters():
        if "cross_attention" in name:
            parameter.data.zero_()
    assert not torch.allclose(read(model, batch_of("ab"))[1][2], read(model, batch_of("ac"))[1][2], atol=1e-3)


def test_the_label_stack_reads_the_event_stack() -> None:
    model = stirred(SHAPES["two stacks"])
    before = read(model, batch_of("ab"))[1]
    torch.nn.init.zeros_(model.blocks[0].feed_forward.out.weight)
    assert not torch.allclose(read(model, batch_of("ab"))[1], before, atol=1e-3)


def test_pad_and_bos_never_come_next(model: Transformer) -> None:
    chances = read(model, batch_of("abc"))[0].softmax(-1)
    assert chances[:, [PAD, BOS]].max() == 0
    assert chances[:, EOS].min() > 0


def test_a_new_model_begins_at_the_rates() -> None:
    model = Transformer(SHAPES["one stack"], VOCABULARY, LABELS)
    rates = np.array([0.1, 0.5, 0.9])
    model.start_from(np.full(len(VOCABULARY), 0.1), rates, time_scale=2.0)
    assert torch.allclose(read(model, batch_of("ab"))[1].sigmoid(), torch.tensor(rates).float(), atol=1e-6)


class Constant:
    """An explicit term that says the same everywhere."""

    def logits(self, batch: Batch, labels_at: NDArray[np.bool_], label_columns: NDArray[np.int64]) -> Tensor:
        assert labels_at.shape == batch.ids.shape
        return torch.arange(3.0)[label_columns].expand(int(labels_at.sum()), -1)

    def to_tensors(self) -> dict[str, Tensor]:
        return {}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> "Constant":
        assert not tensors
        return cls()


def test_a_new_model_with_an_explicit_term_begins_at_that_term() -> None:
    model = Transformer(SHAPES["one stack"], VOCABULARY, LABELS, linear=Constant())
    model.start_from(np.full(len(VOCABULARY), 0.1), np.array([0.1, 0.5, 0.9]), time_scale=1.0)
    assert torch.equal(read(model, batch_of("ab"))[1], torch.arange(3.0).expand(4, 3))


def test_before_the_end_the_explicit_term_is_scaled() -> None:
    model = Transformer(SHAPES["one stack"], VOCABULARY, LABELS, linear=Constant())
    with torch.no_grad():
        model.term_scale.fill_(0.5)
    found = read(model, batch_of("ab"))[1]
    assert torch.equal(found[:3], 0.5 * torch.arange(3.0).expand(3, 3))
    assert torch.equal(found[3], torch.arange(3.0))


def test_the_end_has_a_head_of_its_own(model: Transformer) -> None:
    before = read(model, batch_of("ab"))[1]
    with torch.no_grad():
        model.end_head.bias += 1
    after = read(model, batch_of("ab"))[1]
    assert torch.equal(before[:3], after[:3])
    assert torch.allclose(before[3] + 1, after[3])


def test_a_label_capped_is_never_predicted(model: Transformer) -> None:
    with torch.no_grad():
        model.label_head.bias.fill_(50.0)
        model.end_head.bias.fill_(50.0)
    model.never_predict(np.array([1]), rate=0.01)
    posteriors = read(model, batch_of("abc"))[1].sigmoid()
    assert posteriors[:, 1].max() <= 0.01 + 1e-6
    assert posteriors[:, [0, 2]].min() > 0.5


def test_a_batch_that_is_too_long_is_refused_with_both_lengths() -> None:
    model = stirred(TransformerConfig(width=16, heads=2, max_length=5))
    with pytest.raises(DataError, match="6 positions, the model reads at most 5"):
        read(model, batch_of("abcd"))


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    one, same, other = (Transformer(SHAPES["one stack"], VOCABULARY, LABELS, seed=s) for s in (3, 3, 4))
    assert torch.equal(one.embedding.weight, same.embedding.weight)
    assert not torch.equal(one.embedding.weight, other.embedding.weight)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_model_saved_and_read_again_says_the_same(model: Transformer, tmp_path: Path) -> None:
    model.time_scale.fill_(3.0)
    model.save_pretrained(tmp_path / "model")
    again = Transformer.from_pretrained(tmp_path / "model")
    batch = batch_of("abc", "de")
    assert again.label_names == LABELS
    assert not again.training
    for one, other in zip(read(model, batch), read(again, batch), strict=True):
        assert torch.equal(one, other)


def test_the_explicit_term_is_saved_with_the_model(tmp_path: Path) -> None:
    term = LinearTerm(
        len(VOCABULARY), 1, {"presence": np.array([4])}, torch.tensor([[1.0, 2.0, 3.0]]), torch.zeros(3)
    )
    model = Transformer(SHAPES["one stack"], VOCABULARY, LABELS, linear=term).eval()
    model.save_pretrained(tmp_path)
    again = Transformer.from_pretrained(tmp_path)
    batch = batch_of("ab")
    assert torch.equal(read(again, batch)[1][-1], torch.tensor([1.0, 2.0, 3.0]))


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    model = stirred(SHAPES["one stack"])
    del model.label_head
    model.save_pretrained(tmp_path)
    with pytest.raises(DataError, match="label_head"):
        Transformer.from_pretrained(tmp_path)


def n_parameters(part: torch.nn.Module) -> float:
    """In millions."""
    return sum(p.numel() for p in part.parameters()) / 1e6


@pytest.mark.slow
def test_the_size_of_the_paper_takes_a_training_step() -> None:
    vocabulary = Vocabulary(tuple(f"E{i}" for i in range(29_100)))
    model = Transformer(transformer_size("paper"), vocabulary, [f"L{i}" for i in range(474)])
    label_part = n_parameters(model.label_blocks) + n_parameters(model.label_head)
    assert 80 < n_parameters(model) - label_part < 100
    assert 12 < label_part < 18
    data = EventDataset.from_sequences([EventSequence("a", ("E1", "E2"), (0.0, 1.0), ())])
    batch = Batches(data, vocabulary, 16).take(np.array([0]))
    batch = Batch(batch.ids, batch.times, batch.lengths, np.zeros((1, 474), np.float32))
    optimizer, config = torch.optim.AdamW(model.parameters(), lr=1e-3), LossConfig(event_share=1.0)
    losses = []
    for _ in range(2):
        targets = draw_targets(batch, config, np.random.default_rng(0))
        loss = joint_loss(model.eval(), batch, targets, config, None, np.zeros(0, np.int64))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]
