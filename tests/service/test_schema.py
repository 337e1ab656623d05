"""The service keeps what its own description promises, for requests that fit it and for those that do not."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from eventcargo.service import ServeConfig, ServedRun, create_app
from eventcargo.service.work_queue import WorkQueue

LOCAL = {"Host": "localhost"}
SOME = settings(
    max_examples=8, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
ANSWERED = {
    GenerationMode.POSITIVE: {200, 409},
    GenerationMode.NEGATIVE: {200, 405, 409, 415, 422},
}


def check(run: ServedRun, work: WorkQueue, path: str, method: str, mode: GenerationMode) -> set[int]:
    """Ask as the description says, or against it; every check of schemathesis holds. The statuses seen."""
    app = create_app(run, ServeConfig(max_sequences=8, max_events=12), work)
    operation = schemathesis.openapi.from_asgi("/openapi.json", app, headers=LOCAL)[path][method]
    seen = set[int]()

    @SOME
    @given(operation.as_strategy(generation_mode=mode))
    def answers(case: Any) -> None:
        seen.add(case.call_and_validate(headers=LOCAL).status_code)

    answers()
    assert seen <= ANSWERED[mode]
    return seen


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_answers_and_refusals_are_as_described(
    chain: ServedRun, work: WorkQueue, path: str, mode: GenerationMode
) -> None:
    assert (200 if mode is GenerationMode.POSITIVE else 422) in check(chain, work, path, "POST", mode)


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_answers_about_a_cohort_are_as_described(
    clinic: ServedRun, work: WorkQueue, mode: GenerationMode
) -> None:
    assert (200 if mode is GenerationMode.POSITIVE else 422) in check(clinic, work, "/explain", "POST", mode)


@pytest.mark.parametrize("path", ["/labels", "/health"])
def test_facts_are_as_described(chain: ServedRun, work: WorkQueue, path: str) -> None:
    assert check(chain, work, path, "GET", GenerationMode.POSITIVE) == {200}
