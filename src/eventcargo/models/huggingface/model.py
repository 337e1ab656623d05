"""HuggingFace: a causal language model from elsewhere as Tf_x, with our linear term and label heads as Tf_y.

The model itself stays as it is. Batches have our ids; they become the model's where it is asked, and its
logits become those of our ids. Such models read only ids, so times and values count in the linear term alone.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eventcargo.batches import Batch
from eventcargo.errors import DataError
from eventcargo.models.density import IMPOSSIBLE
from eventcargo.models.focused.term import FocusedTerm
from eventcargo.models.huggingface.backbone import Backbone
from eventcargo.models.huggingface.token_ids import NO_ID, TokenIds
from eventcargo.models.label_model import LabelModel, fill, read_terms
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.pretrained import read_model, write_model
from eventcargo.typed import parse_as
from eventcargo.vocabulary import BOS, PAD, Vocabulary

KIND = "huggingface"
"""The kind of this model in config.json."""

BACKBONE = "backbone"
"""The folder inside a saved model with the files of the model from elsewhere."""


class HuggingFace(LabelModel):
    """A `DensityModel` from a model from elsewhere; `train(data, from_=...)` fits its label heads.

    Next-event logits are restricted to the ids of the vocabulary, so the probability of further ids is
    redistributed among these. Event types that the model does not know share the probability of its UNK in
    proportion to their rates.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> sizes = dict(vocab_size=6, hidden_size=8, intermediate_size=8, num_attention_heads=2)
    >>> tiny = LlamaForCausalLM(LlamaConfig(num_hidden_layers=1, **sizes))
    >>> backbone = Backbone(tiny, TokenIds({"x": 5, "y": 0}, bos=1, eos=2))
    >>> HuggingFace(backbone, Vocabulary(("x", "y")), ["bad"]).token_ids.tolist()
    [-1, 1, 2, -1, 5, 0]
    """

    token_ids: Tensor
    rates: Tensor

    def __init__(
        self,
        backbone: Backbone,
        vocabulary: Vocabulary,
        label_names: Sequence[str],
        *,
        max_length: int = 512,
        label_queries: bool = False,
        linear: LinearTerm | None = None,
        focused: FocusedTerm | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._backbone = backbone  # its weights are none of ours: they are neither trained nor in checkpoints
        self.vocabulary, self.label_names = vocabulary, tuple(label_names)
        self.max_length, self.label_queries = min(max_length, backbone.max_length), label_queries
        self.linear, self.focused = linear, focused
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.label_norm = nn.RMSNorm(backbone.width)
            self.add_heads(backbone.width, len(self.label_names), label_queries)
        ids = torch.from_numpy(backbone.ids.of(vocabulary))
        self.register_buffer("token_ids", ids, persistent=False)
        self.register_buffer("rates", torch.full((len(vocabulary),), 1 / len(vocabulary)))

    @property
    def backbone(self) -> Backbone:
        """The model from elsewhere."""
        return self._backbone

    @property
    def device(self) -> torch.device:
        return self.label_cap.device

    def placed(self, device: torch.device | str) -> Self:
        self._backbone.to(device)
        return super().placed(device)

    @property
    def n_block_weights(self) -> int:
        return self._backbone.n_weights

    @property
    def n_bytes(self) -> int:
        return super().n_bytes + self._backbone.n_bytes

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint}, {self._backbone.fingerprint}"

    @property
    def can_follow(self) -> NDArray[np.bool_]:
        """All ids that the model has, but PAD and BOS."""
        can: NDArray[np.bool_] = self.token_ids.cpu().numpy() != NO_ID
        can[[PAD, BOS]] = False
        return can

    @torch.no_grad()
    def start_from(
        self,
        event_rates: NDArray[np.float64],
        label_rates: NDArray[np.float64],
        time_scale: float,
        values: Any = None,
    ) -> None:
        """Start the label heads at base rates; event types that share UNK divide its probability by rates."""
        super().start_from(event_rates, label_rates, time_scale, values)
        self.rates.copy_(torch.as_tensor(event_rates))

    def states(self, batch: Batch, for_labels: bool = True) -> tuple[Tensor, Tensor]:
        """States of the model from elsewhere, as they are and normed for labels, both (B, L, D)."""
        states = self._backbone.states(self._own_ids(batch))
        return states, self.label_norm(states) if for_labels else states[:0]

    def _own_ids(self, batch: Batch) -> NDArray[np.int64]:
        """The ids of a batch as the model has them: (B, L)."""
        ids: NDArray[np.int64] = self.token_ids.cpu().numpy()[batch.ids]
        return ids

    def next_logits(self, states: Tensor, batch: Batch, events_at: NDArray[np.bool_]) -> Tensor:
        """Logits of our ids at the positions where the mask (B, L) is true; rates where nothing was read."""
        where, columns = torch.from_numpy(events_at).to(states.device), self.token_ids.clamp(min=0)
        if self._backbone.has_plain_logits:
            logits = self._backbone.plain_logits(states[where], columns)
        else:
            logits = self._backbone.logits(self._own_ids(batch))[where][:, columns]
        was_read = np.cumsum(self._own_ids(batch) >= 0, axis=1) > 0
        begun = torch.from_numpy(was_read[events_at]).to(states.device)[:, None]
        can_follow = torch.from_numpy(self.can_follow).to(states.device)
        logits = torch.where(begun, logits + self._shares(), self.rates.log())
        return torch.where(can_follow, logits, IMPOSSIBLE)

    def _shares(self) -> Tensor:
        """The log of each id's share of the model's id, which several of ours may have in common."""
        known = self.token_ids >= 0
        known[BOS] = False  # a token that ends sequences may begin them, too
        ids = self.token_ids.clamp(min=0)
        sums = self.rates.new_zeros(self._backbone.n_ids).index_add(0, ids, self.rates * known)
        return torch.where(known, (self.rates / sums[ids]).log(), 0.0)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json, vocabulary.json, model.safetensors and the files of the model from elsewhere."""
        header = {
            "kind": KIND,
            "label_names": list(self.label_names),
            "max_length": self.max_length,
            "label_queries": self.label_queries,
            "backbone": self._backbone.save(Path(folder) / BACKBONE),
            "ids": asdict(self._backbone.ids),
        }
        write_model(Path(folder), header, self.vocabulary, {**self.state_dict(), **self._term_tensors()})

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | torch.device = "cpu") -> "HuggingFace":
        """Load a model from `save_pretrained`; raises `DataError` for a truncated or foreign folder."""
        header, vocabulary, tensors = read_model(Path(folder), KIND)
        if "backbone" not in header or "ids" not in header:
            raise DataError(f"{folder} was written by an earlier release; train the model again")
        ids = parse_as(TokenIds, header["ids"], "ids")
        backbone = Backbone.open(Path(folder) / BACKBONE, header["backbone"], ids)
        linear, focused = read_terms(tensors)
        model = cls(
            backbone,
            vocabulary,
            header["label_names"],
            max_length=header["max_length"],
            label_queries=header["label_queries"],
            linear=linear,
            focused=focused,
        )
        fill(model, tensors, Path(folder))
        return model.placed(device).eval()
