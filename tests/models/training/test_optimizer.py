import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from eventcargo import EventDataset
from eventcargo.models.training.interrupt import Interrupted
from eventcargo.models.training.optimizer import RowAdamW, clip_gradients
from eventcargo.models.training.trainer import TrainConfig, Training, train
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.simulation import simulate

LOOKUPS = torch.tensor([[1, 1, 4], [4, 2, 2], [5, 1, 0]])  # step 3 does not reach rows 2 and 4

SETTINGS: dict[str, Any] = {"lr": 0.1, "weight_decay": 0.1, "eps": 1.0}
"""With a small eps, AdamW would not see the size of a gradient."""


def table(sparse: bool) -> nn.Embedding:
    start = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    return nn.Embedding(6, 3, sparse=sparse, _weight=start)


def loss(rows: nn.Embedding, ids: Tensor) -> Tensor:
    return (rows(ids) - torch.arange(1.0, 10.0).view(3, 3)).square().sum()


def optimizer_of(rows: nn.Embedding) -> RowAdamW:
    return RowAdamW([{"params": [rows.weight]}], **SETTINGS)


def taught(
    rows: nn.Embedding, optimizer: RowAdamW | torch.optim.Optimizer, lookups: Iterator[Tensor]
) -> Tensor:
    """The weights after one step for each lookup."""
    for ids in lookups:
        optimizer.zero_grad()
        loss(rows, ids).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return rows.weight.detach().clone()


def dense_gradient(rows: nn.Embedding) -> Tensor:
    assert rows.weight.grad is not None
    return rows.weight.grad.to_dense() if rows.weight.grad.is_sparse else rows.weight.grad


def test_sparse_gradients_are_clipped_as_dense_ones() -> None:
    found = []
    for rows in (table(sparse=True), table(sparse=False)):
        loss(rows, LOOKUPS[0]).backward()  # type: ignore[no-untyped-call]
        norm = clip_gradients(rows.parameters(), max_norm=1.0)
        found.append(torch.cat([norm[None], dense_gradient(rows).flatten()]))
    assert torch.allclose(found[0], found[1])


def test_clipped_gradients_have_the_norm_asked_for_together() -> None:
    weights = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))]
    weights[0].grad, weights[1].grad = torch.tensor([2.0, 4.0]), torch.tensor([4.0])
    assert clip_gradients(weights, max_norm=3.0).item() == 6
    assert weights[0].grad.tolist() == pytest.approx([1, 2])
    assert weights[1].grad.tolist() == pytest.approx([2])


def test_small_gradients_are_left_as_they_are() -> None:
    weight, untouched = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
    weight.grad = torch.tensor([0.3, 0.4])
    clip_gradients([weight, untouched], max_norm=1.0)
    assert torch.equal(weight.grad, torch.tensor([0.3, 0.4]))
    assert untouched.grad is None


@pytest.mark.parametrize("is_sparse", [True, False])
def test_it_teaches_what_the_optimiser_of_torch_teaches(is_sparse: bool) -> None:
    rows, dense = table(is_sparse), table(sparse=False)
    plain = torch.optim.AdamW([dense.weight], **SETTINGS, fused=True)
    assert torch.equal(taught(rows, optimizer_of(rows), iter(LOOKUPS)), taught(dense, plain, iter(LOOKUPS)))


def test_groups_have_their_own_rate_and_decay() -> None:
    weights = [nn.Parameter(torch.ones(1)) for _ in range(3)]
    for weight in weights:
        weight.grad = torch.zeros(1)
    groups = [
        {"params": [weights[0]]},
        {"params": [weights[1]], "weight_decay": 0.5},
        {"params": [weights[2]], "weight_decay": 0.5, "lr": 1.0},
    ]
    RowAdamW(groups, lr=0.1).step()
    assert [weight.item() for weight in weights] == pytest.approx([1, 0.95, 0.5])


def test_a_parameter_without_a_gradient_stays_as_it_is() -> None:
    weight = nn.Parameter(torch.ones(1))
    optimizer = RowAdamW([{"params": [weight]}], lr=0.1, weight_decay=0.5)
    optimizer.step()
    assert (weight.item(), optimizer.to_tensors()) == (1, {})


def test_sparse_gradients_are_used_up_by_a_step() -> None:
    rows = table(sparse=True)
    taught(rows, optimizer_of(rows), iter(LOOKUPS[:1]))
    assert rows.weight.grad is None


def test_an_optimiser_of_sparse_gradients_goes_on_where_it_was() -> None:
    rows = table(sparse=True)
    optimizer = optimizer_of(rows)
    before = taught(rows, optimizer, iter(LOOKUPS[:2]))
    kept = {name: value.clone() for name, value in optimizer.to_tensors().items()}
    expected = taught(rows, optimizer, iter(LOOKUPS[2:]))
    again = nn.Embedding(6, 3, sparse=True, _weight=before)
    fresh = optimizer_of(again)
    fresh.load_tensors(kept)
    assert torch.equal(taught(again, fresh, iter(LOOKUPS[2:])), expected)


def test_a_step_that_overflowed_leaves_no_trace() -> None:
    rows, untroubled = table(sparse=True), table(sparse=True)
    optimizer, scaler = optimizer_of(rows), torch.amp.GradScaler("cpu")
    scaler.scale(loss(rows, LOOKUPS[0]) * torch.inf).backward()  # type: ignore[no-untyped-call]
    scaler.unscale_(optimizer)  # type: ignore[arg-type]
    scaler.step(optimizer)  # type: ignore[arg-type]
    scaler.update()
    assert torch.equal(rows.weight, untroubled.weight)
    learnt = taught(rows, optimizer, iter(LOOKUPS))
    assert torch.equal(learnt, taught(untroubled, optimizer_of(untroubled), iter(LOOKUPS)))


SHAPE = TransformerConfig(width=16, layers=1, heads=2, feedforward=16)
SAMPLED = TrainConfig(steps=8, tokens=256, checks=2, save_every=3, sampled=8)


@pytest.fixture(scope="module")
def chain() -> EventDataset:
    return simulate("chain", sequences=60, seed=100).data


def weights(model: Transformer) -> torch.Tensor:
    return torch.cat([value.flatten().float() for value in model.state_dict().values()])


@pytest.mark.parametrize("tied", [True, False])
def test_sparse_gradients_teach_a_model_what_dense_ones_do(chain: EventDataset, tied: bool) -> None:
    sparse, dense = (Training(chain, SAMPLED, replace(SHAPE, tied=tied)) for _ in range(2))
    dense.model.embedding.sparse = False
    assert torch.allclose(weights(sparse.run()), weights(dense.run()), atol=1e-4)


def test_gradients_are_sparse_only_where_the_softmax_is_sampled(chain: EventDataset) -> None:
    sampled, whole = (train(chain, replace(SAMPLED, sampled=n), SHAPE) for n in (8, 0))
    assert (sampled.embedding.sparse, whole.embedding.sparse) == (True, False)


def test_a_sampled_run_that_was_stopped_ends_with_the_same_weights(
    chain: EventDataset, tmp_path: Path
) -> None:
    def stop(stage: str, done: float, total: float, message: str) -> None:
        if message.startswith("step 5,"):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="step 5"):
        train(chain, SAMPLED, SHAPE, run=tmp_path, progress=stop)
    resumed = train(chain, SAMPLED, SHAPE, run=tmp_path, resume=True)
    assert torch.equal(weights(resumed), weights(train(chain, SAMPLED, SHAPE)))


def test_parts_of_a_sampled_batch_give_the_weights_of_the_whole(chain: EventDataset) -> None:
    whole, parts = (train(chain, replace(SAMPLED, accumulate=n), SHAPE) for n in (1, 3))
    assert torch.allclose(weights(whole), weights(parts), atol=1e-4)
