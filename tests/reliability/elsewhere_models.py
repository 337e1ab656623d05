"""Sound models from elsewhere, an adapter, tables of ids, and models of ours that are saved."""

import json
import shutil
from pathlib import Path

import numpy as np
import peft
import polars as pl
import torch
import transformers

from eventcargo.models.focused.network import FocusedNetwork
from eventcargo.models.focused.term import FocusedTerm
from eventcargo.models.huggingface.backbone import read_backbone
from eventcargo.models.huggingface.model import HuggingFace
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.transformer.config import TransformerConfig
from eventcargo.models.transformer.model import Transformer
from eventcargo.simulation import simulate
from eventcargo.vocabulary import UNK, Vocabulary

from tests.models.huggingface.elsewhere import MARKS, llama, other_ids, seeded, write_model
from tests.reliability.elsewhere_surfaces import NAMES

IDS = other_ids(NAMES)
N_IDS = len(MARKS) + len(NAMES)


def prepare_elsewhere(home: Path) -> None:
    """Write models from elsewhere, whole and in parts, an adapter, tables of ids, and a saved model."""
    folder = home / "elsewhere"
    base = write_model(folder / "whole", llama(N_IDS), IDS)
    llama(N_IDS).save_pretrained(folder / "parts", max_shard_size="4KB")
    shutil.copy(base / "tokenizer.json", folder / "parts" / "tokenizer.json")
    _write_adapter(base, folder / "adapter")
    _write_ids(base, folder)
    _write_saved(base, home / "hf")
    _write_focused(home / "focused")


def _write_adapter(base: Path, folder: Path) -> None:
    """A LoRA adapter with the model that it is of in a folder inside its own."""
    model = transformers.AutoModelForCausalLM.from_pretrained(base, local_files_only=True)
    config = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    adapted = seeded(lambda: peft.get_peft_model(model, config))
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:  # zero as it begins, so that nothing would depend on its files
            weight.data = seeded(lambda like=weight: torch.randn_like(like))
    adapted.save_pretrained(folder)
    shutil.copytree(base, folder / "base")
    named = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**named, "base_model_name_or_path": "base"}))


def _write_ids(base: Path, folder: Path) -> None:
    """The ids of the names in each of the files that may say them."""
    for name in ("vocab.json", "vocab.txt"):
        shutil.copytree(base, folder / name, ignore=shutil.ignore_patterns("tokenizer.json"))
    every = {**MARKS, **IDS}
    (folder / "vocab.json" / "vocab.json").write_text(json.dumps(every))
    lines = [name for name, _ in sorted(every.items(), key=lambda one: one[1])]
    (folder / "vocab.txt" / "vocab.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "ids.json").write_text(json.dumps(IDS))
    codes = pl.DataFrame({"code": list(IDS), "code/vocab_index": list(IDS.values())})
    codes.write_parquet(folder / "codes.parquet")


def _write_saved(base: Path, folder: Path) -> None:
    """A model of ours with heads on the states of the one from elsewhere."""
    backbone = read_backbone(base, NAMES)
    HuggingFace(backbone, Vocabulary(NAMES), ["fuel", "oil"], label_queries=True).save_pretrained(folder)


def _write_focused(folder: Path) -> None:
    """A model of ours with a linear term and networks of its own for two labels."""
    data = simulate("mixed", sequences=300, labels=3, event_types=40, seed=5).data
    vocabulary = Vocabulary.from_dataset(data)
    edges = [torch.arange(4.0).expand(2, 3, 4).clone() for _ in range(3)]
    candidates = np.array([[UNK + 1, UNK + 2, UNK + 3], [UNK + 4, UNK + 5, 0]])
    focused = FocusedTerm(
        len(vocabulary), 16, np.array([0, 2]), candidates, FocusedNetwork(edges, 4, [0, 1]).eval()
    )
    linear = fit_linear(data, vocabulary, 64)
    shape = TransformerConfig(width=16, layers=1, heads=2)
    Transformer(shape, vocabulary, data.label_names, linear=linear, focused=focused).save_pretrained(folder)
