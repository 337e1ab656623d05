"""Transformer: Tf_x and Tf_y as one causal module with two heads, from ids and times.

Tf_x is a stack of blocks with a next-event head. Tf_y is either a head on the same states (`label_layers=0`)
or a stack of its own that reads the states of Tf_x by cross-attention, as the paper's label model does. A
linear term, fitted before, can be added to the label logits; the module then learns what it leaves over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
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
from eventcargo.models.density import (
    IMPOSSIBLE,
    NextEvents,
)
from eventcargo.models.focused.term import FocusedTerm
from eventcargo.models.label_model import LabelModel, fill, read_terms
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.pretrained import read_model, write_model
from eventcargo.models.transformer.config import SIZES, TransformerConfig, transformer_size
from eventcargo.models.transformer.event_head import next_events
from eventcargo.models.transformer.layers import Block, Timing
from eventcargo.models.transformer.particles import own_labels, particle_states
from eventcargo.models.transformer.values import ValueInput
from eventcargo.vocabulary import BOS, PAD, Vocabulary

__all__ = ["SIZES", "Transformer", "TransformerConfig", "transformer_size"]

KIND = "transformer"
"""The kind of this model in config.json."""


class Transformer(LabelModel):
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
        self.register_buffer("time_scale", torch.ones(()))
        self.add_heads(c.width, n_labels, c.label_queries)
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
        super().start_from(event_rates, label_rates, time_scale, values)
        self.event_bias.copy_(torch.as_tensor(event_rates, dtype=torch.float32).log())
        self.time_scale.fill_(time_scale)
        if self.value_input is not None and values is not None:
            self.value_input.measure_by(values)

    @property
    def n_block_weights(self) -> int:
        blocks = (*self.blocks, *self.label_blocks)
        return sum(weight.numel() for block in blocks for weight in block.parameters())

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

    def next_logits(self, states: Tensor, batch: Batch, events_at: NDArray[np.bool_]) -> Tensor:  # noqa: ARG002
        return self.event_logits(states[torch.as_tensor(events_at, device=states.device)])

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

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, vocabulary.json and model.safetensors, replacing an earlier model."""
        header = {"kind": KIND, "label_names": list(self.label_names), **asdict(self.config)}
        if self.value_names:
            header["value_names"] = list(self.value_names)
        write_model(Path(folder), header, self.vocabulary, {**self.state_dict(), **self._term_tensors()})

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | torch.device = "cpu") -> "Transformer":
        """Load a model from `save_pretrained`; raises `DataError` for a truncated or foreign folder."""
        header, vocabulary, tensors = read_model(Path(folder), KIND)
        linear, focused = read_terms(tensors)
        names, values = header.pop("label_names"), header.pop("value_names", [])
        shape = TransformerConfig.from_dict(header)
        model = cls(shape, vocabulary, names, value_names=values, linear=linear, focused=focused)
        fill(model, tensors, Path(folder))
        return model.placed(device).eval()
