import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from eventcargo import EventDataset
from eventcargo.models.interrupt import Interrupted
from eventcargo.models.training import Progress, TrainConfig, Training, train
from eventcargo.models.transformer import Transformer, TransformerConfig
from eventcargo.simulate import simulate

SHAPE = TransformerConfig(width=16, layers=1, heads=2, hidden=16)
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
    sampled, whole = (Training(chain, replace(SAMPLED, sampled=n), SHAPE) for n in (8, 0))
    assert (sampled.model.embedding.sparse, whole.model.embedding.sparse) == (True, False)


def test_a_sampled_run_that_was_stopped_ends_with_the_same_weights(
    chain: EventDataset, tmp_path: Path
) -> None:
    def stop(now: Progress) -> None:
        if now.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="step 5"):
        train(chain, SAMPLED, SHAPE, run=tmp_path, progress=stop)
    resumed = train(chain, SAMPLED, SHAPE, run=tmp_path, resume=True)
    assert torch.equal(weights(resumed), weights(train(chain, SAMPLED, SHAPE)))


def test_parts_of_a_sampled_batch_give_the_weights_of_the_whole(chain: EventDataset) -> None:
    whole, parts = (train(chain, replace(SAMPLED, accumulate=n), SHAPE) for n in (1, 3))
    assert torch.allclose(weights(whole), weights(parts), atol=1e-4)
