"""Poll: the votes of all tests and polarities together, and what they follow from.

Counted shard by shard, each read once and then forgotten. Polls of parts that were counted apart, such as
days or machines, are joined into what one pass over all of them gives, byte for byte.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from eventcargo.edges import CARRIERS, EdgeFolder, EdgeTable, summed
from eventcargo.errors import ConfigError
from eventcargo.fusion.counting import POLARITIES, TESTS
from eventcargo.fusion.votes import Count, Kind, Votes

FREE = ("shard", "shards")
"""Entries of the plan of edges that say how they were computed and change nothing."""

LISTS = ("model", "labels", "untrusted", "data")
"""Entries of a poll's plan that are no settings of phase 1."""


@dataclass(frozen=True)
class Poll:
    """Votes by test and polarity, and how many sequences carry each label.

    `plan` says what was counted: model, labels, settings of phase 1 and the fingerprint of every part of the
    data. It is empty where a table in memory was counted.

    >>> Poll.of(EdgeTable.join([])).votes
    {}
    """

    votes: Mapping[Kind, Votes]
    carriers: pl.DataFrame
    plan: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: EdgeTable) -> "Poll":
        """The votes of a table in memory."""
        return cls._counted([table], {})

    @classmethod
    def of_folder(cls, folder: EdgeFolder) -> "Poll":
        """The votes of all shards of a folder, two in memory at a time."""
        return cls._counted(_read_ahead(folder), plan_of(folder))

    @classmethod
    def _counted(cls, parts: Iterable[EdgeTable], plan: Mapping[str, Any]) -> "Poll":
        count, carriers = Count(), [pl.DataFrame(schema=CARRIERS)]
        for part in parts:
            count.add(part)
            carriers.append(part.carriers)
        return cls(count.votes(), summed(pl.concat(carriers)), plan)

    @classmethod
    def join(cls, polls: "Sequence[Poll]") -> "Poll":
        """The sums of polls of the same model and settings and of different data."""
        plan = _joined_plan([poll.plan for poll in polls])
        count = Count()
        for votes in (votes for poll in polls for votes in poll.votes.values()):
            count.add_votes(votes)
        carriers = summed(pl.concat([pl.DataFrame(schema=CARRIERS), *(poll.carriers for poll in polls)]))
        return cls(count.votes(), carriers, plan)

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests whose votes are here."""
        return tuple(test for test in TESTS if any(test == kind[0] for kind in self.votes))

    @cached_property
    def event_names(self) -> list[str]:
        """Event types that met a label in a tested sequence, sorted."""
        met = [votes.chances["event"].unique() for votes in self.votes.values()]
        return pl.concat([pl.Series("event", [], dtype=pl.String), *met]).unique().sort().to_list()

    def support(self, test: str) -> dict[str, int]:
        """In how many sequences that carry it each label was tested; 0 for labels that none does."""
        tested = dict.fromkeys(self.plan.get("labels", ()), 0)
        tested |= dict.fromkeys(self.carriers["label"].to_list(), 0)
        for polarity in reversed(POLARITIES):
            if (test, polarity) in self.votes:
                found = self.votes[test, polarity].support
                tested |= found if polarity == "present" else dict.fromkeys(set(found) - set(tested), 0)
        return {label: tested[label] for label in sorted(tested)}

    def table(self, test: str, polarities: Sequence[str] = POLARITIES) -> pl.DataFrame:
        """A row for each edge and polarity with a vote: counts, frequency, means, and the information.

        I(label, event) = strength + KL(P(label | rest) || P(label)), in nats, the mean over votes: the first
        term is I(label, event | rest), the second I(label, rest) (eq:mi_y_z), the rest what the test
        conditions on and P(label) the share of sequences that carry the label. Null where that, or the
        probabilities of phase 1, are not known.
        """
        parts = [
            self.votes[test, polarity].table.with_columns(polarity=pl.lit(polarity))
            for polarity in polarities
            if (test, polarity) in self.votes
        ]
        if not parts:
            raise ConfigError(f"test={test!r} has no votes here; there are {', '.join(self.tests) or 'none'}")
        rows = pl.concat(parts).join(self._rates, on="label", how="left", maintain_order="left")
        p, rate = pl.col("before"), pl.col("rate")
        cross = -(_times_log(p, rate) + _times_log(1 - p, 1 - rate))
        return rows.with_columns(information=pl.col("strength") + cross - pl.col("entropy")).drop("rate")

    @property
    def _rates(self) -> pl.DataFrame:
        share = pl.when(pl.col("sequences") > 0).then(pl.col("carriers") / pl.col("sequences"))
        return self.carriers.select("label", rate=share)

    @property
    def n_sequences(self) -> int | None:
        """Sequences of the data; None where it is not known."""
        return None if self.carriers.is_empty() else int(self.carriers["sequences"].max())  # type: ignore[arg-type]


def _read_ahead(folder: EdgeFolder) -> Iterator[EdgeTable]:
    """The shards in order; the next one is read while one is counted."""
    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(folder.read, number) for number in range(min(1, folder.n_shards))]
        for number in range(folder.n_shards):
            table = coming.pop().result()
            if number + 1 < folder.n_shards:
                coming.append(pool.submit(folder.read, number + 1))
            yield table


def _times_log(factor: pl.Expr, of: pl.Expr) -> pl.Expr:
    return pl.when(factor == 0).then(0.0).otherwise(factor * of.log())


def plan_of(folder: EdgeFolder) -> dict[str, Any]:
    """What a poll of these edges follows from."""
    plan = folder.plan
    settings = {name: value for name, value in plan.items() if name not in (*LISTS, *FREE)}
    named = {name: plan.get(name) for name in LISTS if name != "data"}
    return {**named, "settings": settings, "data": [plan.get("data")]}


def _joined_plan(plans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The plan of several polls; what differs, and data that are there twice, are refused."""
    first = plans[0]
    for other in plans[1:]:
        for name in sorted((set(first) | set(other)) - {"data"}):
            if first.get(name) != other.get(name):
                odd = _differing(first.get(name), other.get(name))
                raise ConfigError(f"votes of different {name} cannot be joined: {odd}")
    data = sorted(part for plan in plans for part in plan.get("data", ()))
    twice = sorted({part for part in data if data.count(part) > 1})
    if twice:
        raise ConfigError(f"the same data are there twice and would count twice: {twice[0]}; leave one out")
    return {**first, "data": data} if data else dict(first)


def _differing(one: Any, other: Any) -> str:
    """The first difference of two entries, told shortly."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        name = next(name for name in sorted({*one, *other}) if one.get(name) != other.get(name))
        return f"{name} is {one.get(name)!r} and {other.get(name)!r}"
    if isinstance(one, list) and isinstance(other, list):
        odd = sorted(set(one) ^ set(other))
        return f"{odd[0]!r} is in one only" if odd else "their order"
    return f"{one!r} and {other!r}"
