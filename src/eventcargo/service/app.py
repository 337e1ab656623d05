"""The endpoints of the service: what is asked where, and how refusals are told."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from eventcargo.deadline import Deadline, OutOfTime
from eventcargo.errors import EventCargoError
from eventcargo.release import RELEASE
from eventcargo.service import schema
from eventcargo.service.bodies import JSON_TYPE, read_body
from eventcargo.service.config import ServeConfig
from eventcargo.service.gate import Gate
from eventcargo.service.page import page_of_endpoints, page_of_run
from eventcargo.service.problems import PROBLEM_TYPE, Problem
from eventcargo.service.sequences import Sent
from eventcargo.service.served_run import ServedRun
from eventcargo.service.strict_json import parse_strictly
from eventcargo.service.work_queue import WorkQueue

Question = Callable[[Sent, Sequence[str]], dict[str, Any]]

ABOUT = (
    "The probabilities of labels, the events that moved them, and the rules that hold, by the model of a run."
)


def create_app(run: ServedRun, config: ServeConfig, queue: WorkQueue) -> FastAPI:
    """The service of a run as an ASGI application; somebody must call `queue.run`."""
    app = FastAPI(title="eventcargo", description=ABOUT, version=RELEASE, docs_url=None, redoc_url=None)
    _add_questions(app, run, config, queue)
    _add_facts(app, run, queue)
    _add_pages(app, run, config)
    _add_refusals(app, config)
    app.add_middleware(Gate, hosts=(config.host, *config.allow_host), log=config.access_log)
    return app


def _add_questions(app: FastAPI, run: ServedRun, config: ServeConfig, queue: WorkQueue) -> None:
    """What is asked about sequences."""
    fields = run.fields(config.max_sequences, config.max_events)
    refusals = schema.refusals(408, 409, 413, 415, 421, 422, 503, 504)

    async def ask(request: Request, question: Question) -> Response:
        with queue.place():
            deadline = Deadline.after(config.seconds)
            body = await read_body(request, config.max_bytes, deadline)
            labels = request.query_params.getlist("label")
            work = partial(_answered, body, labels, fields=fields, question=question)
            return Response(await queue.do(work, deadline), media_type=JSON_TYPE)

    def add(path: str, question: Question, sequence: schema.Schema, summary: str, description: str) -> None:
        async def endpoint(request: Request) -> Response:
            return await ask(request, question)

        app.add_api_route(
            path,
            endpoint,
            methods=["POST"],
            name=path.strip("/"),
            operation_id=path.strip("/"),
            response_class=Response,
            summary=summary,
            description=description,
            responses={**schema.answers(schema.answer_schema(sequence), summary), **refusals},
            openapi_extra=schema.question(fields, run.model.label_names),
        )

    add(
        "/predict",
        run.predict,
        schema.PREDICTED,
        "How probable each label of some sequences is",
        "Also tells which rules hold, the level of each label's verdict, and the event types that the model "
        "does not know.",
    )
    add(
        "/explain",
        run.explain,
        schema.EXPLAINED,
        "Which events moved the labels of some sequences",
        "As /predict, with the events that raised or lowered each label: those named, else those of a "
        "probability of at least one half.",
    )


def _answered(body: bytes, labels: Sequence[str], *, fields: Any, question: Question) -> bytes:
    """The answer to a body of JSON, as JSON."""
    return as_json(question(Sent.parse(parse_strictly(body), fields), labels))


def _add_facts(app: FastAPI, run: ServedRun, queue: WorkQueue) -> None:
    """What is the same for everybody."""
    labels, health = as_json(run.labels()), run.health()

    async def tell_labels() -> Response:
        return Response(labels, media_type=JSON_TYPE)

    async def tell_health() -> Response:
        return Response(as_json({**health, "waiting": queue.taken}), media_type=JSON_TYPE)

    facts = {
        "/labels": (tell_labels, schema.LABELS, "Every label with its boundary, rule and verdict"),
        "/health": (tell_health, schema.HEALTH, "Whether the service is ready, and what it serves"),
    }
    for path, (endpoint, answer, summary) in facts.items():
        app.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            operation_id=path.strip("/"),
            response_class=Response,
            summary=summary,
            description="",
            responses={**schema.answers(answer, summary), **schema.refusals(421)},
        )


def _add_pages(app: FastAPI, run: ServedRun, config: ServeConfig) -> None:
    """Pages for people."""
    fields = run.fields(config.max_sequences, config.max_events)

    async def tell_page() -> Response:
        return page_of_run(run, fields).response()

    async def tell_endpoints() -> Response:
        return page_of_endpoints(app.openapi()).response()

    for path, endpoint in {"/": tell_page, "/docs": tell_endpoints}.items():
        app.add_api_route(path, endpoint, methods=["GET"], response_class=Response, include_in_schema=False)


def _add_refusals(app: FastAPI, config: ServeConfig) -> None:
    """How errors are told."""

    async def tell(_: Request, error: Exception) -> Response:
        problem = _problem(error, config)
        return Response(problem.body, problem.status, dict(problem.headers), PROBLEM_TYPE)

    for kind in (Problem, EventCargoError, OutOfTime, MemoryError, HTTPException, Exception):
        app.add_exception_handler(kind, tell)


def _problem(error: Exception, config: ServeConfig) -> Problem:
    """An error as a refusal; nothing of its inside is told where it is ours."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, EventCargoError):
        return Problem(422, str(error))
    if isinstance(error, OutOfTime):
        return Problem(504, f"the answer took longer than {config.timeout}; send fewer sequences at once")
    if isinstance(error, MemoryError):
        return Problem(503, "not enough memory for this request; send fewer sequences at once")
    if isinstance(error, HTTPException):
        return Problem(error.status_code, _plain_words(error), error.headers or {})
    return Problem(500, "an error of the service itself, not of the request; its log has the details")


def _plain_words(error: HTTPException) -> str:
    """What the framework refuses."""
    allowed = (error.headers or {}).get("Allow", (error.headers or {}).get("allow", ""))
    return {
        404: "there is nothing under this path; GET /docs lists what there is",
        405: f"this path does not take this method; use {allowed}",
    }.get(error.status_code, str(error.detail))


def as_json(content: Any) -> bytes:
    """JSON with dates in ISO-8601, as the command line prints it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, default=datetime.isoformat)
    return text.encode("utf-8")
