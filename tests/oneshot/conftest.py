import numpy as np
import pytest

from eventcargo import EventDataset, Vocabulary
from eventcargo.models.calibration import Calibration
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.simulation import simulate
from eventcargo.simulation.exact import ExactConfig, ExactProcess

SHAPE = TransformerConfig(width=16, layers=1, heads=2, feedforward=16, max_length=64)


@pytest.fixture(scope="session")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=100)


@pytest.fixture(scope="session")
def oracle(process: ExactProcess) -> Oracle:
    return Oracle(process)


@pytest.fixture(scope="session")
def sampled(process: ExactProcess) -> EventDataset:
    return process.sample(300, seed=100).data


@pytest.fixture(scope="session")
def chain() -> EventDataset:
    return simulate("chain", sequences=600, labels=3, event_types=20, seed=100).data


@pytest.fixture(scope="session")
def fitted(chain: EventDataset) -> Transformer:
    """A linear term with a Transformer that adds noise, and a gate that keeps it out of two labels."""
    vocabulary = Vocabulary.from_dataset(chain)
    term = fit_linear(chain, vocabulary, SHAPE.max_length, LinearConfig(workers=1))
    model = Transformer(SHAPE, vocabulary, chain.label_names, linear=term).eval()
    with_noise = np.random.default_rng(0).normal(0, 0.05, tuple(model.end_head.weight.shape))
    model.end_head.weight.data += model.end_head.weight.new_tensor(with_noise)
    model.calibrate(Calibration(np.array([0.0, 1.0, 0.0]), np.array([1.2, 0.9, 1.0]), np.ones(3)))
    return model
