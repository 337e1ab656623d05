"""The regime `fleet`: many event types, long sequences, Boolean rules on presence, long-tailed labels.

The paper's setting: trouble codes of vehicles. Labels are computed from the finished sequences, so that a
rule that holds by accident counts; then noise is added.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import Settings, check_at_least, setting
from eventcargo.errors import ConfigError, argument
from eventcargo.simulation.background import Topics, draw_lengths, draw_times
from eventcargo.simulation.planting import Planted, attach, plant, planted_events, stray
from eventcargo.simulation.rulebook import Rulebook, draw_sizes
from eventcargo.simulation.rules import Presence, TrueRule, flip
from eventcargo.simulation.simulated import Cause, Columns, Simulated, assemble, event_names

TOP_SHARE = 0.2
"""Largest share of sequences in which the most common label is planted."""

PLANTED_SHARE = 0.35
"""Largest share of planted events among all events; supports are scaled down together to fit."""

MIN_POSITIVES = 12
"""Smallest number of planted sequences for each conjunction, if the planted events fit."""

STRAY_SHARE = 0.2
"""Lone occurrences of a cause, as a multiple of the positives of its rarest conjunction."""

PRECURSOR_CHANCE = 0.5
MIN_BACKGROUND = 5

HUB_USES, HUB_SHARE = 18, 0.1
"""Most rules that share a hub (as in a real fleet), and the largest share of all rules that do."""


@dataclass(frozen=True)
class FleetConfig(Settings):
    """Settings of the regime `fleet`; the paper's size is 100,000 sequences, 29,100 types, 474 labels."""

    sequences: int = setting(20_000, ge=1)
    """number of sequences"""
    event_types: int = setting(2_000, ge=8)
    """number of event types; at most a quarter are causes, all but causes and decoys are background"""
    labels: int = setting(50, ge=1)
    """number of labels"""
    label_noise: float = setting(0.01, ge=0, le=1)
    """share of true labels dropped; as many false labels are added, on average"""
    length_mean: float = setting(100.0, gt=0)
    """mean number of events per sequence"""
    length_sd: float = setting(35.0, ge=0)
    """standard deviation of the number of events per sequence"""
    length_min: int = setting(20, ge=1)
    """shortest sequence, in events"""
    length_max: int = setting(192, ge=1)
    """longest sequence, in events"""
    max_boundary: int = setting(27, ge=1)
    """largest boundary; sizes follow a real fleet, up to this limit"""
    empty_share: float = setting(0.0, ge=0, le=1)
    """share of labels without a cause, which occur at random"""
    negated_share: float = setting(0.2, ge=0, le=0.5)
    """share of negated literals among those that may be negated (never the first of a conjunction)"""
    or_share: float = setting(0.25, ge=0, le=1)
    """share of rules that are an OR of two or three conjunctions, in addition to large rules"""
    hub_share: float = setting(0.6, ge=0, le=1)
    """probability that a literal is shared with another rule (never the first of a conjunction)"""
    near_miss: float = setting(0.4, ge=0, le=10)
    """near misses per literal, as a multiple of the conjunction's positives; 0 for none"""
    companion_share: float = setting(0.3, ge=0, le=1)
    """share of causes with a decoy that usually follows closely and causes nothing"""
    companion_chance: float = setting(0.8, ge=0, le=1)
    """probability that a companion comes with its cause"""
    twin_alone: float = setting(0.0, ge=0, le=10)
    """further occurrences of a companion without its cause, as a multiple of its cause's occurrences"""
    precursor_share: float = setting(0.2, ge=0, le=1)
    """share of causes with a precursor, which often comes before and acts only through the cause"""
    rarest_support: int = setting(40, ge=1)
    """planted positives of the rarest label"""
    support_ratio: float = setting(100.0, ge=1)
    """planted positives of the most common label, as a multiple of those of the rarest label"""
    topics: int = setting(20, ge=1)
    """number of background topics"""
    zipf: float = setting(1.0, ge=0, le=5)
    """exponent of the background's Zipf distribution"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "length_max", self.length_min)
        if not self.length_min <= self.length_mean <= self.length_max:
            raise ConfigError(
                f"{argument('length_mean', self.length_mean)}: use a number from {self.length_min} "
                f"to {self.length_max}"
            )
        if self.event_types // 4 < self.max_boundary:
            raise ConfigError(
                f"{argument('event_types', self.event_types)} allows {self.event_types // 4:,} causes, "
                f"fewer than {argument('max_boundary', self.max_boundary)}; use at least "
                f"{4 * self.max_boundary:,} event types"
            )


def simulate_fleet(config: FleetConfig, seed: int = 0, regime: str = "fleet") -> Simulated:
    """Simulate a fleet; `regime` names it in the result.

    >>> config = FleetConfig(sequences=200, event_types=400, labels=5, max_boundary=4)
    >>> fleet = simulate_fleet(config, seed=1)
    >>> len(fleet.data), fleet.truth.labels
    (200, ['L000', 'L001', 'L002', 'L003', 'L004'])
    """
    rng = np.random.default_rng(seed)
    types = rng.permutation(config.event_types).astype(np.int32)
    quarter = config.event_types // 4
    rules = _draw_rules(rng, config, types[:quarter])
    positives = _draw_positives(rng, config, rules)
    partners = _draw_partners(rng, config, rules, types[quarter:])
    rates = _stray_rates(rules, positives, partners)
    planted = _plant(rng, config, rules, positives, partners, rates)
    common = np.setdiff1d(types, np.array(list(rates), np.int32))
    lengths, occurrences = _complete(rng, config, planted, common)
    carried = _labels(rng, config, rules, positives, occurrences)
    names = event_names(config.event_types)
    empty = Cause({}, "at random")
    return assemble(
        regime,
        config,
        seed,
        Columns(lengths, occurrences.events, draw_times(rng, lengths), carried),
        [rule.cause(names) if rule.conjunctions else empty for rule in rules],
    )


def _draw_rules(rng: np.random.Generator, config: FleetConfig, causes: NDArray[np.int32]) -> list[TrueRule]:
    sizes = draw_sizes(rng, config.labels, config.max_boundary)
    is_empty = rng.permutation(config.labels) < round(config.empty_share * config.labels)
    most_uses = max(2, min(HUB_USES, round(HUB_SHARE * config.labels)))
    book = Rulebook(rng, causes, config.or_share, config.negated_share, config.hub_share, most_uses)
    return [
        TrueRule(()) if empty else book.draw(int(size)) for size, empty in zip(sizes, is_empty, strict=True)
    ]


def _draw_positives(rng: np.random.Generator, config: FleetConfig, rules: list[TrueRule]) -> list[int]:
    """How often to plant each rule: a power law from the most common to the rarest, in random order."""
    top = min(config.rarest_support * config.support_ratio, TOP_SHARE * config.sequences)
    low = min(config.rarest_support, top)
    fall = np.log(np.arange(1, config.labels + 1)) / np.log(max(config.labels, 2))
    wanted = rng.permutation(top * (low / top) ** fall)
    least = np.array([MIN_POSITIVES * len(rule.conjunctions) for rule in rules])
    wanted = np.minimum(np.maximum(wanted, least), config.sequences)
    needed = sum(
        planted_events(conjunction, round(count / len(rule.conjunctions)), config.near_miss)
        for rule, count in zip(rules, wanted, strict=True)
        for conjunction in rule.conjunctions
    )
    scale = min(1.0, PLANTED_SHARE * config.sequences * config.length_mean / max(needed, 1))
    return [max(1, round(count * scale)) for count in wanted.tolist()]


@dataclass(frozen=True)
class Partners:
    """Decoys that follow (companions) or precede (precursors) some causes: cause -> decoy."""

    companions: dict[int, int]
    precursors: dict[int, int]


def _draw_partners(
    rng: np.random.Generator, config: FleetConfig, rules: list[TrueRule], decoys: NDArray[np.int32]
) -> Partners:
    """Assign decoys to causes; every decoy has one cause, and half of `decoys` is always enough."""
    causes = sorted({event for rule in rules for event in rule.signs})
    free = iter(decoys.tolist())
    return Partners(
        {event: next(free) for event in causes if rng.random() < config.companion_share},
        {event: next(free) for event in causes if rng.random() < config.precursor_share},
    )


def _stray_rates(rules: list[TrueRule], positives: list[int], partners: Partners) -> dict[int, float]:
    """Expected number of lone occurrences of each cause and each decoy."""
    rates: dict[int, float] = {}
    for rule, count in zip(rules, positives, strict=True):
        for event in rule.signs:
            rate = STRAY_SHARE * count / len(rule.conjunctions)
            rates[event] = min(rate, rates.get(event, rate))
    pairs = [*partners.companions.items(), *partners.precursors.items()]
    return rates | {decoy: rates[cause] for cause, decoy in pairs}


def _plant(
    rng: np.random.Generator,
    config: FleetConfig,
    rules: list[TrueRule],
    positives: list[int],
    partners: Partners,
    rates: dict[int, float],
) -> Planted:
    """All planted events, with their companions and precursors."""
    rules_planted = [
        plant(rng, rule, count, config.sequences, config.near_miss)
        for rule, count in zip(rules, positives, strict=True)
        if rule.conjunctions
    ]
    causes = Planted.join([stray(rng, rates, config.sequences), *rules_planted])
    step = 1.0 / config.length_mean
    after = attach(rng, causes, partners.companions, config.companion_chance, step)
    alone = stray(rng, _lone_rates(config, causes, partners), config.sequences)
    before = attach(rng, causes, partners.precursors, PRECURSOR_CHANCE, -10 * step)
    return Planted.join([causes, after, alone, before])


def _lone_rates(config: FleetConfig, causes: Planted, partners: Partners) -> dict[int, float]:
    """Expected number of further lone occurrences of each companion."""
    counts = np.bincount(causes.events, minlength=config.event_types)
    return {decoy: config.twin_alone * counts[cause] for cause, decoy in partners.companions.items()}


def _complete(
    rng: np.random.Generator, config: FleetConfig, planted: Planted, common: NDArray[np.int32]
) -> tuple[NDArray[np.int64], Planted]:
    """Lengths and all events in order: the planted events, filled up with background to the drawn length."""
    n = config.sequences
    wanted = draw_lengths(rng, n, config.length_mean, config.length_sd, config.length_min, config.length_max)
    missing = np.maximum(wanted - np.bincount(planted.sequences, minlength=n), MIN_BACKGROUND)
    sequences = np.repeat(np.arange(n, dtype=np.int32), missing)
    topics = Topics(rng, common, config.topics, config.zipf)
    filling = Planted(sequences, topics.draw(rng, n, sequences), rng.random(len(sequences)))
    everything = _cut(rng, Planted.join([planted, filling]), n, config.length_max)
    ordered = everything.take(np.argsort(everything.sequences + everything.places, kind="stable"))
    return np.bincount(ordered.sequences, minlength=n), ordered


def _cut(rng: np.random.Generator, occurrences: Planted, n: int, most: int) -> Planted:
    """Drop random events so that each sequence has at most `most`."""
    too_long = np.bincount(occurrences.sequences, minlength=n) > most
    touched = rng.permutation(np.flatnonzero(too_long[occurrences.sequences]))
    touched = touched[np.argsort(occurrences.sequences[touched], kind="stable")]
    rows = occurrences.sequences[touched]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    keep = np.ones(len(occurrences), bool)
    keep[touched[rank >= most]] = False
    return occurrences.take(np.flatnonzero(keep))


def _labels(
    rng: np.random.Generator,
    config: FleetConfig,
    rules: list[TrueRule],
    positives: list[int],
    occurrences: Planted,
) -> NDArray[np.bool_]:
    """The labels of each sequence: by rule, at random for labels without a cause, then noise."""
    wanted = [event for rule in rules for event in rule.signs]
    presence = Presence(occurrences.sequences, occurrences.events, config.sequences, wanted)
    holds = np.zeros((config.sequences, len(rules)), bool)
    for label, (rule, count) in enumerate(zip(rules, positives, strict=True)):
        if rule.conjunctions:
            holds[:, label] = presence.holds(rule)
        else:
            holds[rng.permutation(config.sequences)[:count], label] = True
    support = holds.sum(0)
    add = config.label_noise * support / np.maximum(config.sequences - support, 1)
    return flip(rng, holds, config.label_noise, np.minimum(add, 1.0))
