"""Serving: a socket, a thread for its connections, and the main thread for the model."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import uvicorn

from eventcargo.errors import UNSET, ConfigError, argument, arguments_shown_by, shown_value
from eventcargo.service.app import create_app
from eventcargo.service.config import ServeConfig
from eventcargo.service.served_run import ServedRun
from eventcargo.service.work_queue import WorkQueue

LINGER = 2.0
"""Seconds beyond the time limit of a request that a server which is told to stop waits for its answer."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

ENTRIES = {"static": "attributes", "values": "values", "sequence_id": "id"}
"""What the tables of a command are called in requests."""


def serve(run: ServedRun, config: ServeConfig, listening: Callable[[str], None]) -> None:
    """Answer requests until a signal says to stop, then finish those that have begun.

    `listening` is told the address once connections are accepted. Must be called in the main thread.
    """
    torch.set_num_threads(config.threads)
    queue = WorkQueue(config.max_waiting)
    app = create_app(run, config, queue)
    with open_socket(config) as listener:
        server = uvicorn.Server(_settings(app, config))
        thread = threading.Thread(target=_connections, args=(server, listener, queue), name="connections")
        with _stopped_by_signals(server), arguments_shown_by(as_entry):
            thread.start()
            listening(address_of(listener))
            queue.run()
            thread.join()


def _settings(app: Any, config: ServeConfig) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        loop="asyncio",
        access_log=False,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=round(config.seconds + LINGER),
    )


def _connections(server: uvicorn.Server, listener: socket.socket, queue: WorkQueue) -> None:
    """Answer connections until the server is told to stop; then nobody asks the model any more."""
    try:
        server.run(sockets=[listener])
    finally:
        queue.stop()


def open_socket(config: ServeConfig) -> socket.socket:
    """The socket to listen on; refused if it cannot be had."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listener = socket.create_server((config.host, config.port), family=family, backlog=2_048)
        listener.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # or each answer waits 40 ms for an ACK
        return listener
    except OSError as error:
        where = f"{argument('host', config.host)} {argument('port', config.port)}"
        reason = (error.strerror or str(error)).partition(" (")[0]
        raise ConfigError(f"{where}: {reason}; choose another, or port 0 for any that is free") from None


def address_of(listener: socket.socket) -> str:
    """Where a socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Within the block, a signal lets the server finish, and a second Ctrl+C lets it end at once."""

    def stop(number: int, _: object) -> None:
        server.handle_exit(number, None)

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def as_entry(name: str, value: Any = UNSET) -> str:
    """An argument in the words of requests: an entry of theirs, or a setting of the run.

    >>> as_entry("static"), as_entry("lookback", "90d")
    ("'attributes'", "the run's lookback='90d'")
    """
    if name in ENTRIES:
        return repr(ENTRIES[name])
    return f"the run's {name}" + ("" if value is UNSET else f"={shown_value(value)}")
