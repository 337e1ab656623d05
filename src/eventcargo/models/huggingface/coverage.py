"""Coverage: how much of the data a model from elsewhere knows, and whether it knows it by the right names.

A model whose names and ids are mixed up runs as well as any other. But it predicts the next event worse than
the frequencies of events do, which no model does on data like those that it was trained on.
"""

import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray

from eventcargo.errors import DataError, EventCargoWarning, argument, counted
from eventcargo.events import EventDataset
from eventcargo.models.density import walk
from eventcargo.models.huggingface.token_ids import TokenIds

if TYPE_CHECKING:
    from eventcargo.models.huggingface.model import HuggingFace

MAX_EVENTS = 10_000
"""About how many events are predicted to compare losses."""

TOKENS = 2_048
"""Positions per pass of the comparison."""

CLEARLY, MATTERS = 3.0, 0.01
"""Standard errors, and share of the loss of event frequencies, by which a model must be worse to be warned
about: one that has learned little is not mixed up."""

SHOWN = 5
"""Event types named in a message."""


@dataclass(frozen=True)
class Coverage:
    """How many event types and events of a data set a model knows."""

    known_types: int
    types: int
    known_events: int
    events: int
    unknown: tuple[str, ...]  # event types with their counts, the most frequent first

    @classmethod
    def of(cls, data: EventDataset, ids: TokenIds) -> "Coverage":
        """The coverage of a data set by a model with these ids.

        >>> from eventcargo.events import EventSequence
        >>> data = EventDataset.from_sequences([EventSequence("1", ("a", "b", "b"), (0.0, 1.0, 2.0), ())])
        >>> coverage = Coverage.of(data, TokenIds({"b": 4}))
        >>> coverage.share.__round__(2), coverage.unknown
        (0.67, ("'a' (1 event)",))
        """
        counts = data.event_counts
        occurs, known = counts > 0, np.array([name in ids.events for name in data.event_names], bool)
        unknown = [at for at in np.argsort(-counts, kind="stable").tolist() if occurs[at] and not known[at]]
        names = tuple(f"{data.event_names[at]!r} ({counted(int(counts[at]), 'event')})" for at in unknown)
        return cls(
            int((known & occurs).sum()), int(occurs.sum()), int(counts[known].sum()), int(counts.sum()), names
        )

    @property
    def share(self) -> float:
        """The share of events whose type the model knows."""
        return self.known_events / max(self.events, 1)

    def to_dict(self) -> dict[str, Any]:
        """The figures, and the most frequent unknown event types."""
        return {**asdict(self), "unknown": list(self.unknown[:SHOWN])}

    def check(self, least: float, *, has_unk: bool) -> None:
        """Refuse a model that knows too few events; warn of event types that it does not know."""
        if not self.unknown:
            return
        n_unknown = self.types - self.known_types
        text = (
            f"the model from elsewhere knows {self.known_types:,} of {counted(self.types, 'event type')} and "
            f"{self.share:.1%} of the events"
        )
        names = ", ".join(self.unknown[:SHOWN]) + (", ..." if n_unknown > SHOWN else "")
        if self.share < least:
            raise DataError(
                f"{text}, less than {argument('min_coverage', least)}; unknown are {names}; give the model's "
                f"ids of these names by {argument('ids')} or {argument('codes')}, or lower "
                f"{argument('min_coverage')}"
            )
        as_what = "read as its UNK" if has_unk else "left out of what it reads, as it has no UNK"
        warnings.warn(f"{text}; the others are {as_what}: {names}", EventCargoWarning, stacklevel=2)


@dataclass(frozen=True)
class NextEventLoss:
    """Mean next-event losses in nats, of a model and of event frequencies, on the same events."""

    model: float
    frequencies: float
    error: float  # the standard error of their difference
    events: int

    def warn_if_worse(self) -> None:
        """Warn of a model that clearly predicts worse than event frequencies."""
        if self.model - self.frequencies > max(CLEARLY * self.error, MATTERS * self.frequencies):
            warnings.warn(
                "the model from elsewhere predicts the next event worse than event frequencies do "
                f"({self.model:.2f} against {self.frequencies:.2f} nats an event, on "
                f"{counted(self.events, 'event')}): its names and ids may be mixed up, or it was trained on "
                "other data; check where its ids come from",
                EventCargoWarning,
                stacklevel=2,
            )


@torch.inference_mode()
def next_event_loss(model: "HuggingFace", data: EventDataset, rates: NDArray[np.float64]) -> NextEventLoss:
    """The losses on the first events of a data set; events that the model cannot predict are left out."""
    data = data[: int(np.searchsorted(data.rows.offsets, MAX_EVENTS)) + 1]
    can = model.can_follow
    base = -np.log(rates / rates[can].sum())
    losses, base_losses = [np.zeros(0)], [np.zeros(0)]
    for _, batch in walk(model, data, TOKENS):
        following = np.roll(batch.ids, -1, axis=1)
        at = batch.mask & ~batch.at_end & can[following]
        logits = model.densities(batch, events_at=at).events
        assert logits is not None
        target = torch.as_tensor(following[at], device=logits.device)
        losses.append(F.cross_entropy(logits.double(), target, reduction="none").cpu().numpy())
        base_losses.append(base[following[at]])
    own, others = np.concatenate(losses), np.concatenate(base_losses)
    if not len(own):
        return NextEventLoss(0.0, 0.0, 0.0, 0)
    error = float((own - others).std() / len(own) ** 0.5)
    return NextEventLoss(float(own.mean()), float(others.mean()), error, len(own))
