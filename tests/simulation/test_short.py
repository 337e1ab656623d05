import pytest

from eventcargo.errors import ConfigError
from eventcargo.simulation.short import ShortConfig, simulate_short
from eventcargo.simulation.simulated import Simulated


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_short(ShortConfig())


def holds(rule: str, events: set[str]) -> bool:
    return any(
        all(
            (word[1:] not in events) if word[0] == "!" else word in events
            for word in part.strip("()").split(" & ")
        )
        for part in rule.split(" | ")
    )


def test_the_label_is_its_rule(simulated: Simulated) -> None:
    for sequence in simulated.data:
        for label, rule in simulated.rules.items():
            assert (label in sequence.labels) == holds(rule, set(sequence.events))


def test_sequences_have_three_to_fourteen_events(simulated: Simulated) -> None:
    assert (simulated.data.lengths.min(), simulated.data.lengths.max()) == (3, 14)


def test_every_label_is_neither_rare_nor_everywhere(simulated: Simulated) -> None:
    shares = simulated.data.support / len(simulated.data)
    assert shares.min() > 0.03
    assert shares.max() < 0.7


def test_negated_literals_inhibit(simulated: Simulated) -> None:
    inhibiting = simulated.truth.edges.filter(simulated.truth.edges["sign"] == -1)
    assert inhibiting["label"].to_list() == ["L001", "L004", "L005"]


@pytest.mark.parametrize(
    ("knob", "refused", "allowed"), [("event_types", 19, 20), ("length_min", 0, 1), ("length_max", 2, 3)]
)
def test_a_setting_is_refused_beyond_its_edge_and_allowed_on_it(
    knob: str, refused: int, allowed: int
) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={refused}"):
        ShortConfig(**{knob: refused})
    simulate_short(ShortConfig(sequences=20, **{knob: allowed}))
