"""The pages of the service: one to paste a sequence into, one that lists the endpoints.

Names enter a page only as data: JSON that cannot close a tag, which the script turns into text, or escaped
text. The content security policy allows the page's own style and script, and requests to the service alone.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from starlette.responses import Response

from eventcargo.html_tables import text
from eventcargo.report.page import json_block
from eventcargo.report.static_page import STYLES, as_bytes, joined_sources, policy_hash
from eventcargo.service.sequences import Fields
from eventcargo.service.served_run import ServedRun

POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; "
    "img-src data:; style-src '{style}'; script-src '{script}'"
)

EXAMPLE_EVENTS = 3
"""Event types in the example of the page, the most frequent of the model."""

EXAMPLE_TIMES: dict[str, list[Any]] = {
    "datetime": ["2024-05-01T08:00:00Z", "2024-05-01T09:30:00Z", "2024-05-02T07:15:00Z"],
    "number": [0, 1.5, 4],
}


@dataclass(frozen=True)
class Page:
    """A page and the policy of its style and script."""

    content: bytes
    policy: str

    def response(self) -> Response:
        return Response(
            self.content, media_type="text/html", headers={"content-security-policy": self.policy}
        )


def page_of_run(run: ServedRun, fields: Fields) -> Page:
    """The page to paste a sequence into."""
    about = {
        "run": run.folder.absolute().name,
        "labels": len(run.model.label_names),
        "eventTypes": len(run.model.vocabulary.event_names),
        "rules": {name: rule.text for name, rule in run.rules.items()},
        "values": list(fields.values),
        "attributes": list(fields.attributes),
        "example": json.dumps(example(run, fields), ensure_ascii=False, indent=1),
    }
    return _page("eventcargo", _source("form.html"), _source("form.js"), json_block("about", about))


def example(run: ServedRun, fields: Fields) -> dict[str, Any]:
    """A sequence that the run can read."""
    times = EXAMPLE_TIMES.get(fields.times[0], [None] * EXAMPLE_EVENTS)
    kinds = run.model.vocabulary.kinds
    others = {*kinds.attributes, *kinds.families, *(cut for cuts in kinds.measured.values() for cut in cuts)}
    names = [name for name in run.model.vocabulary.event_names if name not in others][:EXAMPLE_EVENTS]
    events = [
        {"name": name} | ({} if time is None else {"time": time})
        for name, time in zip(names, times, strict=False)
    ]
    return {"id": "example", "events": events}


def page_of_endpoints(description: dict[str, Any]) -> Page:
    """The page that lists the endpoints of an OpenAPI description."""
    parts = [
        _endpoint(method.upper(), path, operation)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]
    heading = (
        '<div class="hero"><h1>Endpoints</h1><p class="lead">'
        f"{text(description['info']['description'])} The whole description is in "
        '<a href="openapi.json">openapi.json</a>.</p></div>'
    )
    return _page("eventcargo: endpoints", heading + "".join(parts), "", "")


def _endpoint(method: str, path: str, operation: dict[str, Any]) -> str:
    """What an endpoint takes and answers."""
    statuses = "".join(
        f"<dt>{text(status)}</dt><dd>{text(answer['description'])}</dd>"
        for status, answer in operation["responses"].items()
    )
    taken = "".join(
        f"<p><code>?{text(one['name'])}=</code> {text(one['description'])}</p>"
        for one in operation.get("parameters", ())
    )
    about = operation.get("description", "")
    return (
        f"<section><h2><code>{text(method)} {text(path)}</code></h2><p>{text(operation['summary'])}. "
        f'{text(about)}</p>{taken}<dl class="about">{statuses}</dl></section>'
    )


def _page(title: str, body: str, script: str, data: str) -> Page:
    style = joined_sources(STYLES) + _source("service.css")
    script = f"'use strict';\n(() => {{\n{script}}})();\n" if script else ""
    content = Template(_source("page.html")).substitute(
        title=text(title),
        style=style,
        body=body,
        data=data,
        script=f"<script>{script}</script>" if script else "",
    )
    policy = POLICY.format(style=policy_hash(style), script=policy_hash(script))
    return Page(as_bytes(content), policy)


@cache
def _source(name: str) -> str:
    """A file of the template."""
    return (files("eventcargo.service") / "template" / name).read_text("utf-8")
