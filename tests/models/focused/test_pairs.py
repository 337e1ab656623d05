import numpy as np
import pytest

from eventcargo.batches import Batch, Batches
from eventcargo.events import EventDataset, EventSequence
from eventcargo.models.focused.pairs import pair_scores
from eventcargo.vocabulary import Vocabulary

VOCABULARY = Vocabulary(tuple("abcdefgh"))
N = 2_000


def batch_of(texts: list[str]) -> Batch:
    data = EventDataset.from_sequences(
        [
            EventSequence(f"{at:04}", tuple(text), tuple(map(float, range(len(text)))), ())
            for at, text in enumerate(texts)
        ]
    )
    return Batches(data, VOCABULARY, 64).take(np.arange(len(texts)))


def half_there(rng: np.random.Generator) -> list[str]:
    """Each event type in half of the sequences, in random order."""
    return ["".join(rng.permutation([name for name in "abcdefgh" if rng.random() < 0.5])) for _ in range(N)]


def scores_of(truth: np.ndarray, batch: Batch) -> dict[str, float]:
    """The significant event types, strongest first, for a model that knows the base rate."""
    rate = truth.mean()
    errors, variances = (truth - rate)[:, None], np.full((N, 1), rate * (1 - rate))
    scores = pair_scores(batch, len(VOCABULARY), errors, variances, 0.01)[0]
    order = [at for at in np.argsort(-scores, kind="stable") if scores[at] > 0]
    return dict(zip(VOCABULARY.decode(order), scores[order].tolist(), strict=True))


def test_two_event_types_of_which_one_but_not_both_brings_the_label_are_found() -> None:
    texts = half_there(np.random.default_rng(0))
    truth = np.array([("a" in text) != ("c" in text) for text in texts])
    scores = scores_of(truth, batch_of(texts))
    assert set(scores) == {"a", "c"}
    assert scores["a"] > 22  # their order, whose score is two thirds of that, need not be looked at


@pytest.mark.parametrize("find", [str.find, str.rfind])
def test_two_event_types_whose_order_brings_the_label_are_found(find) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    texts = ["".join(rng.permutation([*"abcdefgh", "b", "e"])) for _ in range(N)]
    truth = np.array([find(text, "b") < find(text, "e") for text in texts])
    scores = scores_of(truth, batch_of(texts))
    assert set([*scores][:2]) == {"b", "e"}
    assert scores["b"] == pytest.approx(N**0.5, rel=1e-3)  # nothing but their order decides


def test_random_labels_have_no_pair() -> None:
    rng = np.random.default_rng(1)
    batch = batch_of(half_there(rng))
    assert [scores_of(rng.random(N) < 0.3, batch) for _ in range(20)] == [{}] * 20
