import numpy as np
import pytest
from scipy.stats import kstest

from eventcargo.batches import Batches
from eventcargo.events import EventDataset, EventSequence
from eventcargo.models.focused.rhythm import rhythm_p_values
from eventcargo.vocabulary import Vocabulary

NAMES = tuple("abcdef")


def drawn(n: int = 2_000, seed: int = 0) -> EventDataset:
    rng = np.random.default_rng(seed)
    sequences = []
    for row in range(n):
        events = rng.choice(list(NAMES), 20)
        times = np.cumsum(rng.exponential(1.0, len(events)))
        sequences.append(EventSequence(f"{row:05}", tuple(events), tuple(times.tolist()), ()))
    return EventDataset.from_sequences(sequences)


def holds(sequence: EventSequence, kind: str) -> bool:
    at = [place for place, event in enumerate(sequence.events) if event == "a"]
    times = [sequence.times[place] for place in at]
    if kind == "count":
        return len(at) >= 4
    if kind == "early":
        return bool(at) and at[0] < 0.2 * len(sequence.events)
    if kind == "late":
        return bool(at) and at[-1] >= len(sequence.events) - 3
    if kind == "parity":
        return len(at) % 2 == 1
    return len(times) > 1 and (min(np.diff(times)) < 0.5 if kind == "close" else max(np.diff(times)) > 6)


def p_values(data: EventDataset, y: np.ndarray) -> dict[str, float]:
    """Of a single label whose base rate is all that is known."""
    vocabulary = Vocabulary(NAMES)
    batch = Batches(data, vocabulary, 64).take(np.arange(len(data)))
    errors, variances = (y - y.mean())[:, None], np.full((len(y), 1), y.mean() * (1 - y.mean()))
    found = rhythm_p_values(batch, len(vocabulary), errors, variances)[0]
    return {name: float(found[at]) for name, at in zip(NAMES, vocabulary.lookup(NAMES), strict=True)}


@pytest.mark.parametrize("kind", ["count", "early", "late", "parity", "close", "far"])
def test_the_event_type_whose_rhythm_decides_is_found(kind: str) -> None:
    data = drawn()
    found = p_values(data, np.array([holds(sequence, kind) for sequence in data], float))
    assert found["a"] < 1e-20
    assert found["a"] < 1e-10 * min(found[name] for name in NAMES[1:])


def test_p_values_of_mere_noise_are_not_too_small() -> None:
    data = drawn(600)
    drawn_labels = (np.random.default_rng(seed).random(600) < 0.3 for seed in range(60))
    found = [value for y in drawn_labels for value in p_values(data, y.astype(float)).values()]
    # corrected for eight measures, which depend on each other, they are too large if anything
    assert kstest(found, "uniform", alternative="greater").pvalue > 1e-3
    assert np.mean(np.array(found) < 0.05) < 0.05


def test_labels_in_blocks_are_tested_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data, vocabulary = drawn(300), Vocabulary(NAMES)
    batch = Batches(data, vocabulary, 64).take(np.arange(300))
    errors = np.random.default_rng(0).normal(size=(300, 5))
    whole = rhythm_p_values(batch, len(vocabulary), errors, np.ones((300, 5)))
    monkeypatch.setattr("eventcargo.models.focused.rhythm.BLOCK_LABELS", 2)
    np.testing.assert_allclose(rhythm_p_values(batch, len(vocabulary), errors, np.ones((300, 5))), whole)


def test_sequences_without_events_are_no_trouble() -> None:
    data = EventDataset.from_sequences([EventSequence(name, (), (), ()) for name in "xy"])
    batch = Batches(data, Vocabulary(NAMES), 16).take(np.arange(2))
    found = rhythm_p_values(batch, len(Vocabulary(NAMES)), np.ones((2, 1)), np.ones((2, 1)))
    assert (found == 1).all()
