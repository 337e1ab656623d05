from typing import Any

import pytest

from eventcargo.errors import ConfigError, DataError
from eventcargo.models.transformer.config import SIZES, TransformerConfig, transformer_size


@pytest.mark.parametrize(
    "allowed",
    [
        {"width": 2, "heads": 1},
        {"layers": 1},
        {"feedforward": 1},
        {"label_layers": 0},
        {"dropout": 0.0},
        {"dropout": 0.99},
        {"max_length": 3},
        {"activation": "gelu"},
        {"times": "additive"},
    ],
)
def test_the_edge_of_what_is_allowed_is_accepted(allowed: dict[str, Any]) -> None:
    config = TransformerConfig(**allowed)
    assert all(getattr(config, name) == value for name, value in allowed.items())


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ({"width": 0}, "width=0"),
        ({"width": 12, "heads": 4}, "width=12: with 4 heads it must be a multiple of 8"),
        ({"layers": 0}, "layers=0"),
        ({"heads": 0}, "heads=0"),
        ({"feedforward": 0}, "feedforward=0"),
        ({"label_layers": -1}, "label_layers=-1"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"dropout": -0.1}, "dropout=-0.1"),
        ({"max_length": 2}, "max_length=2: use a whole number above 2"),
        ({"activation": "relu"}, "activation='relu': use gelu"),
        ({"times": "none"}, "times='none': use rotary"),
    ],
)
def test_what_lies_beyond_is_refused_with_its_value(refused: dict[str, Any], shown: str) -> None:
    with pytest.raises(ConfigError, match=shown):
        TransformerConfig(**refused)


def test_a_preset_can_be_changed() -> None:
    changed = transformer_size("small", max_length=77)
    assert changed.max_length == 77
    assert changed.width == SIZES["small"].width


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'huge'.*tiny, small, base, paper"):
        transformer_size("huge")


def test_an_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="'depth'"):
        TransformerConfig.from_dict({"depth": 3})
