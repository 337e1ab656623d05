"""The body of a request, read up to a limit."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from eventcargo.deadline import Deadline
from eventcargo.service.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import Request

JSON_TYPE = "application/json"

DRAINED = 10
"""How many times the limit is read and dropped of a request that is too large, so that its sender, who reads
the answer only after sending, sees it."""


async def read_body(request: "Request", limit: int, deadline: Deadline) -> bytes:
    """The body of a request; refused if it is no JSON, too large, or too slow."""
    _check_type(request.headers)
    parts, size = list[bytes](), 0
    try:
        async with asyncio.timeout(max(deadline.left, 0)):
            async for part in request.stream():
                size += len(part)
                if size <= limit:
                    parts.append(part)
                else:
                    parts.clear()
                if size > DRAINED * limit:
                    break
    except TimeoutError:
        raise Problem(
            408, "the request did not arrive in time; send less, or allow a longer --timeout"
        ) from None
    if size > limit:
        raise Problem(413, f"the request has more than {limit:,} bytes; send fewer sequences at once")
    return b"".join(parts)


def _check_type(headers: Mapping[str, str]) -> None:
    given = headers.get("content-type", "")
    kind, _, parameters = given.partition(";")
    charset = parameters.strip().casefold().removeprefix("charset=").strip('"')
    if kind.strip().casefold() != JSON_TYPE or charset not in ("", "utf-8"):
        raise Problem(415, f"the content type is {given or 'not given'}; send {JSON_TYPE}")
