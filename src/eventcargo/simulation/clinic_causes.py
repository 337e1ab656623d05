"""What can cause an outcome of the regime `clinic`: a code, a family, a value, two codes, their order.

`events` names the members of the boundary as a cohort names them; `moments` are when the cause becomes true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from eventcargo.simulation.clinic_log import Log, Moments

PAIR_DAYS = 18
"""Two codes act together if they are so close: with the delay of the outcome, both are in the look-back."""


@dataclass(frozen=True)
class History:
    """The records before any outcome; `numbers` are those of a code, or of the members of a family."""

    log: Log
    numbers: Mapping[str, Sequence[int]]

    def of(self, name: str) -> Log:
        return self.log.where(self.numbers[name])


class Trigger(Protocol):
    """A cause."""

    @property
    def events(self) -> tuple[str, ...]: ...

    def moments(self, history: History) -> Moments: ...


@dataclass(frozen=True)
class Presence:
    """A code, or any member of a family, is recorded."""

    name: str

    @property
    def events(self) -> tuple[str, ...]:
        return (self.name,)

    def __str__(self) -> str:
        return self.name

    def moments(self, history: History) -> Moments:
        return history.of(self.name).moments


@dataclass(frozen=True)
class Threshold:
    """A measured value is at least, or below, a limit."""

    code: str
    side: Literal[">=", "<"]
    limit: float

    @property
    def events(self) -> tuple[str, ...]:
        return (str(self),)

    def __str__(self) -> str:
        return f"{self.code} {self.side} {self.limit}"

    def moments(self, history: History) -> Moments:
        measured = history.of(self.code)
        is_beyond = measured.values >= self.limit if self.side == ">=" else measured.values < self.limit
        return measured.moments.take(is_beyond)


@dataclass(frozen=True)
class Ordered:
    """One code is recorded within some days after another."""

    first: str
    then: str

    @property
    def events(self) -> tuple[str, ...]:
        return (self.first, self.then)

    def __str__(self) -> str:
        return f"({self.first} then {self.then})"

    def moments(self, history: History) -> Moments:
        late = history.of(self.then).moments
        return late.take(late.have_before(history.of(self.first).moments, PAIR_DAYS))


@dataclass(frozen=True)
class Both:
    """Two codes are recorded within some days, in either order."""

    one: str
    other: str

    @property
    def events(self) -> tuple[str, ...]:
        return (self.one, self.other)

    def __str__(self) -> str:
        return f"({self.one} & {self.other})"

    def moments(self, history: History) -> Moments:
        orders = (Ordered(self.one, self.other), Ordered(self.other, self.one))
        return Moments.join(order.moments(history) for order in orders)
