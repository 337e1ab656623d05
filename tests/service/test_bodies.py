"""Bodies of requests, as a connection sends them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.requests import Request

from eventcargo.deadline import Deadline
from eventcargo.service.bodies import DRAINED, read_body
from eventcargo.service.problems import Problem

Receive = Callable[[], Awaitable[dict[str, Any]]]

BOUND = 20.0


def body(receive: Receive, limit: int, deadline: Deadline) -> bytes:
    """The body that a connection sends, read in a thread of its own."""
    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]}
    reading = read_body(Request(scope, receive), limit, deadline)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asyncio.wait_for(reading, BOUND)).result()


def parts(*sizes: int) -> Receive:
    """A connection that sends parts of these sizes."""

    async def send() -> AsyncIterator[dict[str, Any]]:
        for at, size in enumerate(sizes):
            yield {"type": "http.request", "body": b"1" * size, "more_body": at + 1 < len(sizes)}

    return send().__anext__


def test_parts_are_joined_up_to_the_limit() -> None:
    assert body(parts(5, 0, 5), 10, Deadline.after(BOUND)) == b"1" * 10
    with pytest.raises(Problem, match="more than 9 bytes") as refusal:
        body(parts(5, 5), 9, Deadline.after(BOUND))
    assert refusal.value.status == 413


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def never() -> dict[str, Any]:
        await asyncio.sleep(2 * BOUND)
        return {}

    with pytest.raises(Problem, match="did not arrive in time") as refusal:
        body(never, 10, Deadline.after(0.05))
    assert refusal.value.status == 408


def test_a_body_without_end_is_read_up_to_a_multiple_of_the_limit() -> None:
    sent = list[int]()

    async def endless() -> dict[str, Any]:
        sent.append(5)
        return {"type": "http.request", "body": b"1" * 5, "more_body": sum(sent) < 1_000 * DRAINED}

    with pytest.raises(Problem, match="more than 10 bytes"):
        body(endless, 10, Deadline.after(BOUND))
    assert sum(sent) == 10 * DRAINED + 5
