import json
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from eventcargo import ConfigError, DataError, EventCargoWarning
from eventcargo.models.huggingface.backbone import Backbone, read_backbone
from eventcargo.models.huggingface.config import BackboneConfig
from eventcargo.models.huggingface.files import BackboneFiles, _reason

from tests.models.huggingface.elsewhere import llama, other_ids, seeded, write_model, write_tokenizer

NAMES = ("a", "b", "c")
IDS = other_ids(NAMES)
TOKENS = np.array([[3, 4, 6, 5, 2], [3, 5, 2, -1, -1]])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("elsewhere") / "base", llama(7), IDS)


@pytest.fixture(scope="module")
def adapted(base: Path) -> Any:
    """The base with a LoRA adapter whose weights are not zero."""
    model = transformers.AutoModelForCausalLM.from_pretrained(base, local_files_only=True)
    config = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = seeded(lambda: peft.get_peft_model(model, config))
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            weight.data = seeded(lambda like=weight: torch.randn_like(like))
    return model.eval()


@pytest.fixture(scope="module")
def adapter(adapted: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapter")
    adapted.save_pretrained(folder)
    return folder


def test_an_adapter_is_merged_into_its_model(adapter: Path, adapted: Any) -> None:
    backbone = read_backbone(adapter, NAMES)
    found = backbone.logits(TOKENS[:1])
    with torch.no_grad():
        expected = adapted(input_ids=torch.from_numpy(TOKENS[:1])).logits
    assert torch.allclose(found, expected, atol=1e-5)
    assert not any("lora" in name for name, _ in backbone.model.named_modules())


def test_ids_come_from_the_tokenizer_of_an_adapter_if_it_has_one(adapter: Path, tmp_path: Path) -> None:
    for path in adapter.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    own = other_ids(NAMES, seed=1)
    assert own != IDS
    write_tokenizer(tmp_path, own)
    found = [read_backbone(folder, NAMES).ids.events for folder in (adapter, tmp_path)]
    assert found == [IDS, own]


def test_an_adapter_changes_the_model(adapter: Path, base: Path) -> None:
    with_adapter, without = (read_backbone(folder, NAMES).states(TOKENS) for folder in (adapter, base))
    assert not torch.allclose(with_adapter, without, atol=0.01)


def test_a_saved_adapter_opens_with_its_copied_base_after_the_folder_has_moved(
    adapter: Path, tmp_path: Path
) -> None:
    backbone = read_backbone(adapter, NAMES)
    places = backbone.save(tmp_path / "saved")
    moved = (tmp_path / "saved").rename(tmp_path / "moved")
    assert torch.equal(Backbone.open(moved, places, backbone.ids).states(TOKENS), backbone.states(TOKENS))
    assert sorted(path.name for path in moved.iterdir()) == ["adapter", "base"]


def test_a_saved_reference_holds_the_adapter_alone(adapter: Path, base: Path, tmp_path: Path) -> None:
    backbone = read_backbone(adapter, NAMES, BackboneConfig(reference=True))
    places = backbone.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["adapter"]
    assert places["base"]["path"] == str(base)
    assert torch.equal(Backbone.open(tmp_path, places, backbone.ids).states(TOKENS), backbone.states(TOKENS))


def test_a_reference_to_files_that_changed_is_refused_with_the_folder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "base", llama(7), IDS)
    backbone = read_backbone(folder, NAMES, BackboneConfig(reference=True))
    places = backbone.save(tmp_path / "saved")
    llama(7, initializer_range=0.1).save_pretrained(folder)
    with pytest.raises(DataError, match=r"base is damaged: .* has the checksum .*; put the files"):
        Backbone.open(tmp_path / "saved", places, backbone.ids)


def test_a_reference_to_files_that_are_gone_is_refused_with_the_folder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "base", llama(7), IDS)
    backbone = read_backbone(folder, NAMES, BackboneConfig(reference=True))
    places = backbone.save(tmp_path / "saved")
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"base is damaged: config.json cannot be read: No such file"):
        Backbone.open(tmp_path / "saved", places, backbone.ids)


def test_a_model_in_memory_is_saved_whole(tmp_path: Path) -> None:
    backbone = read_backbone(write_model(tmp_path / "base", llama(7), IDS), NAMES)
    in_memory = Backbone(backbone.model, backbone.ids)
    places = in_memory.save(tmp_path / "saved")
    again = Backbone.open(tmp_path / "saved", places, backbone.ids)
    assert torch.equal(again.states(TOKENS), backbone.states(TOKENS))


def test_the_base_of_an_adapter_may_be_given(adapter: Path, base: Path, tmp_path: Path) -> None:
    for path in adapter.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    _edit(tmp_path / "adapter_config.json", base_model_name_or_path="meta-llama/Llama-3")
    with pytest.raises(
        DataError, match=r"adapter of 'meta-llama/Llama-3', .* nothing is downloaded; .* base="
    ):
        BackboneFiles.find(tmp_path)
    assert BackboneFiles.find(tmp_path, str(base)) == BackboneFiles(base, tmp_path)


def test_the_base_of_an_adapter_is_the_one_beside_it(
    base: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("base", "here"):  # another folder of the same relative path
        (tmp_path / "other" / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other" / "here")
    shutil.copytree(base, tmp_path / "base")
    shutil.copytree(adapter, tmp_path / "adapter")
    _edit(tmp_path / "adapter" / "adapter_config.json", base_model_name_or_path="../base")
    assert BackboneFiles.find(tmp_path / "adapter").base.samefile(tmp_path / "base")


def test_a_model_in_several_files_is_saved_whole(tmp_path: Path) -> None:
    model = llama(7)
    model.save_pretrained(tmp_path / "shards", max_shard_size="8KB")
    write_tokenizer(tmp_path / "shards", IDS)
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    backbone = read_backbone(tmp_path / "shards", NAMES)
    again = Backbone.open(tmp_path / "saved", backbone.save(tmp_path / "saved"), backbone.ids)
    assert torch.equal(again.states(TOKENS), Backbone(model, backbone.ids).states(TOKENS))


def test_a_model_in_half_precision_is_read_in_32_bits(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "base", llama(7).half(), IDS)
    assert {weight.dtype for weight in read_backbone(folder, NAMES).model.parameters()} == {torch.float32}


def test_bars_and_warnings_are_as_they_were_after_a_model_was_read(base: Path) -> None:
    logging = transformers.utils.logging
    assert logging.is_progress_bar_enabled()
    level = logging.get_verbosity()
    BackboneFiles.find(base).load()
    assert logging.is_progress_bar_enabled()
    assert logging.get_verbosity() == level


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_base_without_an_adapter_is_refused(base: Path) -> None:
    with pytest.raises(ConfigError, match=r"base='other': .* holds no adapter_config.json; leave it out"):
        BackboneFiles.find(base, "other")


def test_an_adapter_of_another_kind_is_refused_with_its_kind(tmp_path: Path, base: Path) -> None:
    content = {"peft_type": "PREFIX_TUNING", "base_model_name_or_path": str(base)}
    (tmp_path / "adapter_config.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"adapter of type 'PREFIX_TUNING'; merge it .* merge_and_unload"):
        BackboneFiles.find(tmp_path)


def test_pickled_weights_are_refused_by_name(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "base", llama(7), IDS)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"weights in pytorch_model.bin, a pickle, which can run any code"):
        BackboneFiles.find(folder)


def test_pickled_weights_of_an_adapter_are_refused_by_name(tmp_path: Path, base: Path) -> None:
    content = {"peft_type": "LORA", "base_model_name_or_path": str(base)}
    (tmp_path / "adapter_config.json").write_text(json.dumps(content))
    (tmp_path / "adapter_model.bin").write_bytes(b"")
    with pytest.raises(DataError, match=r"weights in adapter_model.bin, a pickle"):
        BackboneFiles.find(tmp_path)


def test_code_in_the_folder_is_not_run(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "base", llama(7), IDS)
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    auto = {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}
    _edit(folder / "config.json", auto_map=auto, model_type="evil", architectures=["Model"])
    with pytest.raises(DataError, match="base is not a causal model of transformers"):
        read_backbone(folder, NAMES)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", "holds no config.json"),
        ("model.safetensors", r"holds no weights: no file ends in \.safetensors"),
        ("tokenizer.json", "holds no tokenizer"),
    ],
)
def test_a_folder_without_one_of_its_files_is_refused_by_name(
    tmp_path: Path, name: str, message: str
) -> None:
    folder = write_model(tmp_path / "base", llama(7), IDS)
    (folder / name).unlink()
    with pytest.raises(DataError, match=message):
        read_backbone(folder, NAMES)


def test_a_truncated_file_of_weights_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "base", llama(7), IDS)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="base is not a causal model of transformers"):
        read_backbone(folder, NAMES)


def test_a_model_with_missing_weights_is_refused_with_their_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "base"
    llama(7).model.save_pretrained(folder)  # without its output layer
    write_tokenizer(folder, IDS)
    library = logging.getLogger("transformers")
    library.addHandler(caplog.handler)
    try:
        with pytest.raises(DataError, match=r"lacks 1 weight of the model, such as 'lm_head\.weight'"):
            read_backbone(folder, NAMES)
    finally:
        library.removeHandler(caplog.handler)
    assert caplog.text == ""  # or else a table of its own


def test_a_model_with_an_encoder_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "base", llama(7), IDS)
    _edit(folder / "config.json", is_encoder_decoder=True)
    with pytest.raises(DataError, match="holds an encoder and a decoder; give a causal language model"):
        BackboneFiles.find(folder)


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("")
    with pytest.raises(DataError, match="model is no folder; give the folder of a model of transformers"):
        BackboneFiles.find(tmp_path / "model")


def _changed(folder: Path, change: Any) -> None:
    """Change the tensors of the one file of weights in a folder."""
    (path,) = folder.glob("*.safetensors")
    tensors = load_file(path)
    save_file(change(tensors), path, {"format": "pt"})


def test_weights_that_are_no_numbers_are_refused_with_the_first(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "base")
    _changed(
        tmp_path / "base", lambda own: {**own, "model.norm.weight": own["model.norm.weight"] * torch.nan}
    )
    with pytest.raises(DataError, match=r"base has NaN or infinity in the weight 'model.norm.weight'"):
        read_backbone(tmp_path / "base", NAMES)


def test_weights_without_a_place_are_told(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "base")
    _edit(tmp_path / "base" / "config.json", num_hidden_layers=1)
    with pytest.warns(EventCargoWarning, match=r"base has 9 weights without a place .* 'model.layers.1"):
        read_backbone(tmp_path / "base", NAMES)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda own: dict(list(own.items())[1:]), "lacks 1 weight of its adapter, such as 'base_model"),
        (lambda own: {**own, "more": torch.zeros(2)}, "has no place for 1 weight of its adapter, .* 'more'"),
        (lambda own: {name: one * torch.nan for name, one in own.items()}, "NaN|NaNs"),
    ],
)
@pytest.mark.filterwarnings("ignore:Found missing adapter keys")
def test_an_adapter_with_other_weights_is_refused(
    adapter: Path, tmp_path: Path, change: Any, words: str
) -> None:
    shutil.copytree(adapter, tmp_path / "adapter")
    _changed(tmp_path / "adapter", change)
    with pytest.raises(DataError, match=words):
        read_backbone(tmp_path / "adapter", NAMES)


def test_a_layer_of_an_adapter_that_is_no_number_is_refused(base: Path, tmp_path: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(base, local_files_only=True)
    config = peft.LoraConfig(
        r=2, target_modules=["q_proj"], modules_to_save=["lm_head"], task_type="CAUSAL_LM"
    )
    seeded(lambda: peft.get_peft_model(model, config)).save_pretrained(tmp_path / "adapter")
    _changed(
        tmp_path / "adapter",
        lambda own: {name: one * torch.inf if "lm_head" in name else one for name, one in own.items()},
    )
    with pytest.raises(DataError, match=r"adapter has NaN or infinity in the weight 'lm_head\.weight'"):
        read_backbone(tmp_path / "adapter", NAMES)


def test_what_its_library_says_is_told_on_one_line() -> None:
    assert _reason(ValueError("no such\n    model")) == "no such model"


def test_settings_that_its_library_refuses_are_told_without_its_innards(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "base")
    content = json.loads((tmp_path / "base" / "config.json").read_text())
    (tmp_path / "base" / "config.json").write_text(json.dumps({**content, "attention_dropout": []}))
    words = r"its config\.json has 'attention_dropout' with a value of the wrong type; copy the whole"
    with pytest.raises(DataError, match=words):
        read_backbone(tmp_path / "base", NAMES)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_a_file_that_its_library_stumbles_over_is_refused_in_plain_words(tmp_path: Path, name: str) -> None:
    llama(7).save_pretrained(tmp_path, max_shard_size="8KB")
    write_tokenizer(tmp_path, IDS)
    if name == "config.json":
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
        words = r"config\.json cannot be read: Is a directory; copy the whole folder again"
    else:
        content = json.loads((tmp_path / name).read_text())
        content["weight_map"]["lm_head.weight"] = {}
        (tmp_path / name).write_text(json.dumps(content))
        words = r"its library fails at what a file holds \(TypeError\); copy the whole folder again"
    with pytest.raises(DataError, match=words):
        read_backbone(tmp_path, NAMES)
