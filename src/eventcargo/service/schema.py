"""What requests and answers look like, as JSON Schema for OpenAPI."""

from typing import Any

from eventcargo.service.problems import PROBLEM_TYPE
from eventcargo.service.sequences import BLANK, NAME, TIME, Fields

Schema = dict[str, Any]

DAYS = (
    r"[0-9]{4}-(((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01]))|((0[469]|11)-(0[1-9]|[12][0-9]|30))"
    r"|(02-(0[1-9]|1[0-9]|2[0-8])))"
)
LEAP_DAYS = r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29"
CLOCK = (
    r"[T ]([01][0-9]|2[0-3])(:[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?)?(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?"
)

LARGEST = 2**53
"""Whole numbers up to this are exact in a float64."""

WORDS: Schema = {"type": "string", "pattern": rf"[^{BLANK}]"}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}

SENT_NUMBER: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": -LARGEST, "maximum": LARGEST},
        {"type": "number", "not": {"type": "integer"}},
    ]
}
"""A number that is sent; those of answers are what they are."""

TIMES: dict[str, Schema] = {
    "number": SENT_NUMBER,
    "datetime": {
        "type": "string",
        "pattern": f"^(({DAYS})|({LEAP_DAYS}))({CLOCK})?$",
        "examples": ["2024-05-31T12:00:00Z"],
    },
    "order": {"type": "null"},
}
"""A time of each kind; all times of a request are of one kind."""


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """An object with these entries and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def mapping(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def request_schema(fields: Fields) -> Schema:
    """A sequence or a list of them, with times of one kind."""
    sequences = [_sequence(fields, kind) for kind in fields.times]
    several = [
        {**listed(sequence), "minItems": 1, "maxItems": fields.max_sequences, "description": "Each id once."}
        for sequence in sequences
    ]
    return {"anyOf": [*sequences, *several]}


def _sequence(fields: Fields, kind: str) -> Schema:
    values = record(dict.fromkeys(fields.values, or_null(SENT_NUMBER)), fields.values)
    event = {NAME: WORDS, TIME: TIMES[kind]} | ({"values": values} if fields.values else {})
    optional = ("values", *((TIME,) if kind == "order" else ()))
    events = {**listed(record(event, optional)), "minItems": 1, "maxItems": fields.max_events}
    attribute = {"anyOf": [{"type": "string"}, SENT_NUMBER, {"type": "null"}]}
    attributes = record(dict.fromkeys(fields.attributes, attribute), fields.attributes)
    properties = {"id": WORDS, "events": events} | ({"attributes": attributes} if fields.attributes else {})
    return record(properties, ("attributes",))


CAUSE = record(
    {
        "label": {"type": "string"},
        "probability": SHARE,
        "event": {"type": "string"},
        "count": COUNT,
        "first_position": COUNT,
        "first_time": {"anyOf": [NUMBER, {"type": "string"}, {"type": "null"}]},
        "without": SHARE,
        "effect": NUMBER,
        "strength": NUMBER,
        "others": TEXTS,
    }
)

PREDICTED = record(
    {"id": {"type": "string"}, "probabilities": mapping(SHARE), "rules": mapping({"type": "string"})}
)

EXPLAINED = record({**PREDICTED["properties"], "explained": TEXTS, "causes": listed(CAUSE)})

LEVEL = or_null({"enum": ["trust", "caution", "doubt"]})


def answer_schema(sequence: Schema) -> Schema:
    """An answer about sequences."""
    unknown = record({"event": {"type": "string"}, "occurrences": COUNT, "sequences": COUNT})
    return record(
        {
            "sequences": listed(sequence),
            "verdicts": mapping(LEVEL),
            "unknown_events": listed(unknown),
            "left_out": TEXTS,
            "notes": TEXTS,
        }
    )


LABELS = record(
    {
        "labels": listed(
            record(
                {
                    "label": {"type": "string"},
                    "boundary": listed(
                        record(
                            {
                                "event": {"type": "string"},
                                "sign": or_null({"type": "integer"}),
                                "odds_ratio": or_null(NUMBER),
                                "odds_low": or_null(NUMBER),
                                "odds_high": or_null(NUMBER),
                            }
                        )
                    ),
                    "rule": or_null(
                        record(
                            {
                                "text": {"type": "string"},
                                "precision": SHARE,
                                "recall": SHARE,
                                "support": COUNT,
                            }
                        )
                    ),
                    "verdict": or_null(record({"level": LEVEL, "reasons": TEXTS, "missing": TEXTS})),
                }
            )
        )
    }
)

HEALTH = record(
    {
        "status": {"const": "ready"},
        "release": {"type": "string"},
        "run": {"type": "string"},
        "model": record({"fingerprint": {"type": "string"}, "checksums": mapping({"type": "string"})}),
        "labels": COUNT,
        "event_types": COUNT,
        "waiting": COUNT,
    }
)

PROBLEM = record(
    {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    }
)

REFUSALS = {
    408: "The request did not arrive in time.",
    409: "Two sequences have the same id.",
    413: "The request is larger than allowed.",
    415: "The request is no JSON by its content type.",
    421: "The request names another host.",
    422: "The content cannot be used; detail has the place, the value and what is allowed.",
    503: "Too many requests are waiting; Retry-After says when to come back.",
    504: "The answer took longer than allowed.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that an endpoint may answer with."""
    return {
        status: {"description": REFUSALS[status], "content": {PROBLEM_TYPE: {"schema": PROBLEM}}}
        for status in statuses
    }


def answers(schema: Schema, description: str) -> dict[int | str, dict[str, Any]]:
    """The answer of an endpoint."""
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}}


def question(fields: Fields, labels: tuple[str, ...]) -> dict[str, Any]:
    """What `/predict` and `/explain` take: sequences, and the labels to tell of."""
    label = {
        "name": "label",
        "in": "query",
        "required": False,
        "description": "A label to tell of; repeat for more. Default: all.",
        "schema": {"type": "array", "items": {"enum": list(labels)}},
    }
    body = {"required": True, "content": {"application/json": {"schema": request_schema(fields)}}}
    return {"parameters": [label], "requestBody": body}
