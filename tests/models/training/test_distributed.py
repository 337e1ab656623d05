"""Two processes train as one does; real ones, joined by a file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from eventcargo.models.training.distributed import ProcessGroup
from eventcargo.models.training.trainer import TrainConfig, Training
from eventcargo.models.transformer.model import TransformerConfig
from eventcargo.simulation import simulate

MEMBER = """
import json, sys
import torch.distributed as dist
from tests.models.training.test_distributed import history
dist.init_process_group("gloo", init_method="file://" + {meeting!r}, rank=int(sys.argv[1]), world_size=2)
found = history()
dist.destroy_process_group()
print(json.dumps(found))
"""


def history() -> list[dict[str, float]]:
    data = simulate("chain", sequences=60, seed=100).data
    config = TrainConfig(steps=8, tokens=64, checks=4, sampled=8)  # batches of one to three sequences
    training = Training(data, config, TransformerConfig(width=16, layers=1, heads=2))
    training.run()
    return training.state.history


@pytest.mark.slow
def test_two_processes_follow_the_loss_curve_of_one(tmp_path: Path) -> None:
    code = MEMBER.format(meeting=str(tmp_path / "meeting"))
    root = Path(__file__).parents[3]
    members = [
        subprocess.Popen([sys.executable, "-c", code, str(rank)], cwd=root, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    found = [json.loads(member.communicate(timeout=300)[0].splitlines()[-1]) for member in members]
    alone = history()
    assert found[0] == found[1]
    assert len(alone) == 5
    for one, two in zip(alone, found[0], strict=True):
        assert two == pytest.approx(one, rel=1e-4)


def test_one_process_alone_leads_and_changes_nothing() -> None:
    group, weight = ProcessGroup.present(), torch.nn.Parameter(torch.ones(2))
    group.sum_gradients([weight])
    assert group.is_main
    assert weight.grad is None
    assert group.broadcast(1.5, 2.0) == (1.5, 2.0)
    assert group.sum(torch.ones(())).item() == 1
