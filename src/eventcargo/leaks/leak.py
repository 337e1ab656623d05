"""Leak: an event type and a label that occur together as a record and its outcome do."""

from dataclasses import dataclass
from typing import Literal

from eventcargo.errors import counted

Sign = Literal["name", "double", "closing", "words", "undated"]
"""name: the event type has the label's name. double: neither occurs without the other. closing: the event
type brings the label and ends the sequence. words: its name contains the label's, which is only a hint.
undated: the two mostly occur together, and although events have dates, no date of the label orders them."""


@dataclass(frozen=True)
class Leak:
    """The signs of a leak with the counts of sequences behind them.

    >>> leak = Leak("turbo failure", "turbo replaced", ("double",), 12, 12, 12, 5_012, 3)
    >>> leak.reason
    'turbo replaced is in 12 of 12 sequences with turbo failure and in 0 of 5,000 without, and is the last
    event of 3 of these 12: a cause this perfect may be a record of the outcome'
    """

    label: str
    event: str
    signs: tuple[Sign, ...]
    both: int
    with_event: int
    with_label: int
    sequences: int
    last: int
    """sequences with both in which the event type occurs at the last of several instants"""

    @property
    def is_hint(self) -> bool:
        """Whether only the words of its name speak for a leak."""
        return self.signs == ("words",)

    @property
    def is_certain(self) -> bool:
        """Whether the event type has the name of the label and occurs with it only."""
        return "name" in self.signs and "double" in self.signs

    @property
    def reason(self) -> str:
        """What the counts are, and what they may mean."""
        meanings = {
            "name": "it has the name of the outcome",
            "double": "a cause this perfect may be a record of the outcome",
            "closing": "it may have been recorded with the outcome or because of it",
            "words": "its name contains that of the outcome",
            "undated": "no date of the outcome shows which came first, and it may be its record",
        }
        return f"{self._counts}: {' and '.join(meanings[sign] for sign in self.signs)}"

    @property
    def _counts(self) -> str:
        without = self.sequences - self.with_label
        end = f", and is the last event of {self.last:,} of these {self.both:,}" if self.last else ""
        return (
            f"{self.event} is in {self.both:,} of {counted(self.with_label, 'sequence')} with {self.label} "
            f"and in {self.with_event - self.both:,} of {without:,} without{end}"
        )
