"""Transformer: Tf_x and Tf_y as one causal module with two heads, from ids and times.

Tf_x is a stack of blocks with a head for the next event. Tf_y is either a head on the same states
(`label_layers=0`) or blocks of its own that read Tf_x's states by cross-attention, as the label model of the
paper does. An explicit term, fitted elsewhere, can be added to the label logits; the module then learns what
that term leaves over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray
from torch import Tensor, nn

from eventcargo.batches import Batch
from eventcargo.errors import DataError
from eventcargo.models.base_rates import ValueScales
from eventcargo.models.calibration import Calibration
from eventcargo.models.density import IMPOSSIBLE, Densities
from eventcargo.models.pretrained import read_model, write_model
from eventcargo.models.transformer.config import PRESETS, TransformerConfig, preset
from eventcargo.models.transformer.layers import Block, Timing
from eventcargo.models.transformer.particles import own_labels, particle_states
from eventcargo.models.transformer.values import ValueInput
from eventcargo.vocabulary import BOS, PAD, Vocabulary

__all__ = ["PRESETS", "ExplicitTerm", "Transformer", "TransformerConfig", "preset"]

KIND = "transformer"
"""What config.json calls this model."""

TERM = "linear."
"""What the names of the explicit term's tensors begin with in a saved model."""


LABEL_PARTS = ("label_", "end_head", "memory_norm", "term_scale")
"""What the names of parameters that only labels use begin with."""


class ExplicitTerm(Protocol):
    """A term of the label logits computed from explicit features, fitted before the Transformer."""

    def logits(self, batch: Batch, labels_at: NDArray[np.bool_], label_columns: NDArray[np.int64]) -> Tensor:
        """One row for each position asked for, one column for each label asked for."""
        ...

    def to(self, device: torch.device | str) -> "ExplicitTerm":
        """The same term on another device."""
        ...

    def to_tensors(self) -> dict[str, Tensor]:
        """Everything needed to make it again."""
        ...

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> "ExplicitTerm":
        """The term made again from `to_tensors`."""
        ...


class LabelHead(nn.Module):
    """A linear map from states to the logits of chosen labels; it begins at zero."""

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_labels, width))
        self.bias = nn.Parameter(torch.zeros(n_labels))

    def forward(self, states: Tensor, chosen: Tensor) -> Tensor:
        return F.linear(states, self.weight[chosen], self.bias[chosen])


class Transformer(nn.Module):
    """A `DensityModel` of ids and times, with heads for the next event and for the labels.

    >>> from eventcargo.batches import Batches
    >>> from eventcargo.events import EventDataset, EventSequence
    >>> data = EventDataset.from_sequences([EventSequence("a", ("x", "y"), (5.0, 7.0), ("bad",))])
    >>> model = Transformer(preset("tiny"), Vocabulary(("x", "y")), ["bad"])
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

    def __init__(
        self,
        config: TransformerConfig,
        vocabulary: Vocabulary,
        label_names: Sequence[str],
        *,
        value_names: Sequence[str] = (),
        linear: ExplicitTerm | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.config, self.vocabulary, self.label_names = config, vocabulary, tuple(label_names)
        self.value_names, self.max_length, self.linear = tuple(value_names), config.max_length, linear
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
        self.label_head, self.end_head = LabelHead(c.width, n_labels), LabelHead(c.width, n_labels)
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
            ):  # labels begin at their rates
                continue
            spread = parameter.shape[1] ** -0.5
            if "time" in name or name.startswith("value_input"):  # logs reach 10, must not drown events
                spread = 0.02
            if name.endswith("out.weight"):  # the sum over all blocks keeps the size of one
                spread /= (2 * (self.config.layers + self.config.label_layers)) ** 0.5
            nn.init.normal_(parameter, std=spread)
        if self.config.tied:  # at full size, a new model would expect each event to be repeated
            nn.init.constant_(self.event_norm.weight, 0.25)

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device

    def placed(self, device: torch.device | str) -> "Transformer":
        """This model with all its parts on a device; the explicit term is no module and moves by itself."""
        if self.linear is not None:
            self.linear = self.linear.to(device)
        return self.to(device)

    @property
    def event_weight(self) -> Tensor:
        """The rows that states are compared with for the next event: (vocabulary, D)."""
        return self.embedding.weight if self.event_head is None else self.event_head.weight

    @torch.no_grad()
    def start_from(
        self,
        event_rates: NDArray[np.float64],
        label_rates: NDArray[np.float64],
        time_scale: float,
        values: ValueScales | None = None,
    ) -> None:
        """Let both heads begin at base rates, and times and values be measured by these scales."""
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
        """Keep the posterior of these labels at or below a rate: they have no positive example."""
        self.label_cap[torch.as_tensor(labels, device=self.device)] = float(np.log(rate / (1 - rate)))

    @torch.no_grad()
    def calibrate(self, calibration: Calibration) -> None:
        """Correct the label logits from now on."""
        for name, values in asdict(calibration).items():
            getattr(self, name).copy_(torch.as_tensor(values))

    @torch.no_grad()
    def distrust(self, labels: Sequence[int]) -> None:
        """Mark these labels as not trustworthy, and no others; the mark is saved with the model."""
        self.trusted.fill_(True)
        self.trusted[torch.as_tensor(labels, dtype=torch.int64, device=self.device)] = False

    def freeze_events(self) -> None:
        """Keep all weights but those that only labels use."""
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name.startswith(LABEL_PARTS))

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Names of the labels whose model was found no better than their base rate."""
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
        """What enters the blocks (B, L, D), and when it happened."""
        if batch.ids.shape[1] > self.max_length:
            raise DataError(
                f"a batch of {batch.ids.shape[1]:,} positions for a model of at most {self.max_length:,}; "
                f"make batches with max_length={self.max_length}"
            )
        if batch.values.shape[2] != len(self.value_names):
            raise DataError(
                f"a batch of {batch.values.shape[2]} value columns for a model of {list(self.value_names)}; "
                "give data with the columns the model was trained on"
            )
        ids = torch.as_tensor(batch.ids, device=self.device)
        times = torch.as_tensor(batch.times, device=self.device)
        pairs = self.config.width // self.config.heads // 2
        timing = Timing.of(times, self.time_scale, pairs, self.config.times == "rotary")
        entered = self.embedding(ids) * self.config.width**0.5 + self.time_input(timing.logs)  # (B, L, D)
        if self.value_input is not None:
            entered = entered + self.value_input(torch.as_tensor(batch.values, device=self.device))
        return entered, timing

    def event_rows(self, ids: Tensor) -> Tensor:
        """Rows of `event_weight`: (ids, D); with gradients of the kind of the embedding's."""
        return F.embedding(ids, self.event_weight, sparse=self.embedding.sparse)

    def event_logits(self, states: Tensor) -> Tensor:
        """Logits of the next id from states (positions, D)."""
        return F.linear(states, self.event_weight, self.event_bias + self.never_next)

    def label_logits(
        self,
        states: Tensor,
        batch: Batch,
        labels_at: NDArray[np.bool_],
        label_columns: NDArray[np.int64] | None = None,
    ) -> Tensor:
        """Logits of the labels from the states (positions, D) of the positions asked for.

        The end has a head of its own, and there the explicit term counts as it was fitted, on whole
        sequences; before the end it is scaled, because what is still to come makes it less sure.
        """
        columns = np.arange(len(self.label_names)) if label_columns is None else label_columns
        chosen = torch.as_tensor(columns, device=states.device)
        is_end = torch.as_tensor(batch.at_end[labels_at], device=states.device)  # (positions,)
        ends = is_end.nonzero()[:, 0]
        at_ends = self.end_head(states[ends], chosen) * self.gate[chosen]
        logits = self.label_head(states, chosen).index_copy(0, ends, at_ends)
        if self.linear is not None:
            with torch.no_grad():
                explicit = self.linear.logits(batch, labels_at, columns).to(logits)
            logits = logits + torch.where(is_end[:, None], explicit, explicit * self.term_scale[chosen])
        slopes = torch.where(is_end[:, None], self.end_slope[chosen], self.prefix_slope[chosen])
        return torch.minimum(logits * slopes, self.label_cap[chosen].to(logits.dtype))

    def densities(
        self,
        batch: Batch,
        *,
        events_at: NDArray[np.bool_] | None = None,
        labels_at: NDArray[np.bool_] | None = None,
        label_columns: NDArray[np.int64] | None = None,
    ) -> Densities:
        """Logits at the positions where the masks (B, L) are true; see `DensityModel`."""
        x, y = self.states(batch, for_labels=labels_at is not None)
        events = labels = None
        if events_at is not None:
            events = self.event_logits(x[torch.as_tensor(events_at, device=x.device)])
        if labels_at is not None:
            chosen = y[torch.as_tensor(labels_at, device=y.device)]
            labels = self.label_logits(chosen, batch, labels_at, label_columns)
        return Densities(events, labels)

    @torch.inference_mode()
    def particle_labels(
        self,
        batch: Batch,
        n: int,
        first: int,
        labels_at: NDArray[np.bool_],
        label_columns: Sequence[NDArray[np.int64]],
    ) -> list[Tensor]:
        """Label logits as of `densities`, of each `n` rows, which differ in their `first` ids alone."""
        states = particle_states(self, batch, n, first, labels_at)
        return own_labels(self, states, batch, n, labels_at, label_columns)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, vocabulary.json and model.safetensors; what a model wrote before is replaced."""
        header = {"kind": KIND, "label_names": list(self.label_names), **asdict(self.config)}
        if self.value_names:
            header["value_names"] = list(self.value_names)
        tensors = dict(self.state_dict())
        if self.linear is not None:
            tensors |= {TERM + name: value for name, value in self.linear.to_tensors().items()}
        write_model(Path(folder), header, self.vocabulary, tensors)

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | torch.device = "cpu") -> "Transformer":
        """The model `save_pretrained` wrote, ready for use; a truncated or foreign folder is refused."""
        header, vocabulary, tensors = read_model(Path(folder), KIND)
        linear = _read_term(tensors)
        names, values = header.pop("label_names"), header.pop("value_names", [])
        shape = TransformerConfig.from_dict(header)
        model = cls(shape, vocabulary, names, value_names=values, linear=linear)
        _fill(model, tensors, Path(folder))
        return model.placed(device).eval()


def _read_term(tensors: dict[str, Tensor]) -> ExplicitTerm | None:
    """The explicit term among a model's tensors, which are taken out; None where there is none."""
    from eventcargo.models.linear.term import LinearTerm

    names = [name for name in tensors if name.startswith(TERM)]
    parts = {name.removeprefix(TERM): tensors.pop(name) for name in names}
    return LinearTerm.from_tensors(parts) if parts else None


def _fill(model: Transformer, tensors: dict[str, Tensor], folder: Path) -> None:
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise DataError(f"{folder} holds other weights than its config.json says: {reason}") from None
