import pytest
import torch

from eventcargo.models.transformer import columns
from eventcargo.models.transformer.columns import (
    QUERIES_AT_ONCE,
    Clock,
    Maps,
    in_range,
    mixed,
    rotated,
    weighted_sums,
)
from eventcargo.models.transformer.layers import Attention, Timing, rotate

from tests.models.transformer.test_particles import SCALES, by_hand, parts


def timing(length: int) -> Timing:
    times = torch.rand(2, length, generator=torch.Generator().manual_seed(3)).cumsum(dim=1)
    return Timing.of(times, torch.tensor(0.5), 4, rotates=True)


@SCALES
@pytest.mark.parametrize("n", [5, 2 * QUERIES_AT_ONCE + 1])
def test_attention_of_the_last_positions_is_that_of_all(scale: float, rounding: float, n: int) -> None:
    query, key, value = parts(3, 2 * QUERIES_AT_ONCE + 9, scale, torch.Generator().manual_seed(1))
    found = mixed(query[..., -n:].contiguous(), key, value, n)
    assert torch.allclose(found, by_hand(query, key, value)[..., -n:], atol=rounding)


@SCALES
def test_queries_of_no_position_change_nothing(scale: float, rounding: float) -> None:
    query, key, value = parts(3, 9, scale, torch.Generator().manual_seed(1))
    found = mixed(torch.nn.functional.pad(query, (0, 7)), key, value, 9)
    assert torch.allclose(found, by_hand(query, key, value), atol=rounding)


@pytest.mark.parametrize("at_once", [1, 200])
def test_scores_in_pieces_give_the_same_sums(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value = parts(3, 9, 1.0, torch.Generator().manual_seed(1))
    whole = weighted_sums(query, key, value, 9)
    monkeypatch.setattr(columns, "SCORES_AT_ONCE", at_once)
    assert torch.allclose(weighted_sums(query, key, value, 9), whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("sums", "fine"),
    [((1.0, 2.0), True), ((0.0, 1.0), False), ((1.0, torch.inf), False), ((1.0, torch.nan), False)],
)
def test_sums_that_overflow_or_vanish_are_noticed(sums: tuple[float, float], fine: bool) -> None:
    assert in_range(torch.tensor(sums)[None]) == fine


def test_rotations_are_those_of_training() -> None:
    own, states = timing(9), torch.randn(2, 3, 9, 8, generator=torch.Generator().manual_seed(2))
    expected = rotate(states, own)  # (S, H, L, d)
    by_column = states.permute(1, 0, 3, 2)[:, :, None]  # (H, S, 1, d, L)
    found = rotated(by_column, Clock.of(own), 3)
    assert torch.allclose(found[..., :9], expected.permute(1, 0, 3, 2)[:, :, None], atol=1e-6)
    assert (found[..., 9:] == 0).all()


def test_the_weights_of_an_attention_are_prepared_once() -> None:
    attention, norm = Attention(16, 2), torch.nn.RMSNorm(16)
    assert Maps.of(attention, norm) is Maps.of(attention, norm)


@pytest.mark.parametrize("layer", ["query", "key_value", "time", "norm"])
def test_the_weights_of_an_attention_are_prepared_again_after_a_change(layer: str) -> None:
    attention, norm = Attention(16, 2), torch.nn.RMSNorm(16)
    before = Maps.of(attention, norm)
    with torch.no_grad():
        (norm if layer == "norm" else getattr(attention, layer)).weight.mul_(2)
    assert Maps.of(attention, norm) is not before


def test_weights_that_do_not_count_their_changes_are_prepared_each_time() -> None:
    with torch.inference_mode():
        attention, norm = Attention(16, 2), torch.nn.RMSNorm(16)
        assert Maps.of(attention, norm) is not Maps.of(attention, norm)
