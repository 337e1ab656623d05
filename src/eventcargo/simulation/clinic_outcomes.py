"""The outcomes of the regime `clinic`: what causes each, what is recorded after it, and when it happens.

When its cause becomes true, an outcome follows with a given probability, an hour to ten days later; so a
cause lies strictly before its outcome and within the look-back. Some outcomes happen at random times. An
attribute or an inhibitor changes the hazard of both.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulation.clinic_causes import Both, History, Ordered, Presence, Threshold, Trigger
from eventcargo.simulation.clinic_codes import CROWDED_CODE, CROWDED_SITE, FAMILY, Population
from eventcargo.simulation.clinic_log import DAY, Log, Moments

LOOKBACK_DAYS = 30
DELAY = (3600, 10 * DAY)
"""From a cause to its outcome. Were it much shorter than the look-back, how recent the cause is would tell
cases from controls so well that what changes the hazard would hardly matter."""

REFRACTORY_DAYS = 3
"""An outcome so soon after the same outcome is the same one."""

INHIBITED, UNEXPOSED = 0.04, 0.05
"""Hazard with an inhibitor, and without the attribute that raises it, as a multiple of the full hazard."""

EARLY_HAZARD = 0.5
"""Hazard at the start of a history, as a multiple of that after a year."""

SAME_INSTANT = 0.7
"""Chance that the first record of an outcome is at the very instant of the outcome."""

RECORD_DELAY = (5 * 60, 2 * DAY)
MISTAKES = 0.01
"""Records of outcomes that did not happen, as a share of the outcomes."""


@dataclass(frozen=True)
class Attribute:
    """A column of the static table and the value that raises the hazard."""

    column: str
    value: str

    def __str__(self) -> str:
        return f"{self.column}={self.value}"


@dataclass(frozen=True)
class Outcome:
    """A label: any of its causes may bring it; without causes it happens at random times.

    The first of `records` is written at the outcome, the second after it. A `confounder` raises the hazard
    too, and the rate of a code that causes nothing.
    """

    name: str
    records: tuple[str, str]
    causes: tuple[Trigger, ...] = ()
    inhibitor: str = ""
    attribute: Attribute | None = None
    confounder: Attribute | None = None
    spurious: tuple[str, ...] = ()

    @property
    def signs(self) -> dict[str, int]:
        """The true boundary, without the confounder."""
        signs = {event: 1 for cause in self.causes for event in cause.events}
        if self.attribute:
            signs[str(self.attribute)] = 1
        return signs | ({self.inhibitor: -1} if self.inhibitor else {})

    @property
    def rule(self) -> str:
        """The causes in words; what follows `*` changes the hazard."""
        if not self.causes:
            return "at random"
        changes = [str(one) for one in (self.attribute, self.confounder) if one]
        changes += [f"!{self.inhibitor}"] if self.inhibitor else []
        return " * ".join([" | ".join(map(str, self.causes)), *changes])


OUTCOMES = (
    Outcome(
        "acute kidney injury",
        ("NOTE//kidney injury recorded", "PROC//haemodialysis started"),
        (
            Threshold("creatinine", ">=", 2.0),
            Both("MED//vancomycin", "PROC//Röntgen mit Kontrastmittel"),
        ),
    ),
    Outcome(
        "heart failure",
        ("NOTE//heart failure admission", "PROC//echocardiography after decompensation"),
        (Presence(FAMILY),),
        inhibitor="MED//spironolactone",
    ),
    Outcome(
        "fall",
        ("NOTE//fall reported", "PROC//hip X-ray"),
        (Presence("MED//lorazepam"),),
        attribute=Attribute("age_band", "80+"),
    ),
    Outcome(
        "sepsis",
        ("NOTE//sepsis alert", "MED//noradrenaline started"),
        (Ordered("PROC//urinary catheter", "ICD//N39.0"),),
        confounder=Attribute("site", CROWDED_SITE),
        spurious=(CROWDED_CODE,),
    ),
    Outcome(
        "arrhythmia",
        ("NOTE//arrhythmia alarm", "PROC//cardioversion"),
        (Threshold("potassium", "<", 3.0), Presence("MED//digoxin")),
    ),
    Outcome(
        "bleeding",
        ("NOTE//bleeding recorded", "PROC//transfusion"),
        (Both("MED//warfarin", "MED//ibuprofen"),),
        inhibitor="MED//vitamin K",
    ),
)


def outcomes_of(labels: int, no_cause: bool) -> list[Outcome]:
    """The first outcomes of the catalogue, then outcomes at random times; with `no_cause`, all at random."""
    named = [Outcome(one.name, one.records) if no_cause else one for one in OUTCOMES[:labels]]
    others = [f"outcome {number:02d}" for number in range(len(OUTCOMES) + 1, labels + 1)]
    return named + [Outcome(name, (f"NOTE//{name} recorded", f"PROC//{name} treated")) for name in others]


def draw_outcome(
    rng: np.random.Generator,
    people: Population,
    history: History,
    outcome: Outcome,
    effect: float,
    rate: float,
) -> Moments:
    """When an outcome happens: after its causes with probability `effect`, and `rate` times per year."""
    moments = [people.scatter(rng, rate / 365)]
    hazards = [_hazard(people, history, outcome, moments[0])]
    for cause in outcome.causes:
        begun = cause.moments(history)
        moments.append(begun.later(rng.integers(*DELAY, len(begun))))
        hazards.append(effect * _hazard(people, history, outcome, moments[-1]))
    happened = [one.take(rng.random(len(one)) < hazard) for one, hazard in zip(moments, hazards, strict=True)]
    everything = Moments.join(happened)
    return _first_of_each(everything.take(people.inside(everything)))


def _hazard(people: Population, history: History, outcome: Outcome, moments: Moments) -> NDArray[np.float64]:
    """The multiple of the full hazard at these moments."""
    if not outcome.causes:
        return np.ones(len(moments))
    years = (moments.times - people.starts[moments.subjects]) / (365 * DAY)
    hazard = np.minimum(EARLY_HAZARD + (1 - EARLY_HAZARD) * years, 1.0)
    for one in (outcome.attribute, outcome.confounder):
        if one:
            is_exposed = (people.attributes[one.column] == one.value)[moments.subjects]
            hazard = hazard * np.where(is_exposed, 1.0, UNEXPOSED)
    if outcome.inhibitor:
        is_inhibited = moments.have_before(history.of(outcome.inhibitor).moments, LOOKBACK_DAYS)
        hazard = hazard * np.where(is_inhibited, INHIBITED, 1.0)
    return hazard


def _first_of_each(moments: Moments) -> Moments:
    """Outcomes in quick succession count once."""
    is_new = np.diff(moments.keys, prepend=-(1 << 62)) > REFRACTORY_DAYS * DAY
    return moments.take(is_new)


def draw_records(
    rng: np.random.Generator,
    people: Population,
    outcome: Outcome,
    moments: Moments,
    number_of: Mapping[str, int],
    share: float,
) -> list[Log]:
    """What is written at and after an outcome, each with the chance `share`, and a few mistakes."""
    logs = []
    for name, same_instant in zip(outcome.records, (SAME_INSTANT, 0.0), strict=True):
        written = moments.take(rng.random(len(moments)) < share)
        late = rng.integers(*RECORD_DELAY, len(written))
        late[rng.random(len(written)) < same_instant] = 0
        mistaken = people.scatter(rng, share * MISTAKES * len(moments) * DAY / people.lengths.sum())
        logs.append(Log.of(Moments.join([written.later(late), mistaken]), number_of[name]))
    return logs
