import asyncio
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from starlette.testclient import TestClient

from eventcargo.deadline import Deadline
from eventcargo.service import ServedRun
from eventcargo.service.gate import HEADERS, Gate
from eventcargo.service.work_queue import GRACE, WorkQueue

from .runs import sequences_of

Ask = Callable[..., TestClient]
ONE = {"id": "a", "events": [{"name": "E00003", "time": 0}]}


def refusal(answer: Any, status: int) -> str:
    """What an answer refuses, told as problem details."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert (content["type"], content["status"]) == ("about:blank", status)
    return str(content["detail"])


def test_a_sequence_is_answered(client: Ask, chain: ServedRun) -> None:
    answer = client(chain).post("/explain?label=L000", json=ONE)
    (cause,) = answer.json()["sequences"][0]["causes"]
    assert (cause["event"], cause["first_time"]) == ("E00003", 0.0)
    assert answer.headers["content-type"] == "application/json"
    assert HEADERS.items() <= dict(answer.headers).items()


def test_content_that_cannot_be_used_is_refused(client: Ask, chain: ServedRun) -> None:
    service = client(chain)
    assert "events[0].time is 'x'" in refusal(
        service.post("/predict", json={"id": "a", "events": [{"name": "b", "time": "x"}]}), 422
    )
    twice = b'{"id": "a", "id": "b", "events": []}'
    kind = {"content-type": "application/json"}
    assert "'id' occurs twice" in refusal(service.post("/predict", content=twice, headers=kind), 422)
    assert "did you mean 'L001'" in refusal(service.post("/predict?label=L00", json=ONE), 422)
    assert "needs its own id" in refusal(service.post("/predict", json=[ONE, ONE]), 409)


def test_a_request_larger_than_allowed_is_refused(client: Ask, chain: ServedRun) -> None:
    service, events = client(chain), [{"name": "E00003" * 20, "time": 0}] * 90_000
    assert len(json.dumps(events)) > 10_000_000
    assert "more than 10,000,000 bytes" in refusal(
        service.post("/predict", json={"id": "a", "events": events}), 413
    )
    edge = json.dumps(ONE).encode()
    kind = {"content-type": "application/json"}
    tight = client(chain, max_request_size=len(edge) / 1e6)
    assert tight.post("/predict", content=edge, headers=kind).status_code == 200
    assert f"more than {len(edge):,} bytes" in refusal(
        tight.post("/predict", content=edge + b" ", headers=kind), 413
    )


def test_a_hundred_thousand_events_are_refused_or_answered(client: Ask, chain: ServedRun) -> None:
    many = {"id": "a", "events": [{"name": "E00003", "time": at} for at in range(100_000)]}
    assert "events has 100,000 events; send at most 20,000" in refusal(
        client(chain).post("/predict", json=many), 422
    )
    answer = client(chain, max_events=100_000).post("/predict", json=many)
    assert answer.status_code == 200
    assert "longer than" in answer.json()["notes"][0]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""]
)
def test_another_content_type_is_refused(client: Ask, chain: ServedRun, kind: str) -> None:
    answer = client(chain).post("/predict", content=b"{}", headers={"content-type": kind})
    assert f"the content type is {kind or 'not given'}; send application/json" in refusal(answer, 415)


def test_json_in_utf_8_may_say_so(client: Ask, chain: ServedRun) -> None:
    kind = {"content-type": 'Application/JSON; charset="UTF-8"'}
    assert client(chain).post("/predict", content=json.dumps(ONE).encode(), headers=kind).status_code == 200


def test_an_answer_that_takes_too_long_is_refused(client: Ask, chain: ServedRun, work: WorkQueue) -> None:
    def long() -> bytes:
        time.sleep(GRACE + 0.5)
        return b""

    busy = threading.Thread(target=lambda: asyncio.run(work.do(long, Deadline.after(60))))
    busy.start()
    answer = client(chain, timeout="10ms").post("/explain", json=ONE)
    busy.join()
    assert "took longer than 10ms" in refusal(answer, 504)


def test_a_full_queue_says_when_to_come_back(client: Ask, chain: ServedRun, work: WorkQueue) -> None:
    service = client(chain)
    places = [work.place() for _ in range(8)]
    for place in places:
        place.__enter__()
    answer = service.post("/predict", json=ONE)
    assert service.get("/health").json()["waiting"] == 8
    for place in places:
        place.__exit__(None, None, None)
    assert "8 requests are waiting already" in refusal(answer, 503)
    assert answer.headers["retry-after"] == "1"
    assert service.post("/predict", json=ONE).status_code == 200
    assert service.get("/health").json()["waiting"] == 0


def test_an_error_of_ours_tells_nothing_of_the_inside(
    client: Ask, chain: ServedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServedRun, "read", lambda *_: 1 / 0)
    assert refusal(client(chain).post("/predict", json=ONE), 500).startswith("an error of the service itself")


def test_other_paths_and_methods_are_refused_as_problems(client: Ask, chain: ServedRun) -> None:
    service = client(chain)
    assert "GET /docs lists" in refusal(service.get("/admin"), 404)
    answer = service.get("/predict")
    assert "use POST" in refusal(answer, 405)
    assert answer.headers["allow"] == "POST"


def test_health_names_run_release_and_model(client: Ask, chain: ServedRun, chain_run: Path) -> None:
    told = client(chain).get("/health").json()
    assert (told["status"], told["run"], told["labels"], told["event_types"]) == ("ready", "run", 2, 30)
    assert told["model"]["checksums"] == json.loads((chain_run / "run.json").read_text())["model"]


def test_labels_are_listed(client: Ask, chain: ServedRun) -> None:
    assert client(chain).get("/labels").json() == chain.labels()


HOSTS = {
    "localhost:8000": 200,
    "LOCALHOST": 200,
    "127.0.0.1": 200,
    "[::1]:8000": 200,
    "10.1.2.3:80": 200,
    "causes.example": 200,
    "evil.example": 421,
    "localhost.evil.example": 421,
    "127.0.0.1.evil.example": 421,
    "": 421,
}


@pytest.mark.parametrize("host", HOSTS)
def test_only_names_of_this_service_are_answered(client: Ask, chain: ServedRun, host: str) -> None:
    answer = client(chain, allow_host=("causes.example",)).get("/health", headers={"host": host})
    assert answer.status_code == HOSTS[host]
    assert HEADERS.items() <= dict(answer.headers).items()


def test_a_request_that_names_two_hosts_is_not_ours() -> None:
    gate = Gate(lambda *_: None)  # type: ignore[arg-type, return-value]
    ours, strange = (b"host", b"localhost"), (b"host", b"evil.example")
    assert gate._is_ours({"headers": [ours]})
    for headers in ([ours, strange], [strange, ours], [ours, ours], []):
        assert not gate._is_ours({"headers": headers})


def test_pages_of_others_may_not_read_answers(client: Ask, chain: ServedRun) -> None:
    service, stranger = client(chain), {"origin": "https://evil.example"}
    asked = {**stranger, "access-control-request-method": "POST"}
    for answer in (service.options("/predict", headers=asked), service.get("/labels", headers=stranger)):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_requests_are_logged_without_their_content(
    client: Ask, chain: ServedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    client(chain, access_log=True).post("/predict?label=secret", json=ONE)
    client(chain).get("/health")
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["method"], told["path"], told["status"]) == ("POST", "/predict", 422)


def test_memory_stays_flat(client: Ask, chain: ServedRun, chain_run: Path) -> None:
    service, sequences, process = client(chain), sequences_of(chain_run, 3), psutil.Process(os.getpid())
    for _ in range(50):
        service.post("/explain", json=sequences)
    before = process.memory_info().rss
    for _ in range(200):
        assert service.post("/explain", json=sequences).status_code == 200
    assert process.memory_info().rss - before < 20_000_000
