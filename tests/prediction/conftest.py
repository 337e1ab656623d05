import numpy as np
import pytest
import torch

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.models.calibration import Calibration
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer


@pytest.fixture(scope="package")
def either() -> Transformer:
    """A model that says that either of a and b brings L0, and c without d brings L1."""
    weights = torch.tensor([[12.0, 0.0], [12.0, 0.0], [0.0, 8.0], [0.0, -12.0]])
    term = LinearTerm(8, 1, {"presence": np.arange(4, 8)}, weights, torch.tensor([-5.0, -4.0]))
    shape = transformer_size("tiny", max_length=10)
    model = Transformer(shape, Vocabulary(tuple("abcd")), ("L0", "L1"), linear=term)
    model.calibrate(Calibration(np.zeros(2), np.ones(2), np.ones(2)))
    return model.eval()


@pytest.fixture
def letters() -> EventDataset:
    """300 sequences of the letters a to d and a stranger; one is longer than the model reads."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdx"), rng.integers(1, 7))) for _ in range(299)]
    texts.append("ccccccccccadd")
    return EventDataset.from_sequences(
        [
            EventSequence(
                f"s{at:03}", tuple(text), tuple(100.0 * at + place for place in range(len(text))), ()
            )
            for at, text in enumerate(texts)
        ]
    )
