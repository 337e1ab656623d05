"""Sequences as requests send them: checked value by value, with the place of what is wrong, as tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from eventcargo.errors import counted, did_you_mean
from eventcargo.io.columns import LARGEST_EXACT
from eventcargo.io.dates import not_dates
from eventcargo.service.problems import Problem, unusable
from eventcargo.typed import is_text, show

ID, TIME, NAME = "id", "time", "name"
"""Columns of the tables, called as in requests."""

KINDS = {"number": "a number", "datetime": "a date", "order": "null"}

BLANK = " \t\n\r\f\v"
"""Signs of which alone no name consists."""

DATES = "a date such as 2024-05-31 or 2024-05-31T12:00:00Z"


@dataclass(frozen=True)
class Fields:
    """What the sequences of a run may have, and how many of it.

    `times` are the kinds of time that the run can use; `values` and `attributes` the names that it knows.
    """

    times: tuple[str, ...] = ("number", "datetime", "order")
    values: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    max_sequences: int = 1_000
    max_events: int = 20_000


@dataclass
class Sent:
    """The sequences of a request as columns: a row for each event, and attributes by sequence."""

    fields: Fields
    ids: list[str] = field(default_factory=list)
    attributes: list[dict[str, Any]] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    times: list[Any] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)
    """where each sequence is, and the number of its first event"""
    kind: str = ""

    @classmethod
    def parse(cls, content: Any, fields: Fields) -> "Sent":
        """One sequence or a list of them; anything else is refused with its place."""
        sent = cls(fields)
        if isinstance(content, dict):
            sent._add(content, "")
        elif isinstance(content, list):
            sent._check_count(content, "the request", "sequence", fields.max_sequences)
            for at, one in enumerate(content):
                sent._add(one, f"[{at}]")
        else:
            raise unusable(f"the request is {show(content)}; send a sequence or a list of sequences")
        sent._check_ids()
        sent._check_dates()
        return sent

    def events(self) -> pl.DataFrame:
        """The table of events, without a column of times where there is only an order."""
        kinds = {"number": pl.Float64(), "datetime": pl.String()}
        times = {TIME: pl.Series(self.times, dtype=kinds[self.kind])} if self.kind in kinds else {}
        numbers = {
            name: pl.Series([own.get(name) for own in self.values], dtype=pl.Float64)
            for name in self.fields.values
        }
        named = {ID: pl.Series(self.owners, dtype=pl.String), NAME: pl.Series(self.names, dtype=pl.String)}
        return pl.DataFrame({**named, **times, **numbers})

    def static(self) -> pl.DataFrame:
        """The table of attributes, a row for each sequence and a column for each attribute of the run."""
        columns = {name: [own.get(name) for own in self.attributes] for name in self.fields.attributes}
        return pl.DataFrame(
            {ID: pl.Series(self.ids, dtype=pl.String), **{name: _column(v) for name, v in columns.items()}}
        )

    def _add(self, given: Any, where: str) -> None:
        """One sequence."""
        place = where or "the request"
        _check_object(given, place, ("id", "events"), ("attributes",) if self.fields.attributes else ())
        name = _text(given["id"], _inner(where, "id"))
        events = given["events"]
        self._check_count(events, _inner(where, "events"), "event", self.fields.max_events)
        self.places.append((where, len(self.names)))
        for at, event in enumerate(events):
            self._add_event(event, _inner(where, f"events[{at}]"))
        self.ids.append(name)
        self.owners += [name] * len(events)
        self.attributes.append(self._attributes(given.get("attributes", {}), _inner(where, "attributes")))

    def _add_event(self, given: Any, where: str) -> None:
        _check_object(given, where, (NAME,), (TIME, "values") if self.fields.values else (TIME,))
        self.names.append(_text(given[NAME], f"{where}.{NAME}"))
        self.times.append(self._time(given.get(TIME), f"{where}.{TIME}"))
        if self.fields.values:
            self.values.append(self._values(given.get("values", {}), f"{where}.values"))

    def _time(self, given: Any, where: str) -> Any:
        """A time, of the same kind as those before."""
        kind = "order" if given is None else "datetime" if isinstance(given, str) else "number"
        if kind == "number":
            _check_number(given, where, _either([KINDS[one] for one in self.fields.times]))
        if kind not in self.fields.times:
            allowed = _either([DATES if one == "datetime" else KINDS[one] for one in self.fields.times])
            raise unusable(f"{where} is {show(given)}; this run needs {allowed}")
        self.kind = self.kind or kind
        if kind != self.kind:
            raise unusable(f"{where} is {show(given)}, but {KINDS[self.kind]} before; use one kind of times")
        return given

    def _values(self, given: Any, where: str) -> dict[str, Any]:
        _check_object(given, where, (), self.fields.values)
        for name, value in given.items():
            if value is not None:
                _check_number(value, f"{where}.{name}", "a number or null")
        return dict(given)

    def _attributes(self, given: Any, where: str) -> dict[str, Any]:
        _check_object(given, where, (), self.fields.attributes)
        for name, value in given.items():
            if isinstance(value, str):
                _check_text(value, f"{where}.{name}")
            elif value is not None:
                _check_number(value, f"{where}.{name}", "text, a number or null")
        return dict(given)

    def _check_count(self, given: Any, where: str, noun: str, most: int) -> None:
        if not isinstance(given, list):
            raise unusable(f"{where} is {show(given)}, not a list")
        if not given:
            raise unusable(f"{where} is empty; give at least one {noun}")
        if len(given) > most:
            raise unusable(f"{where} has {counted(len(given), noun)}; send at most {most:,} at once")

    def _check_ids(self) -> None:
        first: dict[str, int] = {}
        for at, name in enumerate(self.ids):
            if first.setdefault(name, at) != at:
                raise Problem(
                    409, f"[{at}].id is {show(name)}, as [{first[name]}].id; every sequence needs its own id"
                )

    def _check_dates(self) -> None:
        """Refuse text that is no date."""
        if self.kind != "datetime":
            return
        bad = not_dates(pa.array(self.times, pa.large_string())).nonzero()[0]
        if len(bad):
            where, first = next(place for place in reversed(self.places) if place[1] <= bad[0])
            place = _inner(where, f"events[{bad[0] - first}].{TIME}")
            raise unusable(f"{place} is {show(self.times[bad[0]])}, not {DATES}")


def _inner(where: str, name: str) -> str:
    """The place of an entry.

    >>> _inner("", "id"), _inner("[2]", "id")
    ('id', '[2].id')
    """
    return f"{where}.{name}" if where else name


def _check_object(given: Any, where: str, needed: Sequence[str], optional: Sequence[str]) -> None:
    """Refuse what is no object, lacks an entry, or has one that nothing reads."""
    if not isinstance(given, dict):
        raise unusable(f"{where} is {show(given)}, not an object")
    for name in needed:
        if name not in given:
            raise unusable(f"{where} has no entry {name!r}")
    known = [*needed, *optional]
    for name in given:
        if name not in known:
            meant = did_you_mean(name, known)
            advice = f"did you mean {meant!r}?" if meant else f"use {', '.join(map(repr, known))}"
            raise unusable(f"{where} has the unknown entry {show(name)}; {advice}")


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise unusable(f"{where} is {show(given)}, not text")
    if not given.strip(BLANK):
        raise unusable(f"{where} is {show(given)}; give a name that is not blank")
    _check_text(given, where)
    return given


def _check_text(given: str, where: str) -> None:
    if not is_text(given):
        raise unusable(f"{where} is {show(given)}, which has half a surrogate pair and is no Unicode")


def _check_number(given: Any, where: str, allowed: str) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise unusable(f"{where} is {show(given)}, not {allowed}")
    if isinstance(given, int) and abs(given) > LARGEST_EXACT:
        raise unusable(f"{where} is {show(given)}; use whole numbers up to {LARGEST_EXACT:,}")


def _column(values: list[Any]) -> pl.Series:
    """An attribute as a column: of numbers if all are, else of text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return pl.Series(values, dtype=pl.Int64 if kinds == {int} else pl.Float64)
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _either(words: Sequence[str]) -> str:
    """Alternatives in words.

    >>> _either(["a number", "a date", "null"])
    'a number, a date or null'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
