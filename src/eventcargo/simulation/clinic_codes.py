"""The codes of the regime `clinic`: names, rates, families and values, and how their records are drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eventcargo.simulation.clinic_log import DAY, Log, Moments

Course = Literal["steady", "growing", "winter"]
"""How a code's rate changes: not at all, by itself every year since the history began, or with the season."""


@dataclass(frozen=True)
class Code:
    """A code with its own rate: records per day of a subject of average frailty."""

    name: str
    rate: float
    course: Course = "steady"
    parent: str = ""


@dataclass(frozen=True)
class Lab:
    """A measurement: its values are normal, or log-normal around the median `centre`."""

    name: str
    rate: float
    centre: float
    spread: float
    logarithmic: bool = False

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        normal = self.spread * rng.standard_normal(count)
        return np.round(self.centre * np.exp(normal) if self.logarithmic else self.centre + normal, 2)


LABS = (
    Lab("creatinine", 0.004, 1.0, 0.541, logarithmic=True),
    Lab("potassium", 0.003, 4.0, 0.78),
    Lab("lactate", 0.003, 1.4, 0.5, logarithmic=True),
    Lab("haemoglobin", 0.008, 13.5, 1.6),
)
"""A tenth of the values of creatinine are at least 2.0, a tenth of those of potassium below 3.0."""

CODES = (
    Code("MED//vancomycin", 0.002, parent="MED//antibiotics"),
    Code("PROC//Röntgen mit Kontrastmittel", 0.002),
    Code("MED//spironolactone", 0.02, parent="MED//diuretics"),
    Code("MED//lorazepam", 0.002, parent="MED//benzodiazepines"),
    Code("PROC//urinary catheter", 0.007),
    Code("ICD//N39.0", 0.006, parent="ICD//N39"),
    Code("MED//digoxin", 0.0003),
    Code("MED//warfarin", 0.0035),
    Code("MED//ibuprofen", 0.0035, parent="MED//analgesics"),
    Code("MED//vitamin K", 0.02),
    Code("ADMIN//night transfer", 0.003),
    Code("ADMIN//follow-up letter", 0.01, "growing"),
    Code("ADMIN//invoice", 0.02, "growing"),
    Code("ICD//J10.1", 0.006, "winter", "ICD//J10"),
    Code("OBS//Frösteln", 0.004, "winter"),
)

FAMILY, FAMILY_RATE = "ICD//I50", 0.0012
"""A family of rare codes that act alike, and the rate of all its members together."""

COMPANIONS = {
    "MED//lorazepam": "NURSE//sedation chart",
    "MED//vancomycin": "LAB//vancomycin level",
    "PROC//urinary catheter": "NURSE//catheter care",
    FAMILY: "LAB//BNP ordered",
}
"""Codes that usually follow a cause within the hour and cause nothing."""

COMPANION_CHANCE, COMPANION_STRAYS = 0.7, 0.5
COMPANION_MINUTES = (5, 50)

CROWDED_SITE, CROWDED_CODE, CROWDING = "north", "ADMIN//night transfer", 10.0
"""At this site this code, which causes nothing, is so many times as frequent."""

CHAPTERS = "EIJKM"
UMLAUTS = ("OBS//Übelkeit", "OBS//Ödeme", "PROC//Röntgen Thorax", "OBS//Blässe")
"""The most frequent background codes; `ß` is missing, because its capital letters are two."""

ZIPF = 0.7


def background_codes(count: int) -> list[str]:
    """Names of codes that cause nothing: observations, then diagnoses in families of five."""
    diagnoses = [
        f"ICD//{CHAPTERS[number // 5 % len(CHAPTERS)]}{60 + number // 25}.{number % 5}"
        if number < 500
        else f"ICD//Z{number}"
        for number in range(count)
    ]
    return [*UMLAUTS, *diagnoses][:count]


def family_members(count: int) -> list[str]:
    """The codes of the family."""
    return [f"{FAMILY}.{number:02d}" for number in range(count)]


def parent_of(code: str) -> str:
    """The family that a code or a family belongs to; empty if none.

    >>> parent_of("ICD//I50.07"), parent_of("ICD//I50"), parent_of("ICD//I")
    ('ICD//I50', 'ICD//I', '')
    """
    given = {one.name: one.parent for one in CODES}
    if given.get(code):
        return given[code]
    if not code.startswith("ICD//"):
        return ""
    chapter = code[: len("ICD//I")]
    return code.split(".")[0] if "." in code else chapter if code != chapter else ""


@dataclass(frozen=True)
class Population:
    """The subjects: when their history begins, its length in seconds, how often they come, what they are."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    frailty: NDArray[np.float64]
    attributes: Mapping[str, NDArray[np.str_]]

    def __len__(self) -> int:
        return len(self.starts)

    def scatter(
        self, rng: np.random.Generator, rate: float | NDArray[np.float64], course: Course = "steady"
    ) -> Moments:
        """Random moments of a Poisson process; `rate` is a number per day, for each subject or for all."""
        days = self.lengths / DAY
        if course == "growing":
            rate = rate * days / 730  # the mean over the history
        counts = rng.poisson(rate * days * (2.0 if course == "winter" else 1.0))
        subjects = np.repeat(np.arange(len(self)), counts)
        places = rng.random(len(subjects))
        places = np.sqrt(places) if course == "growing" else places
        times = self.starts[subjects] + (places * self.lengths[subjects]).astype(np.int64)
        if course == "winter":
            year = 2 * np.pi * (times % (365.25 * DAY)) / (365.25 * DAY)
            kept = rng.random(len(times)) < (1 + np.cos(year)) / 2
            subjects, times = subjects[kept], times[kept]
        return Moments(subjects, times)

    def inside(self, moments: Moments) -> NDArray[np.bool_]:
        """Which moments lie before the end of their history."""
        return moments.times < (self.starts + self.lengths)[moments.subjects]


def draw_background(
    rng: np.random.Generator, people: Population, numbers: list[int], visits: float, codes_per_visit: float
) -> Log:
    """Visits at random times, `visits` per year, each a burst of codes within some hours."""
    begun = people.scatter(rng, visits / 365 * people.frailty)
    burst = 1 + rng.poisson(codes_per_visit - 1, len(begun))
    each = begun.take(np.repeat(np.arange(len(begun)), burst))
    moments = each.later(rng.exponential(3 * 3600, len(each)).astype(np.int64))
    weights = np.arange(1, len(numbers) + 1) ** -ZIPF
    codes = rng.choice(numbers, len(moments), p=weights / weights.sum())
    return Log(moments, codes, np.full(len(moments), np.nan))


def draw_codes(
    rng: np.random.Generator, people: Population, number_of: Mapping[str, int], members: int, crowding: bool
) -> list[Log]:
    """Records of the codes with a rate of their own, of the family and of the companions."""
    logs = [_draw_code(rng, people, code, number_of, crowding) for code in CODES]
    moments = people.scatter(rng, FAMILY_RATE * people.frailty)
    family = np.array([number_of[name] for name in family_members(members)])
    logs.append(Log(moments, rng.choice(family, len(moments)), np.full(len(moments), np.nan)))
    leaders = {code.name: log for code, log in zip(CODES, logs, strict=False)} | {FAMILY: logs[-1]}
    followers = [
        _draw_companion(rng, people, leaders[leader], number_of[name]) for leader, name in COMPANIONS.items()
    ]
    return logs + followers


def _draw_code(
    rng: np.random.Generator, people: Population, code: Code, number_of: Mapping[str, int], crowding: bool
) -> Log:
    rate = code.rate * people.frailty
    if crowding and code.name == CROWDED_CODE:
        rate = rate * np.where(people.attributes["site"] == CROWDED_SITE, CROWDING, 1.0)
    return Log.of(people.scatter(rng, rate, code.course), number_of[code.name])


def _draw_companion(rng: np.random.Generator, people: Population, leader: Log, number: int) -> Log:
    followed = leader.moments.take(rng.random(len(leader.codes)) < COMPANION_CHANCE)
    low, high = COMPANION_MINUTES
    behind = followed.later(rng.integers(60 * low, 60 * high, len(followed)))
    days = people.lengths.sum() / DAY
    strays = people.scatter(rng, COMPANION_STRAYS * len(leader.codes) / days)
    return Log.of(Moments.join([behind, strays]), number)


def draw_labs(rng: np.random.Generator, people: Population, number_of: Mapping[str, int]) -> list[Log]:
    """Measurements with their values."""
    logs = []
    for lab in LABS:
        moments = people.scatter(rng, lab.rate * people.frailty)
        logs.append(Log.of(moments, number_of[lab.name], lab.draw(rng, len(moments))))
    return logs
