"""Simulated data with known boundaries, one regime per module; `simulate` runs a regime by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, overload

from eventcargo.errors import ConfigError
from eventcargo.simulation.chain import ChainConfig, simulate_chain
from eventcargo.simulation.clinic import ClinicConfig, simulate_clinic
from eventcargo.simulation.confounded import ConfoundedConfig, simulate_confounded
from eventcargo.simulation.exact import ExactConfig, ExactProcess, simulate_exact
from eventcargo.simulation.family import FamilyConfig, simulate_family
from eventcargo.simulation.fleet import FleetConfig, simulate_fleet
from eventcargo.simulation.follows import FollowsConfig, simulate_follows
from eventcargo.simulation.log_odds import LogOddsConfig, simulate_log_odds
from eventcargo.simulation.mixed import MixedConfig, simulate_mixed
from eventcargo.simulation.noisy import NoisyConfig, simulate_noisy
from eventcargo.simulation.noisy_or import NoisyOrConfig, simulate_noisy_or
from eventcargo.simulation.ordered import OrderedConfig, simulate_ordered
from eventcargo.simulation.recency import RecencyConfig, simulate_recency
from eventcargo.simulation.records import Records
from eventcargo.simulation.repeat import RepeatConfig, simulate_repeat
from eventcargo.simulation.scarce import ScarceConfig, simulate_scarce
from eventcargo.simulation.short import ShortConfig, simulate_short
from eventcargo.simulation.simulated import Simulated
from eventcargo.simulation.state import StateConfig, simulate_state
from eventcargo.simulation.switch import SwitchConfig, simulate_switch
from eventcargo.simulation.timing import TimingConfig, simulate_timing
from eventcargo.simulation.twins import TwinsConfig, simulate_twins
from eventcargo.simulation.window import WindowConfig, simulate_window

__all__ = [
    "RAW_REGIMES",
    "REGIMES",
    "ExactProcess",
    "RawRegime",
    "Records",
    "Regime",
    "Simulated",
    "simulate",
]


@dataclass(frozen=True)
class Regime:
    """A kind of data: `config` is the class of its settings, `make` the function that simulates it."""

    config: type[Any]
    make: Callable[[Any, int], Simulated]


@dataclass(frozen=True)
class RawRegime:
    """A kind of raw records, from which sequences are still to be cut."""

    config: type[Any]
    make: Callable[[Any, int], Records]


REGIMES: Mapping[str, Regime] = {
    "fleet": Regime(FleetConfig, simulate_fleet),
    "ordered": Regime(OrderedConfig, simulate_ordered),
    "follows": Regime(FollowsConfig, simulate_follows),
    "repeat": Regime(RepeatConfig, simulate_repeat),
    "timing": Regime(TimingConfig, simulate_timing),
    "recency": Regime(RecencyConfig, simulate_recency),
    "state": Regime(StateConfig, simulate_state),
    "switch": Regime(SwitchConfig, simulate_switch),
    "window": Regime(WindowConfig, simulate_window),
    "mixed": Regime(MixedConfig, simulate_mixed),
    "chain": Regime(ChainConfig, simulate_chain),
    "confounded": Regime(ConfoundedConfig, simulate_confounded),
    "short": Regime(ShortConfig, simulate_short),
    "exact": Regime(ExactConfig, simulate_exact),
    "noisy_or": Regime(NoisyOrConfig, simulate_noisy_or),
    "log_odds": Regime(LogOddsConfig, simulate_log_odds),
    "family": Regime(FamilyConfig, simulate_family),
    "scarce": Regime(ScarceConfig, simulate_scarce),
    "noisy": Regime(NoisyConfig, simulate_noisy),
    "twins": Regime(TwinsConfig, simulate_twins),
}


RAW_REGIMES: Mapping[str, RawRegime] = {"clinic": RawRegime(ClinicConfig, simulate_clinic)}


@overload
def simulate(regime: Literal["clinic"], *, seed: int = 0, **settings: Any) -> Records: ...


@overload
def simulate(regime: str, *, sequences: int | None = None, seed: int = 0, **settings: Any) -> Simulated: ...


def simulate(
    regime: str, *, sequences: int | None = None, seed: int = 0, **settings: Any
) -> Simulated | Records:
    """Simulate a regime: data and their true boundaries. `settings` override the regime's default settings.

    The regime `clinic` gives `Records`, raw tables; all others give `Simulated`, finished sequences.

    >>> simulated = simulate("fleet", sequences=100, labels=3, event_types=200, seed=1)
    >>> len(simulated.data), simulated.truth.labels
    (100, ['L000', 'L001', 'L002'])
    """
    regimes: dict[str, Regime | RawRegime] = {**REGIMES, **RAW_REGIMES}
    if regime not in regimes:
        raise ConfigError(f"no regime {regime!r}; use {', '.join(regimes)}")
    if sequences is not None:
        settings["sequences"] = sequences
    config = regimes[regime].config
    known = [field.name for field in fields(config)]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ConfigError(f"the regime {regime} has no setting {unknown[0]!r}; use {', '.join(known)}")
    return regimes[regime].make(config(**settings), seed)
