"""Thresholds: numbers measured by an event as events of their own, such as `creatinine >= 2`.

Thresholds are quantiles of all numbers of an event type, whatever their labels, or given; each is a lower and
an upper bound. Those of one direction form a scale, in which each threshold includes the next.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo.cohort.config import parse_cut
from eventcargo.cohort.event_types import EventTypes, normalised
from eventcargo.cohort.expansion import AT_LEAST, BELOW, Expansion
from eventcargo.errors import ConfigError, argument

MIN_NUMBERS = 20
"""An event type with fewer numbers gets no thresholds by quantiles."""

DIGITS = 4
"""Significant digits of a threshold by quantiles."""

Scale = tuple[str, ...]


def known_cuts(scales: Iterable[Scale], types: EventTypes) -> dict[int, tuple[list[float], list[float]]]:
    """The upper and lower thresholds of event types by the scales of a data set.

    >>> known_cuts([("lab >= 1", "lab >= 2"), ("lab < 0.5",), ("gone < 1",)], EventTypes(["lab"], {"lab": 0}))
    {0: ([1.0, 2.0], [0.5])}
    """
    cuts: dict[int, tuple[list[float], list[float]]] = {}
    for threshold in (threshold for scale in scales for threshold in scale):
        name, sign, number = parts(threshold)
        if name in types.numbers:
            upper, lower = cuts.setdefault(types.numbers[name], ([], []))
            (upper if sign == ">=" else lower).append(float(number))
    return {code: (sorted(upper), sorted(lower)) for code, (upper, lower) in cuts.items()}


def parts(threshold: str) -> tuple[str, str, str]:
    """What was measured, the direction, and the number.

    >>> parts("serum creatinine >= 2")
    ('serum creatinine', '>=', '2')
    """
    name, sign, number = threshold.rsplit(" ", 2)
    return name, sign, number


def measured(scales: Iterable[Scale]) -> dict[str, tuple[str, ...]]:
    """The event types of scales with all of their thresholds."""
    found: dict[str, tuple[str, ...]] = {}
    for scale in scales:
        name = parts(scale[0])[0]
        found[name] = (*found.get(name, ()), *scale)
    return found


def given_cuts(texts: Sequence[str], types: EventTypes, normalise: bool) -> dict[int, tuple[float, ...]]:
    """The given thresholds of event types."""
    cuts: dict[int, tuple[float, ...]] = {}
    for text in texts:
        name, numbers = parse_cut(text)
        name = normalised(name) if normalise else name
        if name not in types.numbers:
            raise ConfigError(f"{argument('cut', text)}: there is no event type {name!r}")
        cuts[types.numbers[name]] = numbers
    return cuts


def quantile_cuts(
    codes: NDArray[np.int32], numbers: NDArray[np.float64], quantiles: Sequence[float]
) -> dict[int, tuple[list[float], list[float]]]:
    """For every event type with enough different numbers, its upper and its lower thresholds."""
    if not len(codes):
        return {}
    table = (
        pl.DataFrame({"code": codes, "number": numbers})
        .group_by("code")
        .agg(
            pl.len().alias("n"),
            pl.col("number").min().alias("low"),
            pl.col("number").max().alias("high"),
            *(pl.col("number").quantile(share, "nearest").alias(f"q{share}") for share in quantiles),
        )
    )
    cuts = {}
    for row in table.filter(pl.col("n") >= MIN_NUMBERS).sort("code").iter_rows(named=True):
        rounded = {float(f"{row[f'q{share}']:.{DIGITS}g}") for share in quantiles}
        inside = sorted(value for value in rounded if row["low"] < value <= row["high"])
        if inside:
            cuts[row["code"]] = (inside, inside)
    return cuts


def add_thresholds(
    types: EventTypes,
    expansion: Expansion,
    automatic: Mapping[int, tuple[list[float], list[float]]],
    given: Mapping[int, tuple[float, ...]],
) -> list[Scale]:
    """Let numbers be followed by the thresholds they pass; return the scales."""
    scales: list[Scale] = []
    cuts = {**automatic, **{code: (list(numbers), list(numbers)) for code, numbers in given.items()}}
    for code, (upper, lower) in sorted(cuts.items()):
        name = types.names[code]
        for sign, condition, values in (
            (">=", AT_LEAST, upper),
            ("<", BELOW, lower[::-1]),
        ):
            scale = tuple(f"{name} {sign} {value:g}" for value in values)
            for threshold, value in zip(scale, values, strict=True):
                expansion.add(code, types.add(threshold), condition, value)
            scales.append(scale)
    return [scale for scale in scales if scale]
