"""The gate: whom the service answers, what every answer says to browsers, and a line for each request."""

import ipaddress
import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from eventcargo.service.problems import PROBLEM_TYPE, Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("localhost",)

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of every answer; a page has a content security policy of its own."""


class Gate:
    """Refuses requests for hosts of other names, before anything reads them.

    A page of a stranger can let its own name point to this machine (DNS rebinding) and so reach a service
    that listens to this machine alone; but then the request names the stranger's host.
    """

    def __init__(self, app: "ASGIApp", hosts: Sequence[str] = (), log: bool = False) -> None:
        self._app, self._log = app, log
        self._hosts = {name.casefold() for name in (*LOCAL, *hosts)}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_on(message: "Message") -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_headers(message["headers"])
            await send(message)

        try:
            if self._is_ours(scope):
                await self._app(scope, receive, send_on)
            else:
                await _refuse(send_on)
        finally:
            if self._log:
                _tell(scope, status, time.perf_counter() - began)

    def _is_ours(self, scope: "Scope") -> bool:
        """Whether a request names this machine by an address, as localhost, or by an allowed name."""
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1:
            return False
        name = host_of(given[0].decode("latin-1")).casefold()
        return name in self._hosts or is_address(name)


def host_of(header: str) -> str:
    """The name or address in a Host header, without its port.

    >>> host_of("localhost:8000"), host_of("[::1]:8000"), host_of("10.0.0.5")
    ('localhost', '::1', '10.0.0.5')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def is_address(name: str) -> bool:
    """Whether a host is given by its address, which nobody can let point elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host in LOCAL or (is_address(host) and ipaddress.ip_address(host).is_loopback)


async def _refuse(send: "Send") -> None:
    problem = Problem(421, "the request names another host; let --allow-host NAME allow it")
    headers = [(b"content-type", PROBLEM_TYPE.encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": problem.body})


def _with_headers(given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with those that it lacks."""
    there = {name.lower() for name, _ in given}
    more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
    return [*given, *more]


def _tell(scope: "Scope", status: int, seconds: float) -> None:
    """A line of JSON for a request; nothing that it sent but its method and path."""
    line = {
        "method": scope["method"],
        "path": quote(scope["path"]),
        "status": status,
        "milliseconds": round(1000 * seconds, 1),
    }
    print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201 (the log)
