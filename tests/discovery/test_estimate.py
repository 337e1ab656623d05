import pytest

from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.estimate import count_weights, estimate
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.simulation import simulate
from eventcargo.vocabulary import Vocabulary


@pytest.mark.parametrize("size", ["tiny", "small", "paper"])
def test_the_number_of_weights_is_about_right(size: str) -> None:
    names, labels, shape = tuple(f"E{at:05}" for at in range(3000)), ("L0", "L1"), transformer_size(size)
    model = Transformer(shape, Vocabulary(names), labels)
    exact = sum(weight.numel() for weight in model.parameters())
    assert count_weights(shape, len(names), len(labels)) == pytest.approx(exact, rel=0.15)


def test_more_sequences_take_longer_and_more_memory() -> None:
    small, large = (estimate(simulate("chain", sequences=size).data, DiscoverConfig()) for size in (50, 500))
    assert large.seconds > small.seconds
    assert large.bytes > small.bytes


def test_the_paper_s_test_is_known_to_be_slow() -> None:
    data = simulate("chain", sequences=50).data
    ours, paper = (estimate(data, DiscoverConfig(preset=name, size="tiny")) for name in ("default", "paper"))
    assert paper.steps[1].seconds > 1.2 * ours.steps[1].seconds
