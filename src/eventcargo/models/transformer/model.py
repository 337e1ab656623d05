"""Transformer: Tf_x and Tf_y as one causal module with two heads, from ids and times.

Tf_x is a stack of blocks with a next-event head. Tf_y is either a head on the same states (`label_layers=0`)
or a stack of its own that reads the states of Tf_x by cross-attention, as the paper's label model does. A
linear term, fitted before, can be added to the label logits; the module then learns what it leaves over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray
from torch import Tensor, nn

from eventcargo.batches import Batch
from eventcargo.errors import DataError, argument, counted
from eventcargo.models.base_rates import ValueScales
from eventcargo.models.calibration import Calibration
from eventcargo.models.density import (
    IMPOSSIBLE,
    Densities,
    DensityModel,
    HidingChanges,
    NextEvents,
    names_fingerprint,
)
from eventcargo.models.focused.term import HELD_FOLD, FocusedTerm, places_of
from eventcargo.models.linear.hiding import hiding
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.pretrained import read_model, tensors_fingerprint, write_model
from eventcargo.models.transformer.config import SIZES, TransformerConfig, transformer_size
from eventcargo.models.transformer.event_head import next_events
from eventcargo.models.transformer.label_head import LabelHead, LabelQueries
from eventcargo.models.transformer.layers import Block, Timing
from eventcargo.models.transformer.particles import own_labels, particle_states
from eventcargo.models.transformer.values import ValueInput
from eventcargo.vocabulary import BOS, PAD, Vocabulary

__all__ = ["SIZES", "Transformer", "TransformerConfig", "transformer_size"]

KIND = "transformer"
"""The kind of this model in config.json."""

TERM, FOCUSED = "linear.", "focused."
"""Prefixes of the tensors of the linear term and of the focused networks in a saved model."""


LABEL_PARTS = ("label_", "end_head", "memory_norm", "term_scale")
"""Prefixes of the parameters that only labels use."""


class Transformer(nn.Module, DensityModel):
    """A `DensityModel` of ids and times, with heads for the next event and for the labels.

    >>> from eventcargo.batches import Batches
    >>> from eventcargo.events import EventDataset, EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "y"), (5.0, 7.0), ("bad",))])
    >>> model = Transformer(transformer_size("tiny"), Vocabulary(("x", "y")), ["bad"])
    >>> batch = Batches(data, model.vocabulary, model.max_length).take(np.array([0]))
    >>> model.densities(batch, labels_at=batch.at_end).labels.sigmoid().item()
    0.5
    """

    time_scale: Tensor
    label_cap: Tensor
    gate: Tensor
    end_slope: Tensor
    prefix_slope: Tensor
    trusted: Tensor
    never_next: Tensor
    value_names: tuple[str, ...]

    def __init__(
        self,
        config: TransformerConfig,
        vocabulary: Vocabulary,
        label_names: Sequence[str],
        *,
        value_names: Sequence[str] = (),
        linear: LinearTerm | None = None,
        focused: FocusedTerm | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.config, self.vocabulary, self.label_names = config, vocabulary, tuple(label_names)
        self.value_names, self.max_length, self.linear = tuple(value_names), config.max_length, linear
        self.focused = focused
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._build(len(vocabulary), len(self.label_names))
            self._initialise()

    def _build(self, n_ids: int, n_labels: int) -> None:
        c = self.config
        shape = (c.width, c.heads, c.feedforward, c.activation, c.dropout)
        self.embedding = nn.Embedding(n_ids, c.width)
        self.time_input = nn.Linear(2, c.width, bias=False)
        self.value_input = ValueInput(len(self.value_names), c.width) if self.value_names else None
        self.blocks = nn.ModuleList([Block(*shape) for _ in range(c.layers)])
        self.label_blocks = nn.ModuleList([Block(*shape, reads=True) for _ in range(c.label_layers)])
        self.event_norm, self.label_norm = nn.RMSNorm(c.width), nn.RMSNorm(c.width)
        self.memory_norm = nn.RMSNorm(c.width) if c.label_layers else None
        self.event_head = None if c.tied else nn.Linear(c.width, n_ids, bias=False)
        self.event_bias = nn.Parameter(torch.zeros(n_ids))
        head = LabelQueries if c.label_queries else LabelHead
        self.label_head, self.end_head = head(c.width, n_labels), head(c.width, n_labels)
        self.term_scale = nn.Parameter(torch.ones(n_labels))
        self.register_buffer("time_scale", torch.ones(()))
        self.register_buffer("label_cap", torch.full((n_labels,), torch.inf))
        for name in ("gate", "end_slope", "prefix_slope"):
            self.register_buffer(name, torch.ones(n_labels))
        self.register_buffer("trusted", torch.ones(n_labels, dtype=torch.bool))
        never = torch.zeros(n_ids)
        never[[PAD, BOS]] = IMPOSSIBLE
        self.register_buffer("never_next", never, persistent=False)

    def _initialise(self) -> None:
        for name, parameter in self.named_parameters():
            if parameter.ndim < 2 or name.startswith(
                ("label_head", "end_head")
            ):  # labels start at their rates
                continue
            spread = parameter.shape[1] ** -0.5
            if "time" in name or name.startswith("value_input"):  # log times reach 10 and would drown events
                spread = 0.02
            if name.endswith("out.weight"):  # the sum over all blocks is as large as one
                spread /= (2 * (self.config.layers + self.config.label_layers)) ** 0.5
            nn.init.normal_(parameter, std=spread)
        if self.config.tied:  # at full size, a new model would predict repetition
            nn.init.constant_(self.event_norm.weight, 0.25)

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device

    def placed(self, device: torch.device | str) -> "Transformer":
        """This model with all parts on a device; the fitted terms are no modules and are moved separately."""
        if self.linear is not None:
            self.linear = self.linear.to(device)
        if self.focused is not None:
            self.focused = self.focused.to(device)
        return self.to(device)

    @property
    def event_weight(self) -> Tensor:
        """The weights of the next-event head: (vocabulary, D)."""
        return self.embedding.weight if self.event_head is None else self.event_head.weight

    @torch.no_grad()
    def start_from(
        self,
        event_rates: NDArray[np.float64],
        label_rates: NDArray[np.float64],
        time_scale: float,
        values: ValueScales | None = None,
    ) -> None:
        """Start both heads at base rates, and set the scales of times and values."""
        rates = torch.as_tensor(label_rates, dtype=torch.float32, device=self.device)
        self.event_bias.copy_(torch.as_tensor(event_rates, dtype=torch.float32).log())
        if self.linear is None:
            self.label_head.bias.copy_(rates.logit())
            self.end_head.bias.copy_(rates.logit())
        self.time_scale.fill_(time_scale)
        if self.value_input is not None and values is not None:
            self.value_input.measure_by(values)

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

    def states(self, batch: Batch, for_labels: bool = True) -> tuple[Tensor, Tensor]:
        """Normed states of Tf_x and of Tf_y, both (B, L, D); with `for_labels=False` the latter is empty."""
        entered, timing = self.enter(batch)
        x = entered
        for block in self.blocks:
            x = block(x, timing)
        events = self.event_norm(x)
        if not for_labels:
            return events, x[:0]
        if self.memory_norm is None:
            return events, self.label_norm(x)
        y, memory = entered, self.memory_norm(x)
        for block in self.label_blocks:
            y = block(y, timing, memory)
        return events, self.label_norm(y)

    def enter(self, batch: Batch) -> tuple[Tensor, Timing]:
        """The input of the blocks (B, L, D) and its timing."""
        around, timing = self.around(batch)
        return self.embed(batch.ids) + around, timing

    def embed(self, ids: NDArray[np.int64]) -> Tensor:
        """The part of the input that depends on ids: (*ids.shape, D)."""
        return cast(Tensor, self.embedding(torch.as_tensor(ids, device=self.device)) * self.config.width**0.5)

    def around(self, batch: Batch) -> tuple[Tensor, Timing]:
        """The part of the input that depends on times and values (B, L, D), and the timing."""
        if batch.ids.shape[1] > self.max_length:
            raise DataError(
                f"the batch has {counted(batch.ids.shape[1], 'position')}, the model reads at most "
                f"{self.max_length:,}; make batches with {argument('max_length', self.max_length)}"
            )
        if batch.values.shape[2] != len(self.value_names):
            raise DataError(
                f"the batch has {counted(batch.values.shape[2], 'value column')}, the model reads "
                f"{list(self.value_names)}; give data with the columns the model was trained on"
            )
        times = torch.as_tensor(batch.times, device=self.device)
        pairs = self.config.width // self.config.heads // 2
        timing = Timing.of(times, self.time_scale, pairs, self.config.times == "rotary")
        around = self.time_input(timing.logs)
        if self.value_input is not None:
            around = around + self.value_input(torch.as_tensor(batch.values, device=self.device))
        return around, timing

    def event_rows(self, ids: Tensor) -> Tensor:
        """Rows of `event_weight`: (ids, D); their gradient is sparse if the embedding's is."""
        return F.embedding(ids, self.event_weight, sparse=self.embedding.sparse)

    def event_logits(self, states: Tensor) -> Tensor:
        """Logits of the next id from states (positions, D)."""
        return F.linear(states, self.event_weight, self.event_bias + self.never_next)

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
            events = self.event_logits(x[torch.as_tensor(events_at, device=x.device)])
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

    def next_events(self, batch: Batch, where: NDArray[np.bool_], k: int) -> Iterator[NextEvents]:
        """Next-event logits of the event types that matter, in blocks that fit the cache."""
        return next_events(self, batch, where, k)

    @torch.inference_mode()
    def particle_labels(
        self, batch: Batch, n: int, first: int, label_columns: Sequence[NDArray[np.int64]]
    ) -> Tensor:
        """Label logits of particles; what all particles of a sequence share is computed once."""
        columns = np.concatenate(label_columns)
        chosen = torch.as_tensor(columns, device=self.device)
        if self.is_term_alone:
            logits = self.term_scale.new_zeros(len(columns), n, batch.ids.shape[1] - first)
        else:
            start = 0 if self.label_head.looks_back else first - 1
            states = particle_states(self, batch, n, first, start)
            logits = own_labels(self, states, chosen, [len(own) for own in label_columns])
            logits = logits[..., first - 1 - start :]
        if self.linear is not None:
            term = self.linear.particle_logits(batch, n, label_columns)[..., first - 1 : -1]
            term = self._with_focused_particles(term.to(logits), batch, n, first, label_columns)
            logits += term * self.term_scale[chosen, None, None]
        cap = self.label_cap[chosen, None, None].to(logits.dtype)
        return torch.minimum(logits.mul_(self.prefix_slope[chosen, None, None]), cap)

    def _with_focused_particles(
        self, term: Tensor, batch: Batch, n: int, first: int, label_columns: Sequence[NDArray[np.int64]]
    ) -> Tensor:
        """The linear term's logits of particles, with those of the focused networks in their place."""
        starts = np.cumsum([0, *(len(own) for own in label_columns)])
        ends = np.arange(first - 1, batch.ids.shape[1] - 1)
        for sequence, own in enumerate(label_columns):
            rows = np.repeat(np.arange(sequence * n, (sequence + 1) * n), len(ends))
            for at, place in self._focused_places(own):
                assert self.focused is not None
                logits = self.focused.logits(batch, place, rows, np.tile(ends, n))
                term[starts[sequence] + at] = torch.from_numpy(logits.reshape(n, -1)).to(term)
        return term

    @property
    def n_bytes(self) -> int:
        return sum(value.numel() * value.element_size() for value in self.state_dict().values())

    @property
    def fingerprint(self) -> str:
        tensors = {**self.state_dict(), **self._term_tensors()}
        return f"{names_fingerprint(self)}, {tensors_fingerprint(tensors)}"

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, vocabulary.json and model.safetensors, replacing an earlier model."""
        header = {"kind": KIND, "label_names": list(self.label_names), **asdict(self.config)}
        if self.value_names:
            header["value_names"] = list(self.value_names)
        write_model(Path(folder), header, self.vocabulary, {**self.state_dict(), **self._term_tensors()})

    def _term_tensors(self) -> dict[str, Tensor]:
        """The tensors of the fitted terms by the names they have in a saved model."""
        terms = ((TERM, self.linear), (FOCUSED, self.focused))
        return {
            prefix + name: value
            for prefix, term in terms
            if term is not None
            for name, value in term.to_tensors().items()
        }

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | torch.device = "cpu") -> "Transformer":
        """Load a model from `save_pretrained`; raises `DataError` for a truncated or foreign folder."""
        header, vocabulary, tensors = read_model(Path(folder), KIND)
        linear, focused = _read_terms(tensors)
        names, values = header.pop("label_names"), header.pop("value_names", [])
        shape = TransformerConfig.from_dict(header)
        model = cls(shape, vocabulary, names, value_names=values, linear=linear, focused=focused)
        _fill(model, tensors, Path(folder))
        return model.placed(device).eval()


def _places(which: NDArray[np.bool_], like: Tensor) -> Tensor:
    return torch.as_tensor(np.flatnonzero(which), device=like.device)


def _read_terms(tensors: dict[str, Tensor]) -> tuple[LinearTerm | None, FocusedTerm | None]:
    """Remove the fitted terms from a model's tensors and return them; None for one that is not there."""
    linear, focused = (_taken_out(tensors, prefix) for prefix in (TERM, FOCUSED))
    return (
        LinearTerm.from_tensors(linear) if linear else None,
        FocusedTerm.from_tensors(focused) if focused else None,
    )


def _taken_out(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors.pop(name) for name in names}


def _fill(model: Transformer, tensors: dict[str, Tensor], folder: Path) -> None:
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise DataError(f"{folder} holds weights that do not match its config.json: {reason}") from None
