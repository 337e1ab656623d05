import numpy as np
import pytest
import torch

from eventcargo.batches import Batch
from eventcargo.models.density import COLUMNS_AT_ONCE, column_blocks
from eventcargo.models.transformer import event_head
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.event_head import EventHead
from eventcargo.models.transformer.model import Transformer
from eventcargo.vocabulary import BOS, UNK, Vocabulary


def _asked() -> tuple[Transformer, Batch, np.ndarray]:
    """A random model of more event types than one part has, five sequences, and some of their positions."""
    names, rng = tuple(f"e{number}" for number in range(COLUMNS_AT_ONCE + 9)), np.random.default_rng(4)
    model = Transformer(transformer_size("tiny"), Vocabulary(names), ["x"]).eval()
    draw = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=draw)
    ids = rng.integers(4, len(names), (5, 7))
    ids[:, 0] = BOS
    times = np.tile(np.arange(7, dtype=np.float32), (5, 1))
    batch = Batch(ids, times, np.full(5, 7), np.zeros((5, 1), np.float32))
    return model, batch, rng.random((5, 7)) < 0.6


def test_logits_in_parts_are_those_of_one_pass() -> None:
    model, batch, asked = _asked()
    found = torch.cat([events.logits.clone() for events in model.next_events(batch, asked, 0)])
    expected = model.densities(batch, events_at=asked).events
    assert expected is not None
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("at_once", [1, 4])
def test_no_block_has_more_positions_than_fit_the_cache(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch, asked = _asked()
    monkeypatch.setattr(event_head, "POSITIONS_AT_ONCE", at_once)
    n_blocks = -(-int(asked.sum()) // at_once)
    assert [len(events.logits) for events in model.next_events(batch, asked, 0)][:-1] == [at_once] * (
        n_blocks - 1
    )


def test_many_positions_take_several_passes_with_the_logits_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch, asked = _asked()
    whole = torch.cat([events.logits.clone() for events in model.next_events(batch, asked, 0)])
    passes: list[int] = []
    states = Transformer.states

    def counted(
        self: Transformer, block: Batch, for_labels: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor]:
        passes.append(len(block.ids))
        return states(self, block, for_labels)

    monkeypatch.setattr(Transformer, "states", counted)
    monkeypatch.setattr(event_head, "STATES_AT_ONCE", 8)
    in_passes = torch.cat([events.logits.clone() for events in model.next_events(batch, asked, 0)])
    assert passes == [2, 1, 1, 1]
    assert torch.allclose(in_passes, whole, atol=1e-5)


def test_parts_of_columns_cover_all_of_them_once() -> None:
    parts = list(column_blocks(torch.zeros(1, 2 * COLUMNS_AT_ONCE + 1)))
    size = COLUMNS_AT_ONCE
    assert parts == [(0, size), (size, 2 * size), (2 * size, 2 * size + 1)]


def _head(spread: float, n_ids: int = 400) -> tuple[EventHead, torch.Tensor, torch.Tensor]:
    """A head whose biases have this spread, states, and the logits of all ids."""
    draw = torch.Generator().manual_seed(7)
    weight, states = torch.randn(n_ids, 16, generator=draw), torch.randn(50, 16, generator=draw) * 0.1
    bias = torch.randn(n_ids, generator=draw) * spread
    return EventHead(weight, bias), states, states @ weight.T + bias


@pytest.mark.parametrize("at_once", [7, 128])
def test_the_most_probable_event_types_are_never_ruled_out(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_head, "POSITIONS_AT_ONCE", at_once)
    head, states, expected = _head(spread=3.0)
    blocks = list(head.blocks(states, 5))
    ids = blocks[0].ids
    assert ids is not None
    assert len(ids) < 100
    assert torch.allclose(torch.cat([block.logits for block in blocks]), expected[:, ids], atol=1e-5)
    top = UNK + expected[:, UNK:].topk(5, dim=1).indices
    assert torch.isin(top, ids).all()


def test_the_logits_of_event_types_ruled_out_are_at_least_their_floors() -> None:
    head, states, expected = _head(spread=3.0)
    screened = head.screen(states, 5)
    assert screened is not None
    others = torch.ones(expected.shape[1], dtype=torch.bool)
    others[screened.ids], others[:UNK] = False, False
    assert (expected[:, others] >= screened.floors).all()
    assert (expected[:, others] - screened.floors).amin() < 1


def test_event_types_ruled_out_can_be_asked_for() -> None:
    head, states, expected = _head(spread=3.0)
    block = next(head.blocks(states, 5))
    assert block.all is not None
    assert torch.allclose(block.all(), expected, atol=1e-5)


def test_event_types_that_are_all_alike_are_all_given() -> None:
    head, states, expected = _head(spread=0.01)
    block = next(head.blocks(states, 5))
    assert block.ids is None
    assert torch.allclose(block.logits, expected, atol=1e-5)
