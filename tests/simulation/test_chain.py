from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation.chain import ChainConfig, simulate_chain
from eventcargo.simulation.simulated import Simulated

PValues = Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.float64]]


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_chain(ChainConfig())


def chain(simulated: Simulated, label: str) -> tuple[NDArray[np.bool_], ...]:
    """Where u, x and the label are, each (sequences, 1)."""
    x, u = simulated.rules[label].split(", itself raised by ")
    columns = [simulated.data.event_names.index(name) for name in (u, x)]
    present = simulated.data.presence().toarray()[:, columns].astype(bool)
    labels = simulated.data.label_matrix().toarray().astype(bool)
    return present[:, :1], present[:, 1:], labels[:, [simulated.data.label_names.index(label)]]


def test_the_truth_is_the_middle_of_the_chain_alone(simulated: Simulated) -> None:
    for label, rule in simulated.rules.items():
        assert simulated.truth.boundary(label) == [rule.split(",")[0]]


def test_the_start_of_the_chain_depends_on_the_label(simulated: Simulated, p_values: PValues) -> None:
    assert all(
        p_values(u, y)[0, 0] < 1e-10 for u, _, y in (chain(simulated, name) for name in simulated.rules)
    )


def test_given_the_middle_the_start_is_independent(simulated: Simulated, p_values: PValues) -> None:
    found = []
    for label in simulated.rules:
        u, x, y = chain(simulated, label)
        found += [p_values(u[rows], y[rows])[0, 0] for rows in (x[:, 0], ~x[:, 0])]
    assert min(found) > 0.05 / len(found)


def test_the_start_comes_before_the_middle(simulated: Simulated) -> None:
    x, u = simulated.rules["L000"].split(", itself raised by ")
    both = [one.events for one in simulated.data if u in one.events and x in one.events]
    assert both
    assert all(events.index(u) < events.index(x) for events in both)


def test_chances_are_as_asked_for(simulated: Simulated) -> None:
    u, x, y = chain(simulated, "L000")
    shares = [u.mean(), x[u].mean(), x[~u].mean(), y[x].mean(), y[~x].mean()]
    assert shares == pytest.approx([0.4, 0.8, 0.15, 0.9, 0.05], abs=0.03)


@pytest.mark.parametrize("knob", ["start", "passes_on", "alone", "causes", "leak"])
def test_a_chance_above_one_is_refused_and_one_is_allowed(knob: str) -> None:
    with pytest.raises(ConfigError, match=f"{knob}=1.1"):
        ChainConfig(**{knob: 1.1})
    ChainConfig(**{knob: 1.0})
