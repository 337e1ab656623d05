"""The regime `clinic`: raw records of subjects over months to years, with outcomes at their times.

Unlike the other regimes it makes no sequences but the tables that people have: events with values, outcomes
with times, attributes, code families. Causes are a measured value, a family of rare codes, an attribute, an
inhibitor, two codes together and in order. Records after the outcome, companions of causes, a confounding
site, codes that become more frequent with time and codes of a season are no causes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.config import Settings, check_at_least, setting
from eventcargo.simulation.clinic_causes import History
from eventcargo.simulation.clinic_codes import (
    CODES,
    COMPANIONS,
    FAMILY,
    LABS,
    Population,
    background_codes,
    draw_background,
    draw_codes,
    draw_labs,
    family_members,
    parent_of,
)
from eventcargo.simulation.clinic_log import DAY, Log, Moments
from eventcargo.simulation.clinic_outcomes import (
    LOOKBACK_DAYS,
    Outcome,
    draw_outcome,
    draw_records,
    outcomes_of,
)
from eventcargo.simulation.records import Records
from eventcargo.simulation.simulated import numbered

if TYPE_CHECKING:
    import polars as pl

FIRST_DAY = 18_628
"""2021-01-01, in days since 1970; histories begin within two years from it."""

ZONES = {"north": "Europe/Berlin", "south": "Europe/Lisbon", "east": "Asia/Kolkata", "west": "UTC"}

ATTRIBUTES = {
    "sex": {"female": 0.5, "male": 0.5},
    "age_band": {"18-49": 0.25, "50-59": 0.15, "60-69": 0.2, "70-79": 0.2, "80+": 0.2},
    "site": dict.fromkeys(ZONES, 0.25),
    "ward": {"cardiology": 0.25, "internal medicine": 0.4, "surgery": 0.35},
}
"""The shares of the values of each attribute."""

FRAILTY_SHAPE = 4.0
"""Subjects differ in how often they come: a gamma distribution with mean 1 and this shape."""


@dataclass(frozen=True)
class ClinicConfig(Settings):
    """Settings of the regime `clinic`."""

    subjects: int = setting(6_000, ge=1)
    """number of subjects"""
    codes: int = setting(200, ge=1)
    """number of background codes, which cause nothing"""
    labels: int = setting(4, ge=1, le=1_000)
    """number of outcome labels; the first six have causes, further ones happen at random times"""
    days_min: int = setting(180, ge=1)
    """shortest history, in days"""
    days_max: int = setting(1_095, ge=1)
    """longest history, in days"""
    visits: float = setting(18.0, ge=0)
    """mean number of visits per subject and year"""
    codes_per_visit: float = setting(3.0, ge=1)
    """mean number of background codes per visit"""
    family_members: int = setting(30, ge=1, le=100)
    """number of rare codes in the family that is a cause"""
    effect: float = setting(0.6, ge=0, le=1)
    """probability that an outcome follows its cause, at full hazard"""
    base_rate: float = setting(0.015, ge=0)
    """outcomes without a cause per subject and year, at full hazard, of each label that has causes"""
    random_rate: float = setting(0.15, ge=0)
    """outcomes per subject and year of each label without causes"""
    record_share: float = setting(0.8, ge=0, le=1)
    """probability of each record that follows an outcome; 0 for none"""
    no_cause: bool = False
    """no effects: every label happens at random times, and no attribute changes the rate of a code"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, "days_max", self.days_min)


def simulate_clinic(config: ClinicConfig, seed: int = 0) -> Records:
    """Simulate a clinic.

    >>> records = simulate_clinic(ClinicConfig(subjects=100), seed=1)
    >>> records.truth.boundary("acute kidney injury")
    ['MED//vancomycin', 'PROC//Röntgen mit Kontrastmittel', 'creatinine >= 2.0']
    """
    rng = np.random.default_rng(seed)
    outcomes = outcomes_of(config.labels, config.no_cause)
    names = _code_names(config, outcomes)
    number_of = {name: number for number, name in enumerate(names)}
    people = _draw_people(rng, config)
    history = _draw_history(rng, config, people, number_of)
    happened = [_draw_outcome(rng, config, people, history, outcome) for outcome in outcomes]
    logs = [history.log]
    for outcome, moments in zip(outcomes, happened, strict=True):
        logs += draw_records(rng, people, outcome, moments, number_of, config.record_share)
    log = Log.join(logs)
    log = log.take(people.inside(log.moments))
    return _assemble(config, seed, people, log, names, outcomes, happened)


def _code_names(config: ClinicConfig, outcomes: Sequence[Outcome]) -> list[str]:
    own = [code.name for code in CODES] + [lab.name for lab in LABS] + list(COMPANIONS.values())
    records = [name for outcome in outcomes for name in outcome.records]
    return [*background_codes(config.codes), *own, *family_members(config.family_members), *records]


def _draw_people(rng: np.random.Generator, config: ClinicConfig) -> Population:
    n = config.subjects
    lengths = rng.integers(config.days_min * DAY, config.days_max * DAY + 1, n)
    return Population(
        starts=FIRST_DAY * DAY + rng.integers(0, 2 * 365 * DAY, n),
        lengths=lengths,
        frailty=rng.gamma(FRAILTY_SHAPE, 1 / FRAILTY_SHAPE, n),
        attributes={
            column: rng.choice(list(shares), n, p=list(shares.values()))
            for column, shares in ATTRIBUTES.items()
        },
    )


def _draw_history(
    rng: np.random.Generator, config: ClinicConfig, people: Population, number_of: Mapping[str, int]
) -> History:
    """All records that are not of an outcome."""
    background = [number_of[name] for name in background_codes(config.codes)]
    logs = [
        draw_background(rng, people, background, config.visits, config.codes_per_visit),
        *draw_codes(rng, people, number_of, config.family_members, crowding=not config.no_cause),
        *draw_labs(rng, people, number_of),
    ]
    members = [number_of[name] for name in family_members(config.family_members)]
    return History(Log.join(logs), {name: [number] for name, number in number_of.items()} | {FAMILY: members})


def _draw_outcome(
    rng: np.random.Generator, config: ClinicConfig, people: Population, history: History, outcome: Outcome
) -> Moments:
    rate = config.base_rate if outcome.causes else config.random_rate
    return draw_outcome(rng, people, history, outcome, config.effect, rate)


def _assemble(
    config: ClinicConfig,
    seed: int,
    people: Population,
    log: Log,
    names: Sequence[str],
    outcomes: Sequence[Outcome],
    happened: Sequence[Moments],
) -> Records:
    ids = np.array(numbered("P", len(people), 6))
    return Records(
        events=_event_table(ids, log, np.array(names)),
        outcomes=_outcome_table(ids, outcomes, happened),
        static=_static_table(ids, people),
        codes=_code_table(names),
        truth=_truth(outcomes, happened),
        rules={outcome.name: outcome.rule for outcome in outcomes},
        post_outcome={outcome.name: outcome.records for outcome in outcomes},
        spurious={outcome.name: outcome.spurious for outcome in outcomes},
        confounders={one.name: (str(one.confounder),) if one.confounder else () for one in outcomes},
        read_with=_read_with(outcomes),
        zones=ZONES,
        regime="clinic",
        settings=asdict(config),
        seed=seed,
    )


def _read_with(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How to cut sequences so that the truth is what they show.

    With an earlier outcome of the same label in its look-back, an index shows the records of that outcome
    and a cause that has already acted: such indexes are left out (`washout`). Labels are to be cut one at a
    time: in a sample of the cases of several labels, the causes of one speak against the others.
    """
    return {
        "index": "outcome",
        "lookback": f"{LOOKBACK_DAYS}d",
        "washout": f"{LOOKBACK_DAYS}d",
        "labels": "one at a time",
        "match": "time since the first event",
        "attributes": list(ATTRIBUTES),
        "adjust": sorted({one.confounder.column for one in outcomes if one.confounder}),
        "values": [lab.name for lab in LABS],
        "families": [FAMILY],
    }


def _times(seconds: NDArray[np.int64]) -> "pl.Series":
    import polars as pl

    return pl.Series("time", seconds * 1_000_000).cast(pl.Datetime("us", "UTC"))


def _event_table(ids: NDArray[np.str_], log: Log, names: NDArray[np.str_]) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(
        {
            "subject_id": ids[log.moments.subjects],
            "time": _times(log.moments.times),
            "code": names[log.codes],
            "numeric_value": pl.Series(log.values).fill_nan(None),
        }
    ).sort("subject_id", "time", "code", "numeric_value")


def _outcome_table(
    ids: NDArray[np.str_], outcomes: Sequence[Outcome], happened: Sequence[Moments]
) -> "pl.DataFrame":
    import polars as pl

    tables = [
        pl.DataFrame({"subject_id": ids[moments.subjects], "time": _times(moments.times)}).with_columns(
            label=pl.lit(outcome.name)
        )
        for outcome, moments in zip(outcomes, happened, strict=True)
    ]
    return pl.concat(tables).sort("subject_id", "time", "label")


def _static_table(ids: NDArray[np.str_], people: Population) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame({"subject_id": ids, **people.attributes})


def _code_table(names: Sequence[str]) -> "pl.DataFrame":
    """MEDS metadata of all codes and their families."""
    import polars as pl

    parents: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        code = waiting.pop()
        parents[code] = parent_of(code)
        waiting += [parents[code]] if parents[code] and parents[code] not in parents else []
    codes = sorted(parents)
    families = [[parents[code]] if parents[code] else [] for code in codes]
    return pl.DataFrame(
        {
            "code": codes,
            "description": [_description(code) for code in codes],
            "parent_codes": pl.Series(families, dtype=pl.List(pl.String)),
        }
    )


def _description(code: str) -> str:
    vocabulary, _, name = code.rpartition("//")
    return f"{name} ({vocabulary})" if vocabulary else name


def _truth(outcomes: Sequence[Outcome], happened: Sequence[Moments]) -> Any:
    import polars as pl

    from eventcargo.graphs import LabelGraph

    support = {outcome.name: len(moments) for outcome, moments in zip(outcomes, happened, strict=True)}
    rows = [
        (outcome.name, event, sign, support[outcome.name])
        for outcome in outcomes
        for event, sign in sorted(outcome.signs.items())
    ]
    schema = {"label": pl.String, "event": pl.String, "sign": pl.Int8, "support": pl.Int64}
    return LabelGraph.from_edges(pl.DataFrame(rows, schema=schema, orient="row"), support)
