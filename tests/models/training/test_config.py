from typing import Any

import pytest

from eventcargo.config import field_help
from eventcargo.errors import ConfigError
from eventcargo.models.training.config import TrainConfig


@pytest.mark.parametrize(
    "allowed",
    [{"tokens": 1}, {"clip": 0.1}, {"held_out": 0.0}, {"held_out": 0.9}, {"patience": 0}, {"seed": 0}],
)
def test_the_edge_of_what_is_allowed_is_accepted(allowed: dict[str, Any]) -> None:
    config = TrainConfig(**allowed)
    assert all(getattr(config, name) == value for name, value in allowed.items())


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ({"tokens": 0}, "tokens=0"),
        ({"checks": 0}, "checks=0"),
        ({"save_every": 0}, "save_every=0"),
        ({"min_count": 0}, "min_count=0"),
        ({"accumulate": 0}, "accumulate=0"),
        ({"weight_decay": -1.0}, "weight_decay=-1.0"),
        ({"patience": -1}, "patience=-1"),
        ({"seed": -1}, "seed=-1"),
        ({"clip": 0.0}, "clip=0.0"),
        ({"held_out": 1.0}, "held_out=1.0"),
        ({"held_out": -0.1}, "held_out=-0.1"),
        ({"precision": "int8"}, "precision='int8'.*bfloat16"),
        ({"precision": "bfloat16"}, "precision='bfloat16' on device='cpu'"),
        ({"steps": -1}, "steps=-1"),
        ({"end_weight": 2.0}, "end_weight=2.0"),
    ],
)
def test_what_lies_beyond_is_refused_with_its_value(refused: dict[str, Any], shown: str) -> None:
    with pytest.raises(ConfigError, match=shown):
        TrainConfig(**refused)


def test_half_precision_is_allowed_on_cuda() -> None:
    assert TrainConfig(precision="float16", device="cuda:1").precision == "float16"


def test_every_setting_has_its_help() -> None:
    assert set(field_help(TrainConfig)) == set(TrainConfig.__dataclass_fields__)
