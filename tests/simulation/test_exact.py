from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError
from eventcargo.simulation.automata import at_least, before, boolean, right_after
from eventcargo.simulation.exact import ExactConfig, ExactProcess, simulate_exact
from eventcargo.simulation.rules import Conjunction, TrueRule

NAMES = ["A", "B", "C"]


@pytest.fixture(scope="module")
def tiny() -> ExactProcess:
    """Three event types and at most five events, so that all sequences can be listed."""
    config = ExactConfig(event_types=10, length_min=2, length_max=5, end=0.3, label_noise=0.1)
    rng = np.random.default_rng(5)
    rules = (
        boolean(TrueRule((Conjunction((0, 1), (2,)),)), NAMES),
        boolean(TrueRule((Conjunction((0,)), Conjunction((1, 2)))), NAMES),
        before(0, 1, NAMES),
        right_after(1, 2, NAMES),
        at_least(2, 2, NAMES),
    )
    return ExactProcess(config, rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rules)


def chance(process: ExactProcess, ids: tuple[int, ...]) -> float:
    """P(this whole sequence), by the definition of the chain."""
    probability, last = 1.0, None
    for position, event in enumerate(ids):
        row = process.first if last is None else process.following[last]
        probability *= (1 - ending(position)) * row[event]
        last = event
    return probability * ending(len(ids))


def ending(length: int) -> float:
    return 1.0 if length == 5 else 0.3 if length >= 2 else 0.0


def every_sequence() -> list[tuple[int, ...]]:
    return [ids for length in range(2, 6) for ids in product(range(3), repeat=length)]


def verdicts(ids: tuple[int, ...]) -> list[bool]:
    """The five rules, written out."""
    seen = set(ids)
    return [
        {0, 1} <= seen and 2 not in seen,
        0 in seen or {1, 2} <= seen,
        {0, 1} <= seen and ids.index(0) < ids.index(1),
        (1, 2) in list(pairwise(ids)),
        ids.count(2) >= 2,
    ]


def listed_posterior(process: ExactProcess, prefix: tuple[int, ...]) -> NDArray[np.float64]:
    """P(label | prefix) by adding up all sequences that start so."""
    total, held = 0.0, np.zeros(5)
    for ids in every_sequence():
        if ids[: len(prefix)] == prefix:
            weight = chance(process, ids)
            total += weight
            held += weight * np.array(verdicts(ids))
    return 0.1 + 0.8 * held / total


def test_chances_of_all_sequences_add_up_to_one(tiny: ExactProcess) -> None:
    assert sum(chance(tiny, ids) for ids in every_sequence()) == pytest.approx(1.0, abs=1e-12)


def test_posteriors_equal_the_sum_over_all_completions(tiny: ExactProcess) -> None:
    for length in range(6):
        for prefix in product(range(3), repeat=length):
            assert np.abs(tiny.labels(prefix) - listed_posterior(tiny, prefix)).max() < 1e-12


def test_next_event_equals_the_sum_over_all_completions(tiny: ExactProcess) -> None:
    for prefix in [(), (0,), (1, 2), (2, 2, 0), (0, 1, 2, 1, 0)]:
        weights = np.zeros(4)
        for ids in every_sequence():
            if ids[: len(prefix)] == prefix:
                weights[ids[len(prefix)] if len(ids) > len(prefix) else 3] += chance(tiny, ids)
        assert np.abs(tiny.next_event(prefix) - weights / weights.sum()).max() < 1e-12


def test_complete_sequences_leave_only_the_noise(tiny: ExactProcess) -> None:
    for ids in every_sequence():
        assert tiny.labels_complete(ids) == pytest.approx(np.where(verdicts(ids), 0.9, 0.1), abs=1e-12)


def test_all_prefixes_at_once_give_the_same_as_one_by_one(tiny: ExactProcess) -> None:
    ids = (2, 0, 1, 1)
    posteriors, following = tiny.label_posteriors(ids), tiny.next_event_probabilities(ids)
    assert (posteriors.shape, following.shape) == ((5, 5), (5, 4))
    for length in range(5):
        assert (posteriors[length] == tiny.labels(ids[:length])).all()
        assert (following[length] == tiny.next_event(ids[:length])).all()


def test_next_event_of_the_full_length_is_the_end(tiny: ExactProcess) -> None:
    assert tiny.next_event((0,) * 5).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_the_posterior_is_a_martingale() -> None:
    """P(label | prefix) is the mean of what it will be after one more event or the end."""
    process = ExactProcess.from_config(ExactConfig(), seed=2)
    prefix = [4, 8, 9, 0]
    later = [process.labels([*prefix, event]) for event in range(12)] + [process.labels_complete(prefix)]
    assert process.next_event(prefix) @ np.array(later) == pytest.approx(process.labels(prefix), abs=1e-12)


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(), seed=3)


N = 40_000


def four_sigma(share: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.asarray(4 * np.sqrt(share * (1 - share) / count) + 1e-9)


def test_sampled_labels_have_their_exact_frequency(process: ExactProcess) -> None:
    exact = process.labels([])
    found = process.sample(N, seed=4).data.support / N
    assert (np.abs(found - exact) < four_sigma(exact, N)).all()


def test_sampled_labels_given_a_first_event_have_their_exact_frequency(process: ExactProcess) -> None:
    data = process.sample(N, seed=5).data
    first = data.events[data.rows.starts]
    common = int(np.bincount(first).argmax())
    labels = data.label_matrix().toarray()[first == common]
    exact = process.labels([common])
    assert (np.abs(labels.mean(0) - exact) < four_sigma(exact, len(labels))).all()


def test_sampled_events_follow_the_chain(process: ExactProcess) -> None:
    data = process.sample(N, seed=6).data
    second = data.events[data.rows.starts + 1][data.events[data.rows.starts] == 0]
    exact = process.next_event([0])[:-1]
    found = np.bincount(second, minlength=12) / len(second)
    assert (np.abs(found - exact) < four_sigma(exact, len(second))).all()


def test_sampled_lengths_end_at_their_chance(process: ExactProcess) -> None:
    lengths = process.sample(N, seed=7).data.lengths
    exact = np.array([0.1 * 0.9**extra for extra in range(17)] + [0.9**17])
    found = np.bincount(lengths, minlength=21)[3:] / N
    assert (np.abs(found - exact) < four_sigma(exact, N)).all()


def test_without_noise_sampled_labels_are_certain() -> None:
    process = ExactProcess.from_config(ExactConfig(label_noise=0.0))
    data = process.sample(300).data
    labels = data.label_matrix().toarray()
    for row, sequence in enumerate(data):
        ids = [int(name[1:]) for name in sequence.events]
        assert (process.labels_complete(ids) == labels[row]).all()


def test_truth_holds_every_kind_of_rule() -> None:
    assert list(simulate_exact(ExactConfig(sequences=50)).rules.values()) == [
        "E00000 & E00001",
        "E00002 | E00003",
        "E00004 & !E00005",
        "E00006 before E00007",
        "E00009 right after E00008",
        "E00000 at least 2 times",
    ]


def test_an_unknown_event_type_is_refused_with_its_number(tiny: ExactProcess) -> None:
    with pytest.raises(DataError, match="event type 3: this process has 0 to 2"):
        tiny.labels([0, 3])


def test_a_prefix_that_is_too_long_is_refused_with_its_length(tiny: ExactProcess) -> None:
    with pytest.raises(DataError, match="6 events; this process has at most 5"):
        tiny.next_event([0] * 6)


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("sequences", 0, 1),
        ("event_types", 9, 10),
        ("labels", 0, 1),
        ("labels", 7, 6),
        ("label_noise", 0.6, 0.5),
        ("length_min", 0, 1),
        ("length_max", 2, 3),
        ("end", 1.1, 1.0),
        ("concentration", 0.0, 0.01),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        ExactConfig(**{knob: refused})
    ExactConfig(**{knob: allowed})
