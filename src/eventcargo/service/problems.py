"""Problem: why a request is refused, as JSON problem details (RFC 9457) in plain words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

PROBLEM_TYPE = "application/problem+json"

TITLES = {413: "Request too large", 421: "Unknown host", 422: "Request cannot be used"}
"""Titles where those of the standard say little."""


@dataclass
class Problem(Exception):  # noqa: N818 (the word of the standard)
    """A refusal: its status, what is wrong with the value got and what is allowed, and further headers.

    >>> Problem(503, "64 requests are waiting; try again", {"Retry-After": "1"}).content["title"]
    'Service Unavailable'
    """

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.detail

    @property
    def content(self) -> dict[str, Any]:
        title = TITLES.get(self.status) or HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}

    @property
    def body(self) -> bytes:
        return json.dumps(self.content).encode()


def unusable(detail: str) -> Problem:
    """The refusal of content that is not as it should be."""
    return Problem(422, detail)
