from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation.fleet import FleetConfig, simulate_fleet
from eventcargo.simulation.simulated import Simulated

SMALL = {"sequences": 1_000, "event_types": 400, "labels": 12, "max_boundary": 8}


@pytest.fixture(scope="module")
def fleet() -> Simulated:
    """The default size, without noise."""
    return simulate_fleet(FleetConfig(label_noise=0.0))


@pytest.fixture(scope="module")
def present(fleet: Simulated) -> dict[str, NDArray[np.bool_]]:
    """Where each cause occurs."""
    presence = fleet.data.presence().tocsc()
    number = {name: i for i, name in enumerate(fleet.data.event_names)}
    causes = fleet.truth.edges["event"].unique().to_list()
    return {event: presence[:, [number[event]]].toarray()[:, 0].astype(bool) for event in causes}


def literals(rule: str, present: dict[str, NDArray[np.bool_]]) -> list[list[NDArray[np.bool_]]]:
    """Where each literal of each conjunction is met, read from the rule in words."""
    return [
        [~present[word[1:]] if word[0] == "!" else present[word] for word in part.strip("()").split(" & ")]
        for part in rule.split(" | ")
    ]


def conjunctions(fleet: Simulated, present: dict[str, NDArray[np.bool_]]) -> Iterator[Any]:
    """For every conjunction: its literals, where it holds, where another one of its rule holds."""
    for rule in fleet.rules.values():
        parts = literals(rule, present)
        held = [np.all(part, axis=0) for part in parts]
        for i, part in enumerate(parts):
            others = [other for j, other in enumerate(held) if j != i]
            yield part, held[i], np.any(others, axis=0) if others else np.zeros_like(held[i])


def test_without_noise_a_label_is_its_rule(fleet: Simulated, present: dict[str, NDArray[np.bool_]]) -> None:
    labels = fleet.data.label_matrix().toarray().astype(bool)
    for column, rule in enumerate(fleet.rules.values()):
        expected = np.any([np.all(part, axis=0) for part in literals(rule, present)], axis=0)
        assert (labels[:, column] == expected).all()


def test_every_literal_has_near_misses(fleet: Simulated, present: dict[str, NDArray[np.bool_]]) -> None:
    misses = []
    for part, _, other_holds in conjunctions(fleet, present):
        for i, literal in enumerate(part):
            rest = np.all([other for j, other in enumerate(part) if j != i], axis=0)
            misses.append((rest & ~literal & ~other_holds).sum())
    assert min(misses) >= 3


def test_every_conjunction_holds_alone_somewhere(
    fleet: Simulated, present: dict[str, NDArray[np.bool_]]
) -> None:
    alone = [(held & ~other).sum() for _, held, other in conjunctions(fleet, present)]
    assert min(alone) >= 8


def test_one_literal_of_a_pair_is_no_giveaway(
    fleet: Simulated, present: dict[str, NDArray[np.bool_]]
) -> None:
    shares = [held[literal].mean() for part, held, _ in conjunctions(fleet, present) for literal in part[1:]]
    assert max(shares) < 0.85


def test_the_rarest_label_is_common_enough(fleet: Simulated) -> None:
    assert fleet.data.support.min() >= 30


def test_supports_are_long_tailed(fleet: Simulated) -> None:
    support = fleet.data.support
    assert 50 <= support.max() / support.min() <= 200
    assert np.median(support) < 0.3 * support.max()


def test_lengths_are_as_asked_for(fleet: Simulated) -> None:
    lengths = fleet.data.lengths
    assert (lengths.min(), lengths.max()) == (20, 192)
    assert lengths.mean() == pytest.approx(100, abs=2)
    assert lengths.std() == pytest.approx(35, abs=2)


def test_all_event_types_occur_at_the_default_size(fleet: Simulated) -> None:
    assert len(fleet.data.event_names) == 2_000


def test_causes_are_no_frequent_background(fleet: Simulated, present: dict[str, NDArray[np.bool_]]) -> None:
    shares = [where.mean() for where in present.values()]
    assert np.quantile(shares, 0.05) < 0.01
    assert np.median(shares) < 0.1


def test_some_event_types_are_shared_by_labels(fleet: Simulated) -> None:
    assert fleet.truth.edges["event"].value_counts()["count"].max() == 5


def test_noise_loses_and_adds_equally_many_labels() -> None:
    clean = simulate_fleet(FleetConfig(**SMALL, label_noise=0.0)).data.label_matrix().toarray()
    noisy = simulate_fleet(FleetConfig(**SMALL, label_noise=0.2)).data.label_matrix().toarray()
    lost, added = ((clean > noisy).sum() / clean.sum(), (clean < noisy).sum() / clean.sum())
    assert (lost, added) == (pytest.approx(0.2, abs=0.04), pytest.approx(0.2, abs=0.04))


def test_labels_without_cause_occur_at_random() -> None:
    fleet = simulate_fleet(FleetConfig(**SMALL, empty_share=0.25))
    empty = [label for label, events in fleet.truth.boundaries.items() if not events]
    assert len(empty) == 3
    assert {fleet.rules[label] for label in empty} == {"at random"}
    assert all(fleet.truth.support[label] for label in empty)


def test_a_fleet_of_labels_without_any_cause_is_possible() -> None:
    assert len(simulate_fleet(FleetConfig(**SMALL, empty_share=1.0)).truth) == 0


def test_crowded_plants_are_scaled_down_to_fit() -> None:
    fleet = simulate_fleet(FleetConfig(sequences=200, event_types=2_000, labels=50, max_boundary=8))
    assert fleet.data.lengths.mean() == pytest.approx(100, abs=10)


def test_all_causes_may_have_both_decoys() -> None:
    config = FleetConfig(**SMALL, companion_share=1.0, precursor_share=1.0)
    assert len(simulate_fleet(config).truth.labels) == 12


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"),
    [
        ("sequences", 0, 1),
        ("event_types", 107, 108),
        ("labels", 0, 1),
        ("label_noise", 1.01, 1.0),
        ("length_mean", 19, 20),
        ("length_mean", 193, 192),
        ("length_sd", -1, 0),
        ("length_min", 0, 1),
        ("length_max", 19, 100),
        ("max_boundary", 501, 500),
        ("max_boundary", 0, 1),
        ("empty_share", -0.1, 0.0),
        ("negated_share", 0.51, 0.5),
        ("or_share", 1.1, 1.0),
        ("hub_share", 1.1, 1.0),
        ("near_miss", 10.1, 10.0),
        ("companion_share", 1.1, 1.0),
        ("precursor_share", 1.1, 1.0),
        ("rarest_support", 0, 1),
        ("support_ratio", 0.9, 1.0),
        ("topics", 0, 1),
        ("zipf", -0.1, 0.0),
    ],
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: float, allowed: float
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        FleetConfig(**{knob: refused})
    FleetConfig(**{knob: allowed})


def test_no_sequence_is_longer_than_allowed_where_plants_crowd() -> None:
    config = FleetConfig(**SMALL, length_mean=22, length_sd=2, length_max=24)
    assert simulate_fleet(config).data.lengths.max() == 24
