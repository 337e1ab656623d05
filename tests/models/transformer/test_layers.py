import pytest
import torch
from torch.nn import functional

from eventcargo.models.transformer.layers import Attention, FeedForward, Timing, attend, rotate


def timing(times: torch.Tensor, rotates: bool = True) -> Timing:
    return Timing.of(times, torch.tensor(1.0), pairs=4, rotates=rotates)


def test_times_enter_as_logs_of_time_and_gap() -> None:
    found = timing(torch.tensor([[0.0, 1.0, 4.0]]))
    assert torch.allclose(found.logs[0, :, 0], torch.tensor([0.0, 1.0, 4.0]).log1p())
    assert torch.allclose(found.logs[0, :, 1], torch.tensor([0.0, 1.0, 3.0]).log1p())


def test_times_are_counted_in_units_of_the_scale() -> None:
    scaled = Timing.of(torch.tensor([[0.0, 10.0]]), torch.tensor(10.0), pairs=4, rotates=True)
    assert torch.equal(scaled.logs, timing(torch.tensor([[0.0, 1.0]])).logs)


def test_time_zero_in_the_padding_makes_no_nan() -> None:
    assert timing(torch.tensor([[0.0, 5.0, 0.0]])).logs.isfinite().all()


def products(times: torch.Tensor, rotates: bool = True) -> torch.Tensor:
    """Products of equal vectors, turned, between all positions."""
    turned = rotate(torch.ones(1, 1, times.shape[1], 8), timing(times, rotates))
    return (turned @ turned.transpose(2, 3))[0, 0]


def test_products_depend_on_differences_of_position_and_time_only() -> None:
    found = products(torch.tensor([[0.0, 2.5, 5.0, 7.5]]))
    assert torch.allclose(found.diagonal(1), found[0, 1].expand(3), atol=1e-5)


def test_products_depend_on_time_where_it_rotates() -> None:
    near, far = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 2.0]])
    assert not torch.allclose(products(near), products(far))
    assert torch.allclose(products(near, rotates=False), products(far, rotates=False))


def test_attention_does_not_see_what_comes_later() -> None:
    attention, x = Attention(8, 2), torch.randn(1, 4, 8)
    changed = x.clone()
    changed[0, 3] += 1
    times = Timing.of(torch.zeros(1, 4), torch.tensor(1.0), pairs=2, rotates=True)
    before, after = attention(x, x, times), attention(changed, changed, times)
    assert torch.equal(before[0, :3], after[0, :3])
    assert not torch.equal(before[0, 3], after[0, 3])


def test_swiglu_has_a_gate_and_gelu_has_none() -> None:
    assert FeedForward(4, 6, "swiglu").enter.out_features == 12
    assert FeedForward(4, 6, "gelu").enter.out_features == 6


@pytest.mark.parametrize("width", [8, 16, 24])
def test_attention_is_the_same_for_heads_of_any_width(width: int) -> None:
    query, key, value = torch.randn(3, 2, 4, 9, width, generator=torch.Generator().manual_seed(0))
    expected = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert torch.allclose(attend(query, key, value), expected, atol=1e-6)


@pytest.mark.parametrize("heads", [1, 4])
def test_attention_without_gradients_is_the_same(heads: int) -> None:
    torch.manual_seed(3)
    attention, x, source = Attention(32, heads), torch.randn(2, 5, 32), torch.randn(2, 5, 32)
    times = Timing.of(torch.rand(2, 5).cumsum(1), torch.tensor(0.1), pairs=16 // heads, rotates=True)
    expected = attention(x, source, times)
    with torch.no_grad():
        assert torch.allclose(attention(x, source, times), expected, atol=1e-6)
