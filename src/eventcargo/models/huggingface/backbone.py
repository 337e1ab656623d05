"""Backbone: a causal language model from elsewhere that reads its own ids, batch by batch.

What it does not have an id for is left out of what it reads: the state of such a position is that of the
last id before it, and zero where there is none. So a model without BOS, EOS or UNK reads sequences as it was
trained.
"""

from collections.abc import Iterable
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eventcargo.checksums import content_checksum
from eventcargo.errors import DataError
from eventcargo.models.huggingface.config import BackboneConfig
from eventcargo.models.huggingface.files import BASE_FOLDER, BackboneFiles, checksums_of, without_words
from eventcargo.models.huggingface.token_ids import VOCABULARIES, TokenIds, read_token_ids
from eventcargo.models.pretrained import tensors_fingerprint
from eventcargo.typed import parse_as

ANY_LENGTH = 2**31 - 1
"""The maximum length of models that do not state one."""

PROBED = 16
"""Ids that a model reads to show what it is: those of padding alone may all look the same."""

TOLERANCE = 1e-4
"""By which a state may differ because of rounding."""


class Backbone:
    """A causal language model of `transformers` in evaluation mode, and the ids it has for event types.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> sizes = dict(vocab_size=6, hidden_size=8, intermediate_size=8, num_attention_heads=2)
    >>> tiny = LlamaForCausalLM(LlamaConfig(num_hidden_layers=1, **sizes))
    >>> backbone = Backbone(tiny, TokenIds({"x": 5, "y": 0}, bos=1, eos=2))
    >>> backbone.width, backbone.n_ids, backbone.max_length
    (8, 6, 2048)
    """

    def __init__(
        self,
        model: nn.Module,
        ids: TokenIds,
        config: BackboneConfig = BackboneConfig(),  # noqa: B008 (frozen)
        files: BackboneFiles | None = None,
    ) -> None:
        self.model: Any = model.eval().requires_grad_(False)
        self.ids, self.config, self._files = ids, config, files
        ids.check(self.n_ids, "the model's ids")
        self._takes_mask = "attention_mask" in signature(self._body.forward).parameters
        self._refuse_non_causal()
        self.has_plain_logits = self._compare_logits()

    @property
    def _body(self) -> Any:
        """The model without its output layer."""
        return self.model.base_model

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def to(self, device: torch.device | str) -> "Backbone":
        """This model on a device."""
        self.model.to(device)
        return self

    @property
    def width(self) -> int:
        """Width of the states."""
        return int(self.model.get_output_embeddings().in_features)

    @property
    def n_ids(self) -> int:
        """Number of ids."""
        read, said = self.model.get_input_embeddings(), self.model.get_output_embeddings()
        return min(int(read.num_embeddings), int(said.out_features))

    @property
    def max_length(self) -> int:
        """Most positions that it reads."""
        return int(getattr(self.model.config, "max_position_embeddings", None) or ANY_LENGTH)

    @property
    def n_weights(self) -> int:
        return sum(weight.numel() for weight in self.model.parameters())

    @property
    def n_bytes(self) -> int:
        """Memory of the weights."""
        return sum(weight.numel() * weight.element_size() for weight in self.model.parameters())

    @property
    def fingerprint(self) -> str:
        """A short text that changes with the weights and the ids."""
        return f"{tensors_fingerprint(self.model.state_dict())}, ids {content_checksum(asdict(self.ids))}"

    @torch.no_grad()
    def states(self, ids: NDArray[np.int64]) -> Tensor:
        """Last hidden states (B, L, D) given the model's ids, of which negative ones are not read."""
        states: Tensor = self._run(self._body, ids, use_cache=False).last_hidden_state
        return self._at_all_positions(states.float(), ids)

    @torch.no_grad()
    def logits(self, ids: NDArray[np.int64]) -> Tensor:
        """Logits of the next id (B, L, ids) given the model's ids; zero where nothing was read."""
        logits: Tensor = self._run(self.model, ids, use_cache=False).logits
        return self._at_all_positions(logits.float(), ids)

    def plain_logits(self, states: Tensor, columns: Tensor) -> Tensor:
        """Logits of some ids from states (positions, D), if `has_plain_logits`."""
        head = self.model.get_output_embeddings()
        bias = None if head.bias is None else head.bias[columns]
        return nn.functional.linear(states, head.weight[columns], bias)

    def _run(self, module: Any, ids: NDArray[np.int64], **options: Any) -> Any:
        """Run the model on the ids that it reads, with padding on the right, which a causal model ignores."""
        read = ids >= 0
        order, counts = np.argsort(~read, axis=1, kind="stable"), read.sum(axis=1)
        width = max(int(counts.max(initial=0)), 1)
        packed = np.take_along_axis(ids, order, axis=1)[:, :width]
        mask = np.arange(width) < np.maximum(counts, 1)[:, None]  # attention to nothing is not a number
        packed = np.where(np.arange(width) < counts[:, None], packed, self.ids.pad or 0)
        if self._takes_mask:
            options["attention_mask"] = torch.from_numpy(mask.astype(np.int64)).to(self.device)
        return module(input_ids=torch.from_numpy(packed).to(self.device), **options)

    def _at_all_positions(self, results: Tensor, ids: NDArray[np.int64]) -> Tensor:
        """Results of the ids that were read (B, R, D) at all positions: those of the last id read by then."""
        last = np.cumsum(ids >= 0, axis=1) - 1
        at = torch.from_numpy(np.maximum(last, 0)).to(self.device)
        spread = results.gather(1, at[:, :, None].expand(-1, -1, results.shape[2]))
        return spread.masked_fill(torch.from_numpy(last < 0).to(self.device)[:, :, None], 0.0)

    @torch.no_grad()
    def _refuse_non_causal(self) -> None:
        """Refuse a model whose states depend on later ids."""
        ids = np.stack([np.arange(min(self.n_ids, PROBED))] * 2)
        ids[1, -1] = 0
        first, other = self.states(ids)[:, :-1]
        if not torch.allclose(first, other, rtol=TOLERANCE, atol=TOLERANCE):
            kind = type(self.model).__name__
            raise DataError(f"{kind} reads what follows a position; give a causal language model")

    @torch.no_grad()
    def _compare_logits(self) -> bool:
        """Whether logits are the plain output layer; some models scale or squash them afterwards."""
        ids = np.arange(min(self.n_ids, PROBED))[None]
        plain = self.plain_logits(self.states(ids)[0], torch.arange(self.n_ids, device=self.device))
        return torch.allclose(plain, self.logits(ids)[0, :, : self.n_ids], rtol=1e-5, atol=1e-6)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the model's files to a folder, or refer to them; returns what `open` needs."""
        if self._files is not None:
            return self._files.copy(folder, reference=self.config.reference)
        with without_words():
            self.model.save_pretrained(folder / BASE_FOLDER)
        return {BASE_FOLDER: {"path": BASE_FOLDER, "files": checksums_of(folder / BASE_FOLDER)}}

    @classmethod
    def open(cls, folder: Path, places: Any, ids: TokenIds) -> "Backbone":
        """The model that `save` wrote to a folder; changed or missing files are refused by name."""
        places = parse_as(dict[str, dict[str, Any]], places, "backbone")
        files = BackboneFiles.opened(folder, places)
        config = BackboneConfig(reference=Path(places[BASE_FOLDER]["path"]).is_absolute())
        return cls(files.load(), ids, config, files)


def read_backbone(
    folder: str | Path,
    event_names: Iterable[str],
    config: BackboneConfig = BackboneConfig(),  # noqa: B008 (frozen)
) -> Backbone:
    """Read a causal language model, or a LoRA adapter of one, and find its ids of these event types.

    The folder is one that `save_pretrained` of `transformers` or `peft` wrote, with weights in safetensors.
    Nothing is downloaded and no code in the folder is run. Ids come from the tokenizer in the folder, or as
    `config` says.

    >>> read_backbone("no such folder", ["a"])
    Traceback (most recent call last):
    eventcargo.errors.DataError: no such folder is no folder; give the folder of a model of transformers
    """
    files = BackboneFiles.find(Path(folder), config.base)
    model: Any = files.load()
    n_ids = model.get_input_embeddings().num_embeddings
    ids = read_token_ids(_tokenizer_folder(files, Path(folder)), model.config, event_names, config, n_ids)
    return Backbone(model, ids, config, files)


def _tokenizer_folder(files: BackboneFiles, folder: Path) -> Path:
    """The folder with the tokenizer: an adapter may have brought its own."""
    return folder if any((folder / name).exists() for name in VOCABULARIES) else files.base
