"""Rule: when a label holds, as text to read, a condition to test on data, and JSON to keep."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.files import read_document, write_document
from eventcargo.html_tables import block, paragraph, table
from eventcargo.rules.literals import Literal
from eventcargo.rules.occurrences import Occurrences
from eventcargo.typed import parse_as

FORMAT, FORMAT_VERSION = "eventcargo-rules", 3

FIGURES = ("support", "carrying", "precision", "recall", "model_f1", "falls_short")
"""The fields of a rule that its file keeps, besides its literals."""

Literals = tuple[tuple[Literal, ...], ...]


@dataclass(frozen=True, repr=False)
class Rule:
    """A rule of a label: it holds in a sequence if all literals of one of its groups hold.

    On held-out sequences, `support` counts those in which the rule holds and `carrying` those that carry the
    label; `precision` and `recall` are measured there, too. `model_f1` is the F1 of the label's model on its
    own held-out sequences, None if unknown; the rule `falls_short` if its F1 is clearly lower.

    >>> groups = ((Literal("presence", ("A",)), Literal("presence", ("B",), negated=True)),)
    >>> Rule("brake", groups, support=12, carrying=13, precision=1.0, recall=12 / 13).text
    'A & !B'
    """

    label: str
    literals: Literals
    support: int
    carrying: int
    precision: float
    recall: float
    model_f1: float | None = None
    falls_short: bool = False

    def __repr__(self) -> str:
        return (
            f"Rule of {self.label}: {self.text} (precision {self.precision:.3f}, recall {self.recall:.3f} on "
            f"held-out sequences)"
        )

    def _repr_html_(self) -> str:
        columns = ["rule", "holds in", "label in", "precision", "recall", "F1", "F1 of the model"]
        figures = [self.support, self.carrying, self.precision, self.recall, self.f1, self.model_f1]
        note = "Measured on held-out sequences. & and, | or, ! not."
        short = [paragraph(f"{self.shortfall}.")] if self.shortfall else []
        return block(
            f"Rule of {self.label}", table(columns, [[self.text, *figures]]), *short, paragraph(note, "faint")
        )

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.precision * self.support / max(self.support + self.carrying, 1)

    @property
    def union(self) -> float:
        """Number of held-out sequences in which the rule holds or that carry the label."""
        return self.support + self.carrying - self.precision * self.support

    @property
    def shortfall(self) -> str:
        """What the rule lacks beside the label's model, in words; empty if that is not clear.

        >>> one = (Literal("presence", ("A",)),)
        >>> Rule("brake", (one,), 12, 12, 0.83, 0.83, model_f1=0.99, falls_short=True).shortfall
        'the model knows more than this rule says: F1 .99 against .83'
        """
        if not self.falls_short or self.model_f1 is None:
            return ""
        f1s = " against ".join(f"{f1:.2f}".removeprefix("0") for f1 in (self.model_f1, self.f1))
        return f"the model knows more than this rule says: F1 {f1s}"

    @property
    def text(self) -> str:
        """The rule in words, with literals shared by all groups factored out: `(A | B) & C`."""
        return tell(self.literals)

    @property
    def events(self) -> tuple[str, ...]:
        """The event types that the rule uses, each once."""
        return events_of(self.literals)

    def holds(self, data: EventDataset) -> NDArray[np.bool_]:
        """Where the rule holds: (sequences,). An event type missing from the data counts as absent."""
        return holds(self.literals, Occurrences.locate(data, self.events))

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "support": self.support,
            "carrying": self.carrying,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "model_f1": self.model_f1,
            "falls_short": self.falls_short,
            "shortfall": self.shortfall,
            "literals": [[literal.to_dict() for literal in group] for group in self.literals],
        }

    @classmethod
    def from_dict(cls, label: str, content: Mapping[str, Any]) -> "Rule":
        """The rule that `to_dict` gave; raises `DataError` for anything else."""
        kept = {name: content[name] for name in (*FIGURES, "literals") if name in content}
        rule: Rule = parse_as(cls, {"label": label, **kept}, f"rules.{label}")
        if not rule.literals or not all(rule.literals):
            raise DataError(f"rules.{label} has a group without any literal")
        return rule


def events_of(literals: Literals) -> tuple[str, ...]:
    """The event types of some groups of literals, each once, in order."""
    events = (event for group in literals for literal in group for event in literal.events)
    return tuple(dict.fromkeys(events))


def holds(literals: Literals, found: Occurrences) -> NDArray[np.bool_]:
    """Where all literals of at least one group hold."""
    result = np.zeros(found.n, bool)
    for group in literals:
        held = np.ones(found.n, bool)
        for literal in group:
            held &= literal.holds(found)
        result |= held
    return result


def tell(literals: Literals) -> str:
    """Groups of literals in words.

    >>> a, b, c = (Literal("presence", (name,)) for name in "ABC")
    >>> tell(((a, b), (c,))), tell(((a, b), (a, c)))
    ('(A & B) | C', '(B | C) & A')
    """
    if len(literals) == 1:
        return " & ".join(literal.text for literal in literals[0])
    shared = [literal for literal in literals[0] if all(literal in group for group in literals)]
    own = [[literal.text for literal in group if literal not in shared] for group in literals]
    if shared and all(len(group) == 1 for group in own):
        either = " | ".join(group[0] for group in own)
        return " & ".join([f"({either})", *(literal.text for literal in shared)])
    texts = [" & ".join(literal.text for literal in group) for group in literals]
    return " | ".join(
        f"({text})" if len(group) > 1 else text for text, group in zip(texts, literals, strict=True)
    )


def write_rules(rules: Mapping[str, Rule | None], path: str | Path) -> None:
    """Write the rules of all labels to a JSON file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rules({"brake": None}, f"{folder}/rules.json")
    ...     read_rules(f"{folder}/rules.json")
    {'brake': None}
    """
    content = {label: None if rule is None else rule.to_dict() for label, rule in rules.items()}
    write_document(path, FORMAT, FORMAT_VERSION, {"rules": content})


def read_rules(path: str | Path) -> dict[str, Rule | None]:
    """Read the rules of a file that `write_rules` wrote."""
    content = read_document(path, FORMAT, FORMAT_VERSION, "delete it and find the rules again")
    try:
        rules = parse_as(dict[str, dict[str, Any] | None], content.get("rules"), "rules")
        return {label: None if rule is None else Rule.from_dict(label, rule) for label, rule in rules.items()}
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; delete it and find the rules again") from None
