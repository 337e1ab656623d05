"""LabelModel: P(label | events so far) on the states of any next-event model, with a linear term before it.

The logit of a label is that of the linear term, or of a focused network in its place, plus that of a head on
the states, as far as the gate of the calibration lets it through. `Transformer` has states of its own;
`HuggingFace` takes those of a model from elsewhere.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eventcargo.batches import Batch
from eventcargo.errors import DataError, counted
from eventcargo.models.base_rates import ValueScales
from eventcargo.models.calibration import Calibration
from eventcargo.models.density import Densities, DensityModel, HidingChanges, names_fingerprint
from eventcargo.models.focused.term import HELD_FOLD, FocusedTerm, places_of
from eventcargo.models.label_head import LabelHead, LabelQueries
from eventcargo.models.linear.hiding import hiding
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.pretrained import tensors_fingerprint
from eventcargo.models.tensors import check_ids

TERM, FOCUSED = "linear.", "focused."
"""Prefixes of the tensors of the linear term and of the focused networks in a saved model."""


LABEL_PARTS = ("label_", "end_head", "memory_norm", "term_scale")
"""Prefixes of the parameters that only labels use."""


class LabelModel(nn.Module, DensityModel):
    """A `DensityModel` with heads for labels; a subclass gives `states` and `next_logits`."""

    label_cap: Tensor
    gate: Tensor
    end_slope: Tensor
    prefix_slope: Tensor
    trusted: Tensor
    linear: LinearTerm | None
    focused: FocusedTerm | None

    def add_heads(self, width: int, n_labels: int, queries: bool) -> None:
        """Add the heads on states of this width, and the corrections of their logits."""
        head = LabelQueries if queries else LabelHead
        self.label_head, self.end_head = head(width, n_labels), head(width, n_labels)
        self.term_scale = nn.Parameter(torch.ones(n_labels))
        self.register_buffer("label_cap", torch.full((n_labels,), torch.inf))
        for name in ("gate", "end_slope", "prefix_slope"):
            self.register_buffer(name, torch.ones(n_labels))
        self.register_buffer("trusted", torch.ones(n_labels, dtype=torch.bool))

    @abstractmethod
    def states(self, batch: Batch, for_labels: bool = True) -> tuple[Tensor, Tensor]:
        """States of Tf_x and of Tf_y, both (B, L, D); with `for_labels=False` the latter is empty."""

    @abstractmethod
    def next_logits(self, states: Tensor, batch: Batch, events_at: NDArray[np.bool_]) -> Tensor:
        """Next-event logits where the mask (B, L) is true, from the states of Tf_x (B, L, D)."""

    @property
    def can_follow(self) -> NDArray[np.bool_]:
        """Ids of which the model says how probable they are to come next: (V,)."""
        return np.ones(len(self.vocabulary), bool)

    @property
    @abstractmethod
    def n_block_weights(self) -> int:
        """Number of weights between the embedding and the heads, which says how long a pass takes."""

    @torch.no_grad()
    def start_from(
        self,
        event_rates: NDArray[np.float64],  # noqa: ARG002 (others use them)
        label_rates: NDArray[np.float64],
        time_scale: float,  # noqa: ARG002
        values: ValueScales | None = None,  # noqa: ARG002
    ) -> None:
        """Start the heads at base rates, and set the scales of times and values."""
        if self.linear is None:
            logits = torch.as_tensor(label_rates, dtype=torch.float32, device=self.device).logit()
            self.label_head.bias.copy_(logits)
            self.end_head.bias.copy_(logits)

    def placed(self, device: torch.device | str) -> Self:
        """This model with all parts on a device; the fitted terms are no modules and are moved separately."""
        if self.linear is not None:
            self.linear = self.linear.to(device)
        if self.focused is not None:
            self.focused = self.focused.to(device)
        return self.to(device)

    @torch.no_grad()
    def never_predict(self, labels: NDArray[np.int64], rate: float) -> None:
        """Cap the probability of these labels at a rate, because they have no positives."""
        self.label_cap[torch.as_tensor(labels, device=self.device)] = float(np.log(rate / (1 - rate)))

    @torch.no_grad()
    def calibrate(self, calibration: Calibration) -> None:
        """Apply these corrections to all further label logits."""
        for name, values in asdict(calibration).items():
            getattr(self, name).copy_(torch.as_tensor(values))

    @torch.no_grad()
    def use_term_at_end(self) -> None:
        """Let the linear term alone decide about whole sequences."""
        for parameter in self.end_head.parameters():
            parameter.zero_()

    @torch.no_grad()
    def mark_untrusted(self, labels: Sequence[int]) -> None:
        """Mark exactly these labels as untrusted; the mark is saved with the model."""
        self.trusted.fill_(True)
        self.trusted[torch.as_tensor(labels, dtype=torch.int64, device=self.device)] = False

    def freeze_events(self) -> None:
        """Freeze all weights except those that only labels use."""
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name.startswith(LABEL_PARTS))

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Names of the labels whose model is not clearly better than their base rate."""
        return tuple(
            name for name, good in zip(self.label_names, self.trusted.tolist(), strict=True) if not good
        )

    def label_logits(
        self,
        states: Tensor | None,
        batch: Batch,
        labels_at: NDArray[np.bool_],
        label_columns: NDArray[np.int64] | None = None,
    ) -> Tensor:
        """Label logits of the requested positions, from the states of all positions (B, L, D).

        The end has a head of its own, and there the linear term counts as it was fitted, on whole sequences;
        before the end it is scaled, because the events still to come make it less certain. Without states,
        the logits are those of the linear term alone.
        """
        columns = np.arange(len(self.label_names)) if label_columns is None else label_columns
        chosen = torch.as_tensor(columns, device=self.device)
        is_end = torch.as_tensor(batch.at_end[labels_at], device=self.device)[:, None]  # (positions, 1)
        slopes = torch.where(is_end, self.end_slope[chosen], self.prefix_slope[chosen])
        logits = torch.zeros_like(slopes)
        if states is not None:
            logits = self._network_logits(states, batch, labels_at, chosen)
        if self.linear is not None:
            with torch.no_grad():
                term = self.linear.logits(batch, labels_at, columns)
                term = self._with_focused(term, batch, labels_at, columns).to(logits)
            logits = logits + term * torch.where(is_end, 1.0, self.term_scale[chosen])
        return torch.minimum(logits * slopes, self.label_cap[chosen].to(logits.dtype))

    def _network_logits(
        self, states: Tensor, batch: Batch, labels_at: NDArray[np.bool_], chosen: Tensor
    ) -> Tensor:
        """Logits of the two heads, before the end and at the end: (positions, labels)."""
        logits = states.new_zeros(int(labels_at.sum()), len(chosen), dtype=torch.float32)
        ends = batch.at_end[labels_at]  # (positions,)
        if not ends.all():
            before = torch.as_tensor(labels_at & ~batch.at_end, device=states.device)
            found = self.label_head(states, before, chosen)
            logits = logits.index_copy(0, _places(~ends, states), found.float())
        if ends.any():
            at_end = torch.as_tensor(labels_at & batch.at_end, device=states.device)
            found = self.end_head(states, at_end, chosen) * self.gate[chosen]
            logits = logits.index_copy(0, _places(ends, states), found.float())
        return logits

    def _with_focused(
        self, term: Tensor, batch: Batch, labels_at: NDArray[np.bool_], columns: NDArray[np.int64]
    ) -> Tensor:
        """The linear term's logits (positions, labels), with those of the focused networks in their place."""
        rows, ends = np.nonzero(labels_at)
        for at, place in self._focused_places(columns):
            assert self.focused is not None
            logits = self.focused.logits(batch, place, rows, ends)
            term[:, at] = torch.from_numpy(logits).to(term)
        return term

    def _focused_places(self, columns: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Positions in `columns` and places in `focused` of the labels whose focused network counts."""
        is_open = self.gate.cpu().numpy() > 0
        return [(at, place) for at, place in places_of(self.focused, columns) if is_open[columns[at]]]

    def densities(
        self,
        batch: Batch,
        *,
        events_at: NDArray[np.bool_] | None = None,
        labels_at: NDArray[np.bool_] | None = None,
        label_columns: NDArray[np.int64] | None = None,
    ) -> Densities:
        """Logits at the positions where the masks (B, L) are true; see `DensityModel`."""
        if events_at is None and labels_at is not None and self._is_term_alone_at(batch, labels_at):
            return Densities(None, self.label_logits(None, batch, labels_at, label_columns))
        x, y = self.states(batch, for_labels=labels_at is not None)
        events = labels = None
        if events_at is not None:
            events = self.next_logits(x, batch, events_at)
        if labels_at is not None:
            labels = self.label_logits(y, batch, labels_at, label_columns)
        return Densities(events, labels)

    @property
    def is_term_alone(self) -> bool:
        """Whether all label logits are the linear term alone, because the network was never trained."""
        return self._is_term_alone_with(self.label_head, self.end_head)

    def _is_term_alone_at(self, batch: Batch, labels_at: NDArray[np.bool_]) -> bool:
        """The same for these positions: the ends of sequences have a head of their own."""
        if (labels_at & ~batch.at_end).any():
            return self.is_term_alone
        return self._is_term_alone_with(self.end_head)

    def _is_term_alone_with(self, *heads: LabelHead) -> bool:
        return self.linear is not None and not self.training and all(head.is_zero for head in heads)

    @property
    def linear_labels(self) -> NDArray[np.bool_]:
        """Labels whose logit at the end is the linear term alone, because their gate is shut: (labels,)."""
        if self.linear is None:
            return np.zeros(len(self.label_names), bool)
        return (self.gate == 0).cpu().numpy()

    def hiding_changes(self, batch: Batch) -> HidingChanges | None:
        """How hiding event types changes the linear term; see `DensityModel`."""
        if self.linear is None:
            return None
        return self._calibrated(hiding(self.linear).changes(batch))

    def fold_changes(self, batch: Batch, fold: int) -> HidingChanges | None:
        """The same by weights that were fitted without a fold; see `DensityModel`.

        Focused networks have left out one fold only; of other sequences they say nothing.
        """
        if self.linear is None or not self.linear.folds:
            return None
        changes = hiding(self.linear, fold).changes(batch)
        for column, place in self._focused_places(np.arange(len(self.label_names))):
            changes = self._with_focused_changes(changes, batch, column, place, fold)
        return self._calibrated(changes)

    def _with_focused_changes(
        self, changes: HidingChanges, batch: Batch, column: int, place: int, fold: int
    ) -> HidingChanges:
        """The changes with those of a label's focused network in place of the linear term's."""
        assert self.focused is not None
        kept, logits = changes.labels != column, changes.logits
        parts = [[getattr(changes, name)[kept]] for name in ("rows", "labels", "ids", "taken")]
        if fold == HELD_FOLD:
            logits = logits.copy()
            logits[:, column], rows, ids, taken = self.focused.changes(batch, place)
            for part, more in zip(parts, (rows, np.full(len(rows), column), ids, taken), strict=True):
                part.append(more)
        rows, labels, ids, taken = (np.concatenate(part) for part in parts)
        order = np.lexsort((ids, labels, rows))
        return replace(
            changes, logits=logits, rows=rows[order], labels=labels[order], ids=ids[order], taken=taken[order]
        )

    def hiding_matters(self, label_columns: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """The candidates of focused networks; all event types for other labels."""
        matters = np.ones((len(label_columns), len(self.vocabulary)), bool)
        if self.focused is not None and self._is_term_alone_with(self.end_head):
            for at, place in self._focused_places(label_columns):
                matters[at] = self.focused.slots(place) >= 0
        return matters

    def hidden_logits(
        self, batch: Batch, rows: NDArray[np.int64], ids: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Logits with event types hidden; those of focused networks need no pass over the whole sequence."""
        places = dict(self._focused_places(np.arange(len(self.label_names))))
        if not places or not self._is_term_alone_with(self.end_head):
            return super().hidden_logits(batch, rows, ids, labels)
        assert self.focused is not None
        result, is_other = np.empty(len(rows)), ~np.isin(labels, list(places))
        if is_other.any():
            result[is_other] = super().hidden_logits(batch, rows[is_other], ids[is_other], labels[is_other])
        slope, cap = (values.double().cpu().numpy() for values in (self.end_slope, self.label_cap))
        for label in np.unique(labels[~is_other]).tolist():
            own = np.flatnonzero(labels == label)
            logits = self.focused.without(batch, places[label], rows[own], ids[own])
            result[own] = np.minimum(slope[label] * logits, cap[label])
        return result

    def _calibrated(self, changes: HidingChanges) -> HidingChanges:
        slope, cap = (values.double().cpu().numpy() for values in (self.end_slope, self.label_cap))
        return replace(changes, slope=slope, cap=cap)

    @property
    def n_bytes(self) -> int:
        return sum(value.numel() * value.element_size() for value in self.state_dict().values())

    @property
    def fingerprint(self) -> str:
        tensors = {**self.state_dict(), **self._term_tensors()}
        return f"{names_fingerprint(self)}, {tensors_fingerprint(tensors)}"

    def _term_tensors(self) -> dict[str, Tensor]:
        """The tensors of the fitted terms by the names they have in a saved model."""
        terms = ((TERM, self.linear), (FOCUSED, self.focused))
        return {
            prefix + name: value
            for prefix, term in terms
            if term is not None
            for name, value in term.to_tensors().items()
        }


def _places(which: NDArray[np.bool_], like: Tensor) -> Tensor:
    return torch.as_tensor(np.flatnonzero(which), device=like.device)


def read_terms(tensors: dict[str, Tensor]) -> tuple[LinearTerm | None, FocusedTerm | None]:
    """Remove the fitted terms from a model's tensors and return them; None for one that is not there."""
    linear, focused = (_taken_out(tensors, prefix) for prefix in (TERM, FOCUSED))
    return (
        LinearTerm.from_tensors(linear) if linear else None,
        FocusedTerm.from_tensors(focused) if focused else None,
    )


def _taken_out(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors.pop(name) for name in names}


def fill(model: LabelModel, tensors: dict[str, Tensor], folder: Path) -> None:
    _check_terms(model, folder)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise DataError(f"{folder} holds weights that do not match its config.json: {reason}") from None


def _check_terms(model: LabelModel, folder: Path) -> None:
    """Refuse fitted terms for another number of event types or labels than the model has."""
    n_ids, n_labels = len(model.vocabulary), len(model.label_names)
    for what, term in (("a linear term", model.linear), ("focused networks", model.focused)):
        if term is not None and term.size != n_ids:
            raise DataError(
                f"{folder} has {what} for {term.size:,} ids and a vocabulary of {n_ids:,}; copy the model's "
                "whole folder again, or train again"
            )
    if model.linear is not None and len(model.linear.bias) != n_labels:
        raise DataError(
            f"{folder} has a linear term for {counted(len(model.linear.bias), 'label')} and names "
            f"{counted(n_labels, 'label')}; copy the model's whole folder again, or train again"
        )
    if model.focused is not None:
        check_ids(torch.from_numpy(model.focused.labels), n_labels, f"{folder}: labels of focused networks")
