"""The service keeps what its own description promises, for requests that fit it and for those that do not."""

from collections import Counter
from pathlib import Path

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from eventcargo.service import ServeConfig, ServedRun, create_app
from eventcargo.service.schema import request_schema
from eventcargo.service.sequences import Fields
from eventcargo.service.work_queue import WorkQueue

EXAMPLES = 15

ANSWERED = {200, 404, 405, 409, 415, 422}


@pytest.mark.parametrize("name", ["chain", "clinic"])
def test_answers_and_refusals_are_as_described(
    name: str, request: pytest.FixtureRequest, work: WorkQueue
) -> None:
    served: ServedRun = request.getfixturevalue(name)
    app = create_app(served, ServeConfig(max_sequences=10, max_events=20), work)
    headers, seen = {"Host": "localhost"}, Counter[int]()
    described = schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)
    for found in described.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @described.include(path=operation.path).given(case=operation.as_strategy())
        def check(case: schemathesis.Case) -> None:
            seen[case.call_and_validate(headers=headers).status_code] += 1

        check()
    assert set(seen) <= ANSWERED
    assert seen[200] > EXAMPLES
