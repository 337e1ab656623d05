"""HuggingFace: any causal language model of `transformers` as Tf_x, with a linear label head as Tf_y.

The model must be on this machine and trained on the ids of a `Vocabulary` (0 to 3 are PAD, BOS, EOS and UNK);
nothing is downloaded. Such models read only ids, so times have no effect. The head is trained on the model's
last hidden states; the model itself stays as it is.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from eventcargo.batches import Batch, Batches, report_cuts
from eventcargo.errors import ConfigError, DataError, counted
from eventcargo.events import EventDataset
from eventcargo.models.density import Densities, DensityModel, check_labels
from eventcargo.models.pretrained import read_model, write_model
from eventcargo.vocabulary import BOS, Vocabulary

KIND = "huggingface"

BACKBONE = "backbone"
"""The folder inside a saved model that `transformers` writes and reads."""

ANY_LENGTH = 2**31 - 1
"""The maximum length of models that do not state one."""


class HuggingFace(DensityModel):
    """A DensityModel from a causal language model, which is put into evaluation mode.

    Next-event logits are restricted to the ids of the vocabulary, so the probability of further ids is
    redistributed among these. Without `label_head`, the head starts at zero: every label has probability 1/2.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> sizes = dict(vocab_size=6, hidden_size=8, intermediate_size=8, num_attention_heads=2)
    >>> tiny = LlamaForCausalLM(LlamaConfig(num_hidden_layers=1, **sizes))
    >>> model = HuggingFace(tiny, Vocabulary(("x", "y")), ("bad",))
    >>> model.label_head.out_features, model.label_names
    (1, ('bad',))
    """

    def __init__(
        self,
        model: nn.Module,
        vocabulary: Vocabulary,
        label_names: tuple[str, ...],
        label_head: nn.Linear | None = None,
    ) -> None:
        self.model: Any = model.eval()
        self.vocabulary, self.label_names = vocabulary, tuple(label_names)
        self._check_sizes(label_head)
        head = self._new_head() if label_head is None else label_head
        self.label_head = head.to(self.device).eval()
        self.max_length = int(getattr(self.model.config, "max_position_embeddings", None) or ANY_LENGTH)
        self._has_plain_logits = self._compare_logits()

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def _width(self) -> int:
        return int(self.model.get_output_embeddings().in_features)

    def _new_head(self) -> nn.Linear:
        head = nn.Linear(self._width, len(self.label_names))
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        return head

    def _check_sizes(self, head: nn.Linear | None) -> None:
        n_ids = int(self.model.get_output_embeddings().out_features)
        if n_ids < len(self.vocabulary):
            raise ConfigError(
                f"the model has {n_ids:,} ids, the vocabulary {len(self.vocabulary):,}; "
                "use a model with at least as many"
            )
        wanted = (self._width, len(self.label_names))
        if head is not None and (head.in_features, head.out_features) != wanted:
            raise ConfigError(
                f"the label head maps {head.in_features} to {head.out_features}; this model of width "
                f"{wanted[0]} with {counted(wanted[1], 'label')} needs {wanted[0]} to {wanted[1]}"
            )

    @torch.no_grad()
    def _compare_logits(self) -> bool:
        """Whether logits are the plain output layer; some models scale or squash them afterwards."""
        ids = torch.tensor([[BOS]], device=self.device)
        plain = self.model.get_output_embeddings()(self._hidden(ids))
        return torch.allclose(plain.float(), self.model(input_ids=ids).logits.float(), rtol=1e-5, atol=1e-6)

    def _hidden(self, ids: Tensor) -> Tensor:
        """Last hidden states: (B, L, D). Padding is on the right, which a causal model does not read."""
        hidden: Tensor = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return hidden

    @torch.no_grad()
    def densities(
        self,
        batch: Batch,
        *,
        events_at: NDArray[np.bool_] | None = None,
        labels_at: NDArray[np.bool_] | None = None,
        label_columns: NDArray[np.int64] | None = None,
    ) -> Densities:
        """Logits at the positions where the masks (B, L) are true, on the model's device."""
        ids = torch.from_numpy(batch.ids).to(self.device)
        hidden = self._hidden(ids)
        events = None if events_at is None else self._event_logits(ids, hidden, self._mask(events_at))
        if labels_at is None:
            return Densities(events, None)
        labels = self.label_head(hidden[self._mask(labels_at)].float())
        if label_columns is not None:
            labels = labels[:, torch.from_numpy(label_columns).to(self.device)]
        return Densities(events, labels)

    def _mask(self, where: NDArray[np.bool_]) -> Tensor:
        return torch.from_numpy(where).to(self.device)

    def _event_logits(self, ids: Tensor, hidden: Tensor, where: Tensor) -> Tensor:
        if self._has_plain_logits:
            logits: Tensor = self.model.get_output_embeddings()(hidden[where])
        else:
            logits = self.model(input_ids=ids).logits[where]
        return logits[:, : len(self.vocabulary)].float()

    def fit_labels(
        self,
        data: EventDataset,
        *,
        epochs: int = 5,
        learning_rate: float = 0.01,
        tokens: int = 4_096,
        seed: int = 0,
    ) -> "HuggingFace":
        """Train the label head on `data` by Adam, starting from its present weights, and return this model.

        The loss is the cross-entropy at EOS plus its mean over all earlier positions, with labels at their
        natural frequency; the learning rate falls to 0 along a cosine. Hidden states are recomputed in every
        epoch, which costs time and saves memory.
        """
        if not data.label_names:
            n_labels = counted(len(self.label_names), "label")
            raise DataError(f"the data have no labels; the head needs examples of its {n_labels}")
        check_labels(self, data)
        if epochs < 1 or not learning_rate > 0:
            raise ConfigError(f"epochs={epochs}, learning_rate={learning_rate}: both must be above 0")
        report_cuts(data, self.max_length)
        batches, rng = Batches(data, self.vocabulary, self.max_length), np.random.default_rng(seed)
        order = [rows for _ in range(epochs) for rows in batches.shuffled(tokens, rng)]
        optimizer = torch.optim.Adam(self.label_head.parameters(), lr=learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(len(order), 1))
        for rows in order:
            loss = self._label_loss(batches.take(rows))
            if not torch.isfinite(loss):
                raise ConfigError(
                    f"the loss is {loss.item()} at learning_rate={learning_rate}; use a lower rate"
                )
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
        return self

    def _label_loss(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            hidden = self._hidden(torch.from_numpy(batch.ids).to(self.device)).float()
        labels = torch.from_numpy(batch.labels).to(self.device)
        loss = hidden.new_zeros(())
        for where in (batch.at_end, batch.mask & ~batch.at_end):
            mask = self._mask(where)
            rows = mask.nonzero()[:, 0]
            known = None if batch.known is None else torch.from_numpy(batch.known).to(self.device)[rows]
            losses = binary_cross_entropy_with_logits(
                self.label_head(hidden[mask]), labels[rows], reduction="none"
            )
            loss = loss + (losses if known is None else losses[known]).mean()
        return loss

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the backbone as `transformers` does, with the vocabulary and the label head beside it."""
        self.model.save_pretrained(Path(folder) / BACKBONE)
        header = {"kind": KIND, "label_names": list(self.label_names)}
        write_model(Path(folder), header, self.vocabulary, self.label_head.state_dict())

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | torch.device = "cpu") -> "HuggingFace":
        """Load a model from `save_pretrained`; raises `DataError` for a truncated or foreign folder."""
        header, vocabulary, tensors = read_model(Path(folder), KIND)
        if set(tensors) != {"weight", "bias"}:
            raise DataError(
                f"{folder}/model.safetensors holds {sorted(tensors)}; a label head has weight and bias"
            )
        head = nn.Linear(tensors["weight"].shape[1], tensors["weight"].shape[0])
        head.load_state_dict(tensors)
        backbone = _read_backbone(Path(folder) / BACKBONE)
        return cls(backbone.to(device), vocabulary, tuple(header["label_names"]), head)


def _read_backbone(folder: Path) -> nn.Module:
    try:
        auto = import_module("transformers").AutoModelForCausalLM
    except ImportError:
        raise ConfigError("this model needs `transformers`; pip install 'eventcargo[hf]'") from None
    try:
        model: nn.Module = auto.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except Exception as error:  # transformers raises many kinds for a damaged folder
        raise DataError(f"{folder} is not a model of transformers: {error}") from None
    return model
