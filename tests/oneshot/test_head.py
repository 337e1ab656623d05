import numpy as np
import torch

from eventcargo.batches import Batch
from eventcargo.models.sizes import preset
from eventcargo.models.transformer import Transformer
from eventcargo.oneshot.head import COLUMNS, column_parts, split_logits
from eventcargo.vocabulary import BOS, Vocabulary


def _asked() -> tuple[Transformer, Batch, np.ndarray]:
    """A random model of more event types than one part has, five sequences, and some of their positions."""
    names, rng = tuple(f"e{number}" for number in range(COLUMNS + 9)), np.random.default_rng(4)
    model = Transformer(preset("tiny"), Vocabulary(names), ["x"]).eval()
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
    found = torch.cat([logits.clone() for logits in split_logits(model, batch, asked, size=4)])
    expected = model.densities(batch, events_at=asked).events
    assert expected is not None
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_no_part_has_more_positions_than_asked_for_at_once() -> None:
    model, batch, asked = _asked()
    n_parts = -(-int(asked.sum()) // 4)
    assert [len(logits) for logits in split_logits(model, batch, asked, size=4)][:-1] == [4] * (n_parts - 1)


def test_parts_of_columns_cover_all_of_them_once() -> None:
    parts = list(column_parts(torch.zeros(1, 2 * COLUMNS + 1)))
    assert parts == [(0, COLUMNS), (COLUMNS, 2 * COLUMNS), (2 * COLUMNS, 2 * COLUMNS + 1)]
