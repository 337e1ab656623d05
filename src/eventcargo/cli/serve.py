"""`eventcargo serve RUN`: answer HTTP requests about new sequences, by the model of a run."""

from pathlib import Path
from typing import Annotated

import typer

import eventcargo.service
from eventcargo.cli.new_data import model_of
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_lines
from eventcargo.discovery.data_source import DataSource, has_source, source_of
from eventcargo.errors import ConfigError, counted, warn
from eventcargo.service.config import ServeConfig
from eventcargo.service.gate import is_loopback

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
@with_options(ServeConfig)
def serve(
    run: Annotated[Path, typer.Argument(help="Folder of a run with model/.")],
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    as_json: AS_JSON = False,
    config: ServeConfig = ServeConfig(),  # noqa: B008 (frozen)
) -> None:
    """Answer HTTP requests about new sequences: probabilities of labels, causes and rules that hold."""
    model = model_of(run, device)
    _check_installed()
    source = source_of(run) if has_source(run) else DataSource("")
    served = eventcargo.service.ServedRun.load(
        run, model, values=source.values, parents=source.parents or None
    )
    if not is_loopback(config.host):
        warn(
            f"--host {config.host} can be reached from other machines, and the service asks nobody who they "
            "are; put a proxy with TLS and authentication before it"
        )

    def tell(address: str) -> None:
        if as_json:
            typer.echo(eventcargo.service.as_json({"address": address, **served.health()}))
            return
        labels = counted(len(model.label_names), "label")
        print_lines([f"Serving {run} ({labels}) at {address}; press Ctrl+C to stop."])

    eventcargo.service.serve(served, config, tell)


def _check_installed() -> None:
    """Refuse to start without the packages of the extra."""
    try:
        import fastapi
        import uvicorn
    except ImportError as error:
        raise ConfigError(
            f"serve needs {error.name}; install it with pip install 'eventcargo[serve]'"
        ) from None
    del fastapi, uvicorn
