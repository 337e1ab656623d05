"""A service: the model of a run answers HTTP requests with probabilities, causes and the rules that hold."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.service.app import as_json, create_app
    from eventcargo.service.config import ServeConfig
    from eventcargo.service.served_run import ServedRun
    from eventcargo.service.server import serve
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "app": "as_json create_app",
            "config": "ServeConfig",
            "served_run": "ServedRun",
            "server": "serve",
        },
    )

__all__ = ["ServeConfig", "ServedRun", "as_json", "create_app", "serve"]
