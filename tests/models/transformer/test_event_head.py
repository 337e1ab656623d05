import numpy as np
import pytest
import torch

from eventcargo.batches import Batch
from eventcargo.models.density import COLUMNS_AT_ONCE, column_blocks
from eventcargo.models.transformer import event_head
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.vocabulary import BOS, Vocabulary


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
    found = torch.cat([logits.clone() for logits in model.next_event_logits(batch, asked)])
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
    assert [len(logits) for logits in model.next_event_logits(batch, asked)][:-1] == [at_once] * (
        n_blocks - 1
    )


def test_many_positions_take_several_passes_with_the_logits_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch, asked = _asked()
    whole = torch.cat([logits.clone() for logits in model.next_event_logits(batch, asked)])
    passes: list[int] = []
    states = Transformer.states

    def counted(
        self: Transformer, block: Batch, for_labels: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor]:
        passes.append(len(block.ids))
        return states(self, block, for_labels)

    monkeypatch.setattr(Transformer, "states", counted)
    monkeypatch.setattr(event_head, "STATES_AT_ONCE", 8)
    in_passes = torch.cat([logits.clone() for logits in model.next_event_logits(batch, asked)])
    assert passes == [2, 1, 1, 1]
    assert torch.allclose(in_passes, whole, atol=1e-5)


def test_parts_of_columns_cover_all_of_them_once() -> None:
    parts = list(column_blocks(torch.zeros(1, 2 * COLUMNS_AT_ONCE + 1)))
    size = COLUMNS_AT_ONCE
    assert parts == [(0, size), (size, 2 * size), (2 * size, 2 * size + 1)]
