"""Tests of the package's face, `simulate` and `REGIMES`; laws that all regimes obey."""

from dataclasses import fields

import numpy as np
import pytest

from eventcargo.config import field_help
from eventcargo.errors import ConfigError
from eventcargo.simulation import REGIMES, Simulated, simulate

SMALL = {"fleet": {"event_types": 400, "labels": 10, "max_boundary": 6}}


def make(regime: str, seed: int = 0) -> Simulated:
    return simulate(regime, sequences=120, seed=seed, **SMALL.get(regime, {}))


@pytest.mark.parametrize("regime", REGIMES)
def test_the_same_seed_gives_the_same_bytes(regime: str) -> None:
    one, other = make(regime).data, make(regime).data
    assert one.events.tobytes() == other.events.tobytes()
    assert one.times.tobytes() == other.times.tobytes()
    assert one.labels.tobytes() == other.labels.tobytes()


@pytest.mark.parametrize("regime", REGIMES)
def test_another_seed_gives_other_events(regime: str) -> None:
    assert make(regime).data.events.tobytes() != make(regime, seed=1).data.events.tobytes()


@pytest.mark.parametrize("regime", REGIMES)
def test_times_increase_strictly_within_a_sequence(regime: str) -> None:
    assert all((np.diff(sequence.times) > 0).all() for sequence in make(regime).data)


@pytest.mark.parametrize("regime", REGIMES)
def test_names_are_in_canonical_order(regime: str) -> None:
    data = make(regime).data
    for names in (data.event_names, data.label_names, data.sequence_ids.to_pylist()):
        assert list(names) == sorted(names)


@pytest.mark.parametrize("regime", REGIMES)
def test_every_event_name_occurs(regime: str) -> None:
    data = make(regime).data
    assert set(np.unique(data.events)) == set(range(len(data.event_names)))


@pytest.mark.parametrize("regime", REGIMES)
def test_truth_holds_the_support_of_every_label(regime: str) -> None:
    simulated = make(regime)
    assert list(simulated.truth.support.items()) == list(
        zip(simulated.data.label_names, simulated.data.support.tolist(), strict=True)
    )


@pytest.mark.parametrize("regime", REGIMES)
def test_every_label_has_a_rule_that_names_its_boundary(regime: str) -> None:
    simulated = make(regime)
    for label, events in simulated.truth.boundaries.items():
        assert all(event in simulated.rules[label] for event in events)


@pytest.mark.parametrize("regime", REGIMES)
def test_every_knob_has_a_help_string(regime: str) -> None:
    config = REGIMES[regime].config
    assert list(field_help(config)) == [field.name for field in fields(config)]


@pytest.mark.parametrize("regime", REGIMES)
def test_knobs_and_seed_make_the_data_again(regime: str) -> None:
    first = make(regime, seed=3)
    again = simulate(first.regime, seed=first.seed, **first.settings)
    assert first.data.events.tobytes() == again.data.events.tobytes()


def test_an_unknown_regime_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no regime 'flet'; use fleet, ordered"):
        simulate("flet")


def test_an_unknown_knob_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="ordered has no setting 'limit'; use sequences, event_types"):
        simulate("ordered", limit=3)


def test_what_is_not_given_has_its_default() -> None:
    assert len(simulate("short").data) == 4_000


@pytest.mark.parametrize("regime", REGIMES)
def test_there_are_as_many_sequences_as_asked_for(regime: str) -> None:
    assert len(make(regime).data) == 120
