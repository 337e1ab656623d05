"""Settings of the engine: where work is done, which is no part of what a result follows from."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from eventcargo.config import Settings
from eventcargo.errors import ConfigError, argument

if TYPE_CHECKING:
    from eventcargo.engines.engine import Engine

SHARDS = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True)
class EngineConfig(Settings):
    """Where the units of a run are done; a run may resume on another engine."""

    panel: ClassVar = "Where it runs"

    engine: Literal["local", "ray"] = "local"
    """local: processes on this machine; ray: the nodes of a Ray cluster, which share the folder of the run"""
    address: str = ""
    """address of the Ray cluster, such as auto or 10.0.0.1:6379; empty: RAY_ADDRESS, or a new one here"""
    shards: str = ""
    """do one part of a stage's work, such as 3/16, for job arrays: run all 16 parts in any order, then go on
    without --shards"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.address and self.engine != "ray":
            raise ConfigError(
                f"{argument('address', self.address)} is that of a Ray cluster; add "
                f"{argument('engine', 'ray')}"
            )
        part, n_parts = self.part
        if not 1 <= part <= n_parts:
            raise ConfigError(
                f"{argument('shards', self.shards)}: use part/parts, such as 3/16, with parts numbered from 1"
            )

    @property
    def part(self) -> tuple[int, int]:
        """The number of the part and the number of parts; (1, 1) without shards.

        >>> EngineConfig(shards="3/16").part
        (3, 16)
        """
        if not self.shards:
            return 1, 1
        match = SHARDS.fullmatch(self.shards)
        return (int(match[1]), int(match[2])) if match else (0, 0)


def make_engine(
    config: EngineConfig = EngineConfig(),  # noqa: B008 (frozen)
    folder: Path | None = None,
    workers: int = 0,
) -> "Engine":
    """The engine of some settings, with its files in `folder`; `workers` limits the processes of `local`."""
    engine = _engine(config, folder, workers)
    if not config.shards:
        return engine
    from eventcargo.engines.shards import Shards

    return Shards(engine, *config.part)


def _engine(config: EngineConfig, folder: Path | None, workers: int) -> "Engine":
    if config.engine == "local":
        from eventcargo.engines.local import Local

        return Local(workers, folder)
    from eventcargo.engines.ray import Ray

    return Ray(config.address, folder)
