"""Tiny models from elsewhere: made, trained on ids of their own, written as `transformers` writes them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from eventcargo import EventDataset

SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
MARKS = {"<pad>": 0, "<unk>": 1, "</s>": 2, "<s>": 3}
"""Ids of special tokens, in another order than ours."""


def seeded(make: Any, seed: int = 0) -> Any:
    """What `make` gives, with a random generator of its own."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def llama(n_ids: int, *, width: int = 16, **knobs: Any) -> Any:
    settings = {"bos_token_id": 3, "eos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.3, **knobs}
    sizes = SIZES | {"hidden_size": width, "intermediate_size": 2 * width}
    config = transformers.LlamaConfig(
        vocab_size=n_ids, **(sizes | {"max_position_embeddings": 64} | settings)
    )
    return seeded(lambda: transformers.LlamaForCausalLM(config))


def gpt2(n_ids: int, **knobs: Any) -> Any:
    settings = {"bos_token_id": 3, "eos_token_id": 2, "initializer_range": 0.3, **knobs}
    config = transformers.GPT2Config(
        vocab_size=n_ids, n_positions=64, n_embd=16, n_layer=2, n_head=2, **settings
    )
    return seeded(lambda: transformers.GPT2LMHeadModel(config))


def mamba(n_ids: int, **knobs: Any) -> Any:
    settings = {"bos_token_id": 3, "eos_token_id": 2, "pad_token_id": 0, **knobs}
    config = transformers.MambaConfig(
        vocab_size=n_ids, hidden_size=16, state_size=4, num_hidden_layers=2, **settings
    )
    return seeded(lambda: transformers.MambaForCausalLM(config))


def mistral(n_ids: int) -> Any:
    """A model that looks back a few positions only."""
    config = transformers.MistralConfig(
        vocab_size=n_ids,
        sliding_window=3,
        num_key_value_heads=2,
        bos_token_id=3,
        eos_token_id=2,
        initializer_range=0.3,
        **SIZES,
    )
    return seeded(lambda: transformers.MistralForCausalLM(config))


def gemma2(n_ids: int) -> Any:
    """A model that squashes its logits after the output layer."""
    config = transformers.Gemma2Config(
        vocab_size=n_ids,
        head_dim=8,
        num_key_value_heads=2,
        final_logit_softcapping=0.5,
        bos_token_id=3,
        eos_token_id=2,
        **SIZES,
    )
    return seeded(lambda: transformers.Gemma2ForCausalLM(config))


def other_ids(names: tuple[str, ...], seed: int = 0) -> dict[str, int]:
    """Ids after those of `MARKS`, in a random order."""
    order = np.random.default_rng(seed).permutation(len(names))
    return {name: len(MARKS) + int(at) for name, at in zip(names, order, strict=True)}


def write_tokenizer(folder: Path, ids: Mapping[str, int], marks: Mapping[str, int] = MARKS) -> None:
    """Write a tokenizer with one token per event type."""
    tokenizer = Tokenizer(WordLevel(dict(marks) | dict(ids), unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(
        json.dumps({name: token for name, token in named.items() if token in marks})
    )


def write_model(folder: Path, model: Any, ids: Mapping[str, int]) -> Path:
    """Write a model with a tokenizer for its ids."""
    model.save_pretrained(folder)
    write_tokenizer(folder, ids)
    return folder


def learn(model: Any, data: EventDataset, ids: Mapping[str, int], steps: int = 150) -> Any:
    """Train a causal model on the events of a data set, by its own ids."""
    lookup = np.array([ids[name] for name in data.event_names])
    rows = [
        lookup[data.events[start:stop]] for start, stop in zip(data.rows.starts, data.rows.stops, strict=True)
    ]
    rng, optimizer = np.random.default_rng(0), torch.optim.AdamW(model.parameters(), lr=0.005)
    model.train()
    for _ in range(steps):
        chosen = [rows[at] for at in rng.integers(0, len(rows), 32)]
        width = max(map(len, chosen)) + 2
        tokens = np.array([[3, *row, 2, *[0] * (width - 2 - len(row))] for row in chosen])
        batch = torch.from_numpy(tokens)
        mask = torch.from_numpy(np.arange(width) < np.array([len(row) + 2 for row in chosen])[:, None])
        loss = model(input_ids=batch, attention_mask=mask.long(), labels=batch.masked_fill(~mask, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()
