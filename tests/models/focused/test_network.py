import numpy as np
import pytest
import torch

from eventcargo.models.focused.network import FocusedNetwork, measured, quantile_edges
from eventcargo.models.focused.projection import EMPTY, N_BEFORE, Projection

N_SLOTS, WIDTH = 3, 8


def drawn(n: int, longest: int, seed: int) -> Projection:
    """Random projected sequences."""
    rng = np.random.default_rng(seed)
    slots = np.full((n, longest + 1), EMPTY)
    for row, length in enumerate(rng.integers(longest + 1, size=n)):
        slots[row, :length], slots[row, length] = rng.integers(N_SLOTS, size=length), N_SLOTS
    places = np.cumsum(rng.integers(1, 4, slots.shape), axis=1).astype(np.float32)
    times = np.cumsum(rng.exponential(1.0, slots.shape), axis=1).astype(np.float32)
    return Projection(slots, places, times, rng.random((*slots.shape, 3 * N_BEFORE)).astype(np.float32))


def network_of(projections: list[Projection], seeds: list[int]) -> FocusedNetwork:
    edges = [[quantile_edges(each, 4) for each in measured(one, N_SLOTS)] for one in projections]
    stacked = [torch.from_numpy(np.stack([own[at] for own in edges])) for at in range(3)]
    made = FocusedNetwork(stacked, WIDTH, seeds)
    with torch.no_grad():
        made.out.copy_(torch.randn(made.out.shape, generator=torch.Generator().manual_seed(1)))
    return made


@torch.no_grad()
def test_networks_side_by_side_are_those_one_by_one() -> None:
    projections = [drawn(20, 9, 1), drawn(20, 5, 2)]
    both = network_of(projections, [3, 4])
    logits = both(projections)
    for at in range(2):
        np.testing.assert_allclose(both.take([at])([projections[at]])[0], logits[at], atol=1e-5)


@torch.no_grad()
def test_neighbours_in_a_batch_and_padding_change_nothing() -> None:
    projection = drawn(20, 9, 1)
    network = network_of([projection], [3])
    logits = network([projection])[0]
    for row in range(20):
        alone = projection.rows(np.array([row]))
        np.testing.assert_allclose(network([alone])[0], logits[row : row + 1], atol=1e-5)
        np.testing.assert_allclose(network([alone.widened(15)])[0], logits[row : row + 1], atol=1e-5)


@torch.no_grad()
def test_order_counts_distances_and_times_each_matter() -> None:
    projection = drawn(20, 9, 1)
    network = network_of([projection], [3])
    logits = network([projection])[0]
    changed = [
        Projection(projection.slots, projection.places * 2, projection.times, projection.before),
        Projection(projection.slots, projection.places, projection.times * 2, projection.before),
        Projection(projection.slots, projection.places, projection.times, projection.before + 1),
        projection.hide(np.zeros((20, 1), np.int64)),
    ]
    for other in changed:
        assert not np.allclose(network([other])[0], logits, atol=1e-3)


def test_the_gradient_reaches_every_weight() -> None:
    projection = drawn(20, 9, 1)
    network = network_of([projection], [3])
    network([projection]).square().sum().backward()  # type: ignore[no-untyped-call]
    assert all(
        weight.grad is not None and bool(weight.grad.abs().sum() > 0) for weight in network.parameters()
    )


def test_a_new_network_predicts_the_base_rate() -> None:
    projection = drawn(20, 9, 1)
    network = FocusedNetwork([torch.zeros(1, N_SLOTS, 2)] * 3, WIDTH, [0])
    network.start_at(torch.tensor([0.2]))
    assert torch.sigmoid(network([projection])[0]).tolist() == pytest.approx([0.2] * 20)


def test_what_is_measured_is_what_was_before_each_entry() -> None:
    slots = np.array([[0, 1, 0, 3]])
    places = np.array([[2.0, 5.0, 6.0, 9.0]], np.float32)
    zeros = np.zeros((1, 4, 3 * N_BEFORE), np.float32)
    counts, since, _ = measured(Projection(slots, places, places, zeros), N_SLOTS)
    assert counts[:, 0].tolist() == [0.0, 1.0, 1.0, 2.0]
    assert since[1:, 0].tolist() == [3.0, 4.0, 3.0]
    assert np.isnan(since[0]).all()
    assert np.isnan(since[:, 2]).all()
