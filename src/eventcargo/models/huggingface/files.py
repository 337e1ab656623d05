"""BackboneFiles: the files of a model from elsewhere, read without running code from them or downloading any.

Weights are read from safetensors alone: a pickle runs whatever its writer wanted. A LoRA adapter is merged
into the model that it was made for, which must be on this machine.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import float32, nn

from eventcargo.checksums import check_file, file_checksum
from eventcargo.errors import ConfigError, DataError, argument, counted, shortened, shown_value, warn
from eventcargo.files import read_json

CONFIG, ADAPTER = "config.json", "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"

BASE_FOLDER, ADAPTER_FOLDER = "base", "adapter"
"""Folders of the copies in a saved model."""

PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
"""How files of pickled weights end."""

LONGEST = 600
"""Characters of what another library says."""

MERGED = ("LORA",)
"""Kinds of adapters that are merged."""


@dataclass(frozen=True)
class BackboneFiles:
    """Where the files of a model are: its own folder, and that of an adapter if there is one."""

    base: Path
    adapter: Path | None = None

    @classmethod
    def find(cls, folder: Path, base: str = "") -> "BackboneFiles":
        """The files in a folder that somebody gives, which holds a model or an adapter."""
        if not folder.is_dir():
            raise DataError(f"{folder} is no folder; give the folder of a model of transformers")
        if not (folder / ADAPTER).exists():
            if base:
                raise ConfigError(f"{argument('base', base)}: {folder} holds no {ADAPTER}; leave it out")
            return cls(_checked(folder))
        return cls(_checked(_base_of(folder, base)), _checked_adapter(folder))

    def load(self) -> nn.Module:
        """The model for inference, in 32 bits, with its adapter merged into it."""
        model = _read(self.base)
        return model if self.adapter is None else _merged(model, self.adapter)

    def _folders(self) -> Iterator[tuple[str, Path]]:
        yield BASE_FOLDER, self.base
        if self.adapter is not None:
            yield ADAPTER_FOLDER, self.adapter

    def copy(self, folder: Path, *, reference: bool) -> dict[str, Any]:
        """Copy what reading needs, the base only without `reference`; returns what `opened` needs."""
        places = {}
        for role, source in self._folders():
            refers = reference and role == BASE_FOLDER
            place = source.absolute() if refers else folder / role
            if not refers:
                _copy(source, place)
            places[role] = {"path": str(place) if refers else role, "files": checksums_of(place)}
        return places

    @classmethod
    def opened(cls, folder: Path, places: dict[str, Any]) -> "BackboneFiles":
        """The files of a saved model, checked: copies in its folder, or where they were referred to."""
        found = {role: _opened(folder / place["path"], place["files"]) for role, place in places.items()}
        return cls(found[BASE_FOLDER], found.get(ADAPTER_FOLDER))


def _read_config(path: Path) -> dict[str, Any]:
    content = read_json(path, "copy the whole folder again")
    if not isinstance(content, dict):
        raise DataError(f"{path} holds {shown_value(content, 40)}; the folder is no model of transformers")
    return content


def _checked(folder: Path) -> Path:
    """A folder with a config and weights in safetensors."""
    if not (folder / CONFIG).exists():
        raise DataError(f"{folder} holds no {CONFIG}; give the folder of a model of transformers")
    if _read_config(folder / CONFIG).get("is_encoder_decoder"):
        raise DataError(f"{folder} holds an encoder and a decoder; give a causal language model")
    _check_weights(folder, any(folder.glob("*.safetensors")))
    return folder


def _checked_adapter(folder: Path) -> Path:
    kind = _read_config(folder / ADAPTER).get("peft_type")
    if kind not in MERGED:
        raise DataError(
            f"{folder} holds an adapter of type {shown_value(kind, 40)}; merge it into its model with "
            "merge_and_unload() of peft, save that, and give its folder"
        )
    _check_weights(folder, (folder / ADAPTER_WEIGHTS).exists())
    return folder


def _check_weights(folder: Path, has_safetensors: bool) -> None:
    if has_safetensors:
        return
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLED)
    if pickled:
        raise DataError(
            f"{folder} has its weights in {pickled[0]}, a pickle, which can run any code; load the model "
            "where you trust it and save it again with save_pretrained, which writes safetensors"
        )
    raise DataError(f"{folder} holds no weights: no file ends in .safetensors; copy the whole folder again")


def _base_of(adapter: Path, given: str) -> Path:
    """The folder of the model that an adapter was made for; nothing is downloaded."""
    named = given or _read_config(adapter / ADAPTER).get("base_model_name_or_path")
    places = (Path(str(named)), adapter / str(named))
    for path in places if given else reversed(places):  # what an adapter names may be beside it
        if named and path.is_dir():
            return path
    raise DataError(
        f"{adapter} is an adapter of {shown_value(named)}, which is no folder on this machine, and nothing "
        f"is downloaded; give the folder of that model by {argument('base')}"
    )


def _read(folder: Path) -> nn.Module:
    try:
        auto = import_module("transformers").AutoModelForCausalLM
    except ImportError:
        raise ConfigError("this model needs `transformers`; pip install 'eventcargo[hf]'") from None
    options = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    try:
        with without_words():
            model, report = auto.from_pretrained(folder, dtype=float32, output_loading_info=True, **options)
    except Exception as error:  # transformers raises many kinds for a damaged folder
        raise DataError(f"{folder} is not a causal model of transformers: {_reason(error)}") from None
    _warn_of_unused(folder, sorted(report["unexpected_keys"]))
    missing = sorted(report["missing_keys"])
    if missing:
        raise DataError(
            f"{folder} lacks {counted(len(missing), 'weight')} of the model, such as {missing[0]!r}; give a "
            "causal language model with all of its weights"
        )
    _check_finite(model, folder)
    whole: nn.Module = model
    return whole


def _warn_of_unused(folder: Path, names: list[str]) -> None:
    """Warn of weights without a place in the model: its config.json may be that of a smaller one."""
    if names:
        warn(
            f"{folder} has {counted(len(names), 'weight')} without a place in the model that its {CONFIG} "
            f"describes, such as {names[0]!r}; they are not used"
        )


def _check_finite(model: nn.Module, folder: Path) -> None:
    """Refuse weights that are no numbers: with one of them, all that the model says is none."""
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise DataError(f"{folder} has NaN or infinity in the weight {name!r}; copy the folder again")


def _reason(error: Exception) -> str:
    """Why another library cannot read a folder, in short; what tells of its innards alone is left out."""
    if isinstance(error, OSError) and error.strerror:
        return f"a file that it names cannot be read: {error.strerror}; copy the whole folder again"
    if isinstance(error, TypeError | AttributeError | LookupError | AssertionError):
        return f"its library fails at what a file holds ({type(error).__name__}); copy the whole folder again"
    if field := re.search(r"error for field '(\w+)'", str(error)):
        return f"its {CONFIG} has {field[1]!r} with a value of the wrong type; copy the whole folder again"
    text = re.sub(r"<class '(\w+)'>", r"\1", " ".join(str(error).split()))
    return shortened(text, LONGEST)


@contextmanager
def without_words() -> Iterator[None]:
    """No progress bars and warnings of transformers while the block runs: what matters we say ourselves."""
    logging = import_module("transformers.utils.logging")
    had_bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


def _merged(model: nn.Module, adapter: Path) -> nn.Module:
    try:
        peft = import_module("peft")
    except ImportError:
        raise ConfigError("an adapter needs `peft`; pip install 'eventcargo[hf]'") from None
    try:
        with_adapter = peft.PeftModel.from_pretrained(model, adapter, local_files_only=True)
        _check_same_weights(adapter, set(peft.get_peft_model_state_dict(with_adapter)))
        merged: nn.Module = with_adapter.merge_and_unload(safe_merge=True)
    except DataError:
        raise
    except Exception as error:  # peft raises many kinds for a damaged folder
        raise DataError(f"{adapter} is not an adapter of its model: {_reason(error)}") from None
    _check_finite(merged, adapter)
    return merged


def _check_same_weights(adapter: Path, wanted: set[str]) -> None:
    """Refuse an adapter without all of its weights, or with others: peft would leave them out."""
    with safe_open(adapter / ADAPTER_WEIGHTS, framework="pt") as source:
        found = set(source.keys())
    for names, words in ((wanted - found, "lacks"), (found - wanted, "has no place for")):
        if names:
            raise DataError(
                f"{adapter} {words} {counted(len(names), 'weight')} of its adapter, such as {min(names)!r}; "
                "copy the whole folder again"
            )


def _copy(source: Path, target: Path) -> None:
    """Copy the files of JSON and weights; tokenizers and texts are not needed again."""
    if target.exists() and target.samefile(source):
        return  # a model that is saved where it was loaded from
    target.mkdir(parents=True, exist_ok=True)
    for path in _needed(source):
        shutil.copyfile(path, target / path.name)


def _needed(folder: Path) -> list[Path]:
    names = [CONFIG, ADAPTER, "generation_config.json", "model.safetensors.index.json"]
    return [
        *(folder / name for name in names if (folder / name).exists()),
        *sorted(folder.glob("*.safetensors")),
    ]


def checksums_of(folder: Path) -> dict[str, str]:
    """The checksums of the files that reading needs, by their names."""
    return {path.name: file_checksum(path) for path in _needed(folder)}


def _opened(folder: Path, expected: dict[str, str]) -> Path:
    for name, code in expected.items():
        check_file(folder / name, code, "put the files of the model back, or train again")
    return folder
