from pathlib import Path

import pytest

from eventcargo import DataError, EventDataset, Vocabulary
from eventcargo.models.counts import Counts
from eventcargo.models.loading import load_model
from eventcargo.models.transformer.model import Transformer, transformer_size
from eventcargo.simulation import simulate

from tests.sealed import edit


@pytest.fixture(scope="module")
def chain() -> EventDataset:
    return simulate("chain", sequences=20, seed=100).data


def test_a_transformer_is_loaded(chain: EventDataset, tmp_path: Path) -> None:
    Transformer(transformer_size("tiny"), Vocabulary.from_dataset(chain), chain.label_names).save_pretrained(
        tmp_path
    )
    assert isinstance(load_model(tmp_path), Transformer)


def test_counts_are_loaded(chain: EventDataset, tmp_path: Path) -> None:
    Counts.fit(chain).save_pretrained(tmp_path)
    assert isinstance(load_model(tmp_path), Counts)


def test_a_model_of_another_kind_is_refused(chain: EventDataset, tmp_path: Path) -> None:
    Counts.fit(chain).save_pretrained(tmp_path)
    edit(tmp_path / "config.json", kind="tree")
    with pytest.raises(DataError, match="kind 'tree'"):
        load_model(tmp_path)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"config\.json does not exist"):
        load_model(tmp_path)
