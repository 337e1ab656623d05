"""Engines: where the units of a stage are done: by local processes, a Ray cluster or parts of a job array."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.engines.config import EngineConfig, make_engine
    from eventcargo.engines.engine import Engine, UnitError, UnitsLeftError
    from eventcargo.engines.local import Local
    from eventcargo.engines.work import Work
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": "EngineConfig make_engine",
            "engine": "Engine UnitError UnitsLeftError",
            "local": "Local",
            "work": "Work",
        },
    )

__all__ = ["Engine", "EngineConfig", "Local", "UnitError", "UnitsLeftError", "Work", "make_engine"]
