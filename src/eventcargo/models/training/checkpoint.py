"""The folder of a training run: one checkpoint file to resume from, and the model at the end."""

import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from eventcargo.durations import has_more_time
from eventcargo.errors import ConfigError
from eventcargo.files import check_same_settings, sweep
from eventcargo.models.pretrained import read_tensors, write_tensors


@dataclass
class State:
    """The progress of a run, stored in its checkpoints as JSON."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    elapsed: float = 0.0
    loss: float = math.nan
    best: float = math.inf
    worse: int = 0
    checked: int = 0
    labels_begun: bool = False
    finished: bool = False
    ended: str = ""  # why the steps ended before the budget
    history: list[dict[str, float]] = field(default_factory=list)


class RunFolder:
    """Checkpoints of one run, written whole or not at all; other settings or data raise `ConfigError`."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], resume: bool) -> None:
        self.checkpoint, self.model = folder / "checkpoint.safetensors", folder / "model"
        self.linear, self.focused = folder / "linear.safetensors", folder / "focused.safetensors"
        self._settings, self._files = dict(settings), (self.linear, self.focused, self.checkpoint)
        existing = [path for path in (self.linear, self.checkpoint, self.model) if path.exists()]
        if existing and not resume:
            raise ConfigError(f"{existing[0]} exists already; resume the run, or choose a new folder")
        if resume and folder.exists():
            sweep(folder)

    def read(self) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """State and tensors of the last checkpoint; None if the run stopped before its first."""
        if not self.checkpoint.exists():
            return None
        header, tensors = read_tensors(self.checkpoint)
        self._check(self.checkpoint, header["settings"])
        return header["state"], tensors

    def read_term(self, path: Path) -> tuple[float, dict[str, Tensor]] | None:
        """Seconds of the fit and tensors of a fitted term; None if it is not fitted yet.

        A fit that the time limit cut is taken up again where there is more time now, and with it all that was
        made from it.
        """
        if not path.exists():
            return None
        header, tensors = read_tensors(path)
        if self._check(path, header["settings"]) and header.get("cut"):
            shutil.rmtree(self.model, ignore_errors=True)
            for made in reversed(self._files[self._files.index(path) :]):  # what it was made from goes last
                made.unlink(missing_ok=True)
            return None
        return header["seconds"], tensors

    def _check(self, path: Path, before: Mapping[str, Any]) -> bool:
        """Refuse other settings than those of a file; whether there is more time now."""
        train, own = dict(before.get("train", {})), self._settings.get("train", {})
        is_longer = has_more_time(train, own)
        if is_longer:
            before = {**before, "train": {**train, "max_time": own["max_time"]}}
        check_same_settings(path, before, self._settings)
        return is_longer

    def write_term(
        self, path: Path, seconds: float, tensors: Mapping[str, Tensor], is_cut: bool = False
    ) -> None:
        """Store a fitted term, so that it is fitted only once; `is_cut` if more time would have served."""
        write_tensors(path, tensors, {"settings": self._settings, "seconds": seconds, "cut": is_cut})

    def write(self, state: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Replace the checkpoint."""
        write_tensors(self.checkpoint, tensors, {"settings": self._settings, "state": dict(state)})


def was_cut(folder: Path) -> bool:
    """Whether the time limit of a training run cut the fit of its terms."""
    files = (folder / name for name in ("linear.safetensors", "focused.safetensors"))
    return any(read_tensors(path)[0].get("cut", False) for path in files if path.exists())
