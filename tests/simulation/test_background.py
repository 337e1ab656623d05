import numpy as np
import pytest

from eventcargo.simulation.background import Topics, accumulate, draw_lengths, draw_times, zipf_weights


def test_lengths_have_their_mean_and_stay_within_bounds() -> None:
    lengths = draw_lengths(np.random.default_rng(0), 20_000, 100, 35, 20, 192)
    assert (lengths.min(), lengths.max()) == (20, 192)
    assert lengths.mean() == pytest.approx(100, abs=1)


def test_zipf_weights_fall_with_rank() -> None:
    assert zipf_weights(3, 1.0) == pytest.approx([6 / 11, 3 / 11, 2 / 11])


def test_times_are_sums_of_gaps_that_start_anew_in_every_sequence() -> None:
    times = accumulate(np.array([1.0, 2.0, 5.0]), np.array([2, 0, 1]))
    assert times.tolist() == [1.001, 3.002, 5.001]


def test_many_gaps_are_short() -> None:
    gaps = np.diff(draw_times(np.random.default_rng(0), np.array([20_000])))
    assert np.mean(gaps < 0.1) == pytest.approx(0.4, abs=0.05)


def test_background_events_come_from_the_common_types_alone() -> None:
    common = np.array([3, 5, 8], np.int32)
    rows = np.repeat(np.arange(50, dtype=np.int32), 20)
    assert set(Topics(np.random.default_rng(0), common, 4, 1.0).draw(np.random.default_rng(1), 50, rows)) == {
        3,
        5,
        8,
    }


def test_a_sequence_keeps_to_its_topics() -> None:
    rng = np.random.default_rng(0)
    topics = Topics(rng, np.arange(1_000, dtype=np.int32), 20, 1.0)
    rows = np.repeat(np.arange(200, dtype=np.int32), 100)
    events = topics.draw(rng, 200, rows).reshape(200, 100)
    distinct = np.mean([len(set(row)) for row in events])
    assert distinct < 0.95 * np.mean(
        [len(set(row)) for row in rng.permutation(events.ravel()).reshape(200, 100)]
    )
