from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation.confounded import ConfoundedConfig, simulate_confounded
from eventcargo.simulation.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_confounded(ConfoundedConfig(sequences=20_000))


def test_the_truth_is_the_recorded_cause_alone(simulated: Simulated) -> None:
    for label, rule in simulated.rules.items():
        assert simulated.truth.boundary(label) == [rule.split(" | hidden cause")[0]]


def test_the_decoy_depends_on_the_label_whatever_the_cause_does(
    simulated: Simulated, p_values: Callable[..., NDArray[np.float64]]
) -> None:
    cause, decoy = simulated.rules["L000"].split(" | hidden cause, which also raises ")
    columns = [simulated.data.event_names.index(name) for name in (cause, decoy)]
    present = simulated.data.presence().toarray()[:, columns].astype(bool)
    label = simulated.data.label_matrix().toarray()[:, :1].astype(bool)
    for rows in (present[:, 0], ~present[:, 0]):
        assert p_values(present[rows, 1:], label[rows])[0, 0] < 1e-4


def test_the_share_of_carriers_is_that_of_a_noisy_or(simulated: Simulated) -> None:
    expected = 1 - (1 - 0.3 * 0.8) * (1 - 0.3 * 0.6) * (1 - 0.02)
    assert simulated.data.support / len(simulated.data) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    "knob",
    ["cause_share", "hidden_share", "decoy", "decoy_alone", "strength", "hidden_strength", "leak"],
)
def test_a_chance_above_one_is_refused_and_one_is_allowed(knob: str) -> None:
    with pytest.raises(ConfigError, match=f"{knob}=1.1"):
        ConfoundedConfig(**{knob: 1.1})
    ConfoundedConfig(**{knob: 1.0})
