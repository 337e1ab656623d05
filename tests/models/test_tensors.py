"""Fitted terms of a model whose tensors are sound files of another shape, type or content."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from eventcargo import DataError, Vocabulary
from eventcargo.models.focused.network import FocusedNetwork
from eventcargo.models.focused.term import FocusedTerm
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.loading import load_model
from eventcargo.models.transformer.config import TransformerConfig
from eventcargo.models.transformer.model import Transformer
from eventcargo.simulation import simulate

Change = Callable[[Tensor], Tensor]
DATA = simulate("follows", sequences=400, labels=1, seed=1).data
VOCABULARY = Vocabulary.from_dataset(DATA)


@pytest.fixture(scope="module")
def term() -> LinearTerm:
    return fit_linear(DATA, VOCABULARY, 64, LinearConfig(workers=1))


def networks(label: int = 0, size: int = len(VOCABULARY)) -> FocusedTerm:
    edges = [torch.arange(4.0).expand(1, 3, 4).clone() for _ in range(3)]
    network = FocusedNetwork(edges, 4, [0]).eval()
    return FocusedTerm(size, 16, np.array([label]), np.array([[4, 5, 6]]), network)


def changed(tensors: Mapping[str, Tensor], name: str, change: Change | None) -> dict[str, Tensor]:
    others = {key: value for key, value in tensors.items() if key != name}
    return others if change is None else {**others, name: change(tensors[name])}


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("shape", lambda own: own[:1], r"has 'shape' as int64 of shape \(1,\), not int64 of shape \(2,\)"),
        ("weights", lambda own: own.half(), "has 'weights' as float16 of shape"),
        ("keys.presence", lambda own: own.reshape(-1, 1), "has 'keys.presence' as int64 of shape"),
        ("keys.presence", lambda own: own - 10**9, "its keys of presence are -9.* not from 0 to"),
        ("keys.adjacent", lambda own: own + 10**9, "its keys of adjacent are 1,000,.* not from 0 to"),
        ("effort", lambda own: own.repeat(2), "has 'effort' as uint8"),
        ("fold.3.codes", None, "lacks the tensor 'fold.3.codes'"),
        ("fold.3.codes", lambda own: own - 10**6, "its codes of fold 3 are"),
        ("fold.3.values", lambda own: own.repeat(2), "has 'fold.3.values' as float32"),
        ("fold.3.bias", lambda own: own.double(), "has 'fold.3.bias' as float64"),
    ],
)
def test_a_linear_term_of_other_tensors_is_refused_with_its_name(
    term: LinearTerm, name: str, change: Change | None, words: str
) -> None:
    with pytest.raises(DataError, match=f"the linear term:? {words}"):
        LinearTerm.from_tensors(changed(term.to_tensors(), name, change))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("shape", lambda own: own.float(), "have 'shape'"),
        ("labels", lambda own: own.repeat(2), "have 'labels'"),
        ("candidates", lambda own: own + 10**6, "their candidates are 1,000,004 to"),
        ("network.edges_times", None, "lacks the tensor 'network.edges_times'"),
        ("network.edges_times", lambda own: own[:, :2], "have 'network.edges_times'"),
        ("network.enter", lambda own: own[0], "have 'network.enter'"),
        ("network.read_bias", lambda own: own[..., :2], "have 'read_bias'"),
        ("network.carry", None, "lacks the tensor 'carry'"),
    ],
)
def test_networks_of_other_tensors_are_refused_with_the_name(
    name: str, change: Change | None, words: str
) -> None:
    words = words.replace("have", "has")
    with pytest.raises(DataError, match=f"the focused networks:? {words}"):
        FocusedTerm.from_tensors(changed(networks().to_tensors(), name, change))


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"focused": networks(label=3)}, r"labels of focused networks are 3 to 3, not from 0 to 0"),
        ({"focused": networks(size=len(VOCABULARY) + 1)}, "has focused networks for .* and a vocabulary of"),
    ],
)
def test_networks_of_another_model_are_refused(tmp_path: Path, terms: dict[str, Any], words: str) -> None:
    _save(tmp_path, **terms)
    with pytest.raises(DataError, match=words):
        load_model(tmp_path)


def test_a_linear_term_of_other_labels_or_ids_is_refused(tmp_path: Path, term: LinearTerm) -> None:
    _save(tmp_path / "labels", names=("a", "b"), linear=term)
    with pytest.raises(DataError, match=r"has a linear term for 1 label and names 2 labels; copy"):
        load_model(tmp_path / "labels")
    other = LinearTerm(term.size + 1, term.window, {}, torch.zeros(0, 1), term.bias)
    _save(tmp_path / "ids", linear=other)
    with pytest.raises(DataError, match=r"has a linear term for .* ids and a vocabulary of .*; copy"):
        load_model(tmp_path / "ids")


def _save(folder: Path, names: tuple[str, ...] = ("a",), **terms: Any) -> None:
    shape = TransformerConfig(width=16, layers=1, heads=2)
    Transformer(shape, VOCABULARY, names, **terms).save_pretrained(folder)
