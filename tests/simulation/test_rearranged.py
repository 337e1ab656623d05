"""Laws of the regimes `state`, `switch` and `window`, whose events are moved to fit the labels."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eventcargo.errors import ConfigError
from eventcargo.simulation import Simulated, simulate
from eventcargo.simulation.state import StateConfig
from eventcargo.simulation.switch import SwitchConfig
from eventcargo.simulation.window import WindowConfig, simulate_window

REGIMES = ("state", "switch", "window")

FORMS = {
    "state": r"(E\d+) after (E\d+) without (E\d+) between",
    "switch": r"last (E\d+) after last (E\d+)",
    "window": r"(?P<b>E\d+) at most 4 events after (?P<a>E\d+)",
}


@pytest.fixture(scope="module", params=REGIMES)
def simulated(request: pytest.FixtureRequest) -> Simulated:
    return simulate(request.param, sequences=3_000, label_noise=0.0, seed=1)


def types_of(simulated: Simulated, label: str) -> list[str]:
    """The event types of a rule, in the order of its definition."""
    found = re.fullmatch(FORMS[simulated.regime], simulated.rules[label])
    assert found
    return [found["a"], found["b"]] if simulated.regime == "window" else list(found.groups())


def state_holds(events: tuple[str, ...], a: str, on: str, off: str) -> bool:
    is_on = False
    for event in events:
        if event == a and is_on:
            return True
        is_on = event == on or (is_on and event != off)
    return False


def switch_holds(events: tuple[str, ...], a: str, b: str) -> bool:
    return next(event for event in reversed(events) if event in (a, b)) == a


def window_holds(events: tuple[str, ...], a: str, b: str) -> bool:
    return any(event == a and b in events[place + 1 : place + 5] for place, event in enumerate(events))


HOLDS = {"state": state_holds, "switch": switch_holds, "window": window_holds}


def test_the_label_without_noise_is_its_rule(simulated: Simulated) -> None:
    for label in simulated.rules:
        types = types_of(simulated, label)
        for sequence in simulated.data:
            assert (label in sequence.labels) == HOLDS[simulated.regime](sequence.events, *types)


def test_the_boundary_is_the_event_types_of_the_rule(simulated: Simulated) -> None:
    for label, events in simulated.truth.boundaries.items():
        assert set(events) == set(types_of(simulated, label))


def test_counts_say_nothing_about_a_label(
    simulated: Simulated, p_values: Callable[..., NDArray[np.float64]]
) -> None:
    labels = simulated.data.label_matrix().toarray().astype(bool)
    for column, label in enumerate(simulated.rules):
        counts = [[one.events.count(event) for event in types_of(simulated, label)] for one in simulated.data]
        often = np.array(counts) > np.mean(counts, axis=0)
        assert p_values(often, labels[:, [column]]).min() > 0.05 / 15


def test_lengths_are_within_their_limits(simulated: Simulated) -> None:
    low, high = simulated.settings["length_min"], simulated.settings["length_max"]
    assert (simulated.data.lengths.min(), simulated.data.lengths.max()) == (low, high)


@pytest.mark.parametrize(
    ("regime", "signs"), [("state", [1, 1, -1]), ("switch", [1, -1]), ("window", [0, 0])]
)
def test_signs_are_those_of_the_rule(regime: str, signs: list[int]) -> None:
    made = simulate(regime, sequences=20)
    for label in made.rules:
        edges = made.truth.edges.filter(label=label)
        found = dict(zip(edges["event"], edges["sign"], strict=True))
        assert [found[event] for event in types_of(made, label)] == signs


@pytest.mark.parametrize("regime", REGIMES)
def test_noise_drops_its_share_of_true_labels(regime: str) -> None:
    clean = simulate(regime, sequences=1_000, label_noise=0.0).data.label_matrix().toarray() > 0
    noisy = simulate(regime, sequences=1_000, label_noise=0.1).data.label_matrix().toarray() > 0
    assert not (noisy & ~clean).any()
    assert noisy.sum() / clean.sum() == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("regime", REGIMES)
def test_rules_are_the_same_whatever_the_number_of_sequences(regime: str) -> None:
    assert simulate(regime, sequences=20).rules == simulate(regime, sequences=50).rules


def test_a_window_of_one_event_is_possible_in_crowded_sequences() -> None:
    config = WindowConfig(sequences=200, most=1, length_min=55)
    assert len(simulate_window(config).data) == 200


@pytest.mark.parametrize(
    ("config", "setting", "refused"),
    [
        (StateConfig, "length_min", 45),
        (SwitchConfig, "length_min", 40),
        (WindowConfig, "length_min", 36),
        (SwitchConfig, "occurrences_max", 1),
    ],
)
def test_a_setting_is_refused_beyond_its_edge(config: type, setting: str, refused: int) -> None:
    with pytest.raises(ConfigError, match=f"{setting}={refused}"):
        config(**{setting: refused})
    config(**{setting: refused + 1})
