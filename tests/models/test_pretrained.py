import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from eventcargo import Vocabulary
from eventcargo.errors import DataError
from eventcargo.models.pretrained import (
    read_model,
    read_tensors,
    taken,
    write_model,
    write_tensors,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder."""
    write_model(tmp_path / "model", {"kind": "toy", "width": 3}, Vocabulary(("a",)), {"w": torch.ones(3)})
    return tmp_path / "model"


def test_a_model_is_read_as_written(folder: Path) -> None:
    config, vocabulary, tensors = read_model(folder, "toy")
    assert config == {"width": 3}
    assert vocabulary == Vocabulary(("a",))
    assert torch.equal(tensors["w"], torch.ones(3))


def test_a_model_can_be_written_over_another(folder: Path) -> None:
    write_model(folder, {"kind": "toy", "width": 5}, Vocabulary(("b",)), {"w": torch.ones(5)})
    assert read_model(folder, "toy")[0] == {"width": 5}


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_missing_file_is_refused_by_name(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DataError, match=name):
        read_model(folder, "toy")


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_truncated_file_is_refused_by_name(folder: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=name):
        read_model(folder, "toy")


def test_weights_of_another_model_are_refused(folder: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "other", {"kind": "toy", "width": 4}, Vocabulary(("a",)), {"w": torch.ones(4)})
    (tmp_path / "other" / "model.safetensors").replace(folder / "model.safetensors")
    with pytest.raises(DataError, match="belongs to another"):
        read_model(folder, "toy")


def test_weights_from_elsewhere_are_refused(folder: Path) -> None:
    save_file({"w": torch.ones(3)}, folder / "model.safetensors")
    with pytest.raises(DataError, match="not written by eventcargo"):
        read_model(folder, "toy")


def test_a_config_from_elsewhere_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(DataError, match="not written by eventcargo as eventcargo-model"):
        read_model(folder, "toy")


def test_a_later_format_is_refused_with_its_version(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "version": 99}))
    with pytest.raises(DataError, match="99"):
        read_model(folder, "toy")


def test_another_kind_of_model_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="'toy', not 'transformer'"):
        read_model(folder, "transformer")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    write_tensors(path, {"w": torch.ones(2)}, {"step": 1})
    with pytest.raises(TypeError):
        write_tensors(path, {"w": torch.zeros(2)}, {"step": object()})
    header, tensors = read_tensors(path)
    assert header == {"step": 1}
    assert torch.equal(tensors["w"], torch.ones(2))
    assert list(tmp_path.iterdir()) == [path]


def test_tensors_are_taken_by_what_their_names_begin_with() -> None:
    tensors = {"best.w": torch.ones(1), "model.w": torch.zeros(1)}
    assert taken(tensors, "best.") == {"w": tensors["best.w"]}


def test_every_flipped_bit_of_the_weights_is_noticed(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    for bit in range(8 * (len(content) - 12), 8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="its checksum does not fit"):
            read_model(folder, "toy")


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_tensors_of_any_type_and_shape_have_a_checksum(tmp_path: Path, kind: torch.dtype) -> None:
    tensors = {"none": torch.zeros(0, 3), "one": torch.tensor(1), "wide": torch.ones(1).expand(4)}
    tensors = {name: value.to(kind) for name, value in tensors.items()}
    write_tensors(tmp_path / "x.safetensors", tensors, {"a": [1, None]})
    header, read = read_tensors(tmp_path / "x.safetensors")
    assert header == {"a": [1, None]}
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)


def test_the_same_tensors_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("x", "y"):
        write_tensors(tmp_path / name, {"b": torch.ones(2), "a": torch.zeros(3)}, {"step": 1})
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
