"""The folder of a training run: one checkpoint file to go on from, and the model once there is one."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.models.density import DensityModel
from eventcargo.models.pretrained import read_tensors, write_tensors


class RunFolder:
    """Checkpoints of one run, written whole or not at all; a run of other settings or data is refused."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], resume: bool) -> None:
        self.checkpoint, self.model = folder / "checkpoint.safetensors", folder / "model"
        self.linear = folder / "linear.safetensors"
        self._settings = dict(settings)
        there = [path for path in (self.linear, self.checkpoint, self.model) if path.exists()]
        if there and not resume:
            raise ConfigError(f"{there[0]} exists already; go on with resume, or choose a new folder")

    def read(self) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """State and tensors of the last checkpoint; None where the run was stopped before the first."""
        if not self.checkpoint.exists():
            return None
        header, tensors = read_tensors(self.checkpoint)
        self._check(self.checkpoint, header["settings"])
        return header["state"], tensors

    def read_linear(self) -> tuple[float, dict[str, Tensor]] | None:
        """Seconds it took and tensors of the linear term; None where it was not fitted yet."""
        if not self.linear.exists():
            return None
        header, tensors = read_tensors(self.linear)
        self._check(self.linear, header["settings"])
        return header["seconds"], tensors

    def write_linear(self, seconds: float, tensors: Mapping[str, Tensor]) -> None:
        """Keep the linear term, so that it need not be fitted again."""
        write_tensors(self.linear, tensors, {"settings": self._settings, "seconds": seconds})

    def write(self, state: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Replace the checkpoint."""
        write_tensors(self.checkpoint, tensors, {"settings": self._settings, "state": dict(state)})

    def _check(self, path: Path, before: Mapping[str, Any]) -> None:
        for name in sorted(set(before) | set(self._settings)):
            if before.get(name) != self._settings.get(name):
                raise ConfigError(
                    f"{path} was written with {name}={before.get(name)!r}, now it is "
                    f"{self._settings.get(name)!r}; resume with the same settings and data, "
                    "or choose a new folder"
                )


def data_fingerprint(data: EventDataset) -> str:
    """A short text that differs where sequences, events, times, labels, values or names differ."""
    code = 0
    for part in data.chunks(100_000):
        columns = (*part.flat(), part.label_rows.offsets, part.label_rows.gather(part.labels))
        for column in columns:
            code = zlib.crc32(np.ascontiguousarray(column).tobytes(), code)
        code = zlib.crc32(np.ascontiguousarray(part.rows.gather(part.values)).tobytes(), code)
    values = ("", *data.value_names) if data.value_names else ()
    names = "\n".join((*data.event_names, "", *data.label_names, *values)).encode()
    return f"{len(data)} sequences, {data.n_events} events, {zlib.crc32(names, code):08x}"


def tensors_fingerprint(tensors: Mapping[str, Tensor]) -> str:
    """A short text that differs where names or numbers of tensors differ."""
    code = 0
    for name in sorted(tensors):
        numbers = np.ascontiguousarray(tensors[name].detach().cpu().numpy())
        code = zlib.crc32(numbers.tobytes(), zlib.crc32(name.encode(), code))
    return f"{len(tensors)} tensors, {code:08x}"


def model_fingerprint(model: DensityModel) -> str:
    """A short text that differs where the names or weights of models differ."""
    code = zlib.crc32("\n".join((*model.vocabulary.event_names, "", *model.label_names)).encode())
    if not isinstance(model, torch.nn.Module):
        return f"{type(model).__name__}, {code:08x}"
    linear = getattr(model, "linear", None)
    tensors = {**model.state_dict(), **({} if linear is None else linear.to_tensors())}
    return f"{type(model).__name__}, {code:08x}, {tensors_fingerprint(tensors)}"
