"""The command `serve`: a program of its own, asked over HTTP, stopped and killed."""

import http.client
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from ..service.runs import sequences_of
from .program import run, run_json

START = [sys.executable, "-c", "from eventcargo.cli import main; main()", "serve"]
PATIENCE = 60.0


class Service:
    """A service in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [*START, str(folder), "--json", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        patience = threading.Timer(PATIENCE, self.process.kill)
        patience.start()
        line = self.process.stdout.readline()
        patience.cancel()
        assert line, self.end()
        self.told = json.loads(line)
        self.port = urlsplit(self.told["address"]).port

    def ask(self, path: str, content: Any = None, body: bytes | None = None) -> tuple[int, Any]:
        """Status and content of an answer; a POST if something is sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = body if content is None else json.dumps(content).encode()
        kind = {"Content-Type": "application/json"}
        connection.request("GET" if sent is None else "POST", path, sent, kind)
        answer = connection.getresponse()
        status, text = answer.status, answer.read()
        connection.close()
        return status, json.loads(text)

    def end(self, number: int = signal.SIGTERM) -> str:
        """Stop the process; what it wrote to standard error."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=PATIENCE)[1]


@pytest.fixture
def start(chain_run: Path) -> Iterator[Callable[..., Service]]:
    """Start services of the run; they end with the test."""
    begun: list[Service] = []

    def begin(*options: str) -> Service:
        begun.append(Service(chain_run, *options))
        return begun[-1]

    yield begin
    for service in begun:
        if service.process.poll() is None:
            service.end(signal.SIGKILL)


def test_http_command_line_and_python_give_the_same_figures_and_a_kill_loses_nothing(
    start: Callable[..., Service], chain_run: Path, tmp_path: Path
) -> None:
    sequences = sequences_of(chain_run, 20)
    rows = [
        {"sequence_id": one["id"], "event": event["name"], "time": event["time"]}
        for one in sequences
        for event in one["events"]
    ]
    table = tmp_path / "new.parquet"
    pl.DataFrame(rows).write_parquet(table)
    service = start("--port", "0")
    status, told = service.ask("/explain", sequences)
    assert (status, service.told["status"], service.told["run"]) == (200, "ready", "run")
    asked = [{"sequence_id": one["id"], **one["probabilities"]} for one in told["sequences"]]
    causes = [{"sequence_id": one["id"], **cause} for one in told["sequences"] for cause in one["causes"]]
    assert asked == run_json("predict", chain_run, table)["probabilities"]
    assert causes == run_json("explain", chain_run, table)["causes"]
    assert len(causes) > 5
    service.end(signal.SIGKILL)
    again = start("--port", str(service.port))
    assert again.ask("/explain", sequences) == (200, told)


def test_a_request_in_flight_is_answered_before_the_service_ends(
    start: Callable[..., Service], chain_run: Path
) -> None:
    service, answers = start("--port", "0"), []
    (one,) = sequences_of(chain_run, 1)
    many = [{**one, "id": str(at)} for at in range(600)]
    asking = threading.Thread(target=lambda: answers.append(service.ask("/explain?label=L000", many)))
    asking.start()
    while service.ask("/health")[1]["waiting"] == 0 and asking.is_alive():
        time.sleep(0.005)
    assert asking.is_alive()
    assert service.end() == ""
    asking.join()
    assert service.process.returncode == 0
    status, told = answers[0]
    assert (status, len(told["sequences"])) == (200, 600)


def test_a_large_request_is_refused_over_a_connection_and_the_next_is_answered(
    start: Callable[..., Service], chain_run: Path
) -> None:
    service = start("--port", "0", "--access-log")
    status, told = service.ask("/predict", body=b"[" + b" " * 12_000_000)
    assert (status, told["detail"][:35]) == (413, "the request has more than 10,000,00")
    assert service.ask("/predict", sequences_of(chain_run, 1))[0] == 200
    raw = socket.create_connection(("127.0.0.1", service.port))
    raw.sendall(b"nonsense\r\n\r\n")
    assert raw.recv(100).startswith(b"HTTP/1.1 400")
    raw.close()
    logged = [json.loads(line) for line in service.end(signal.SIGINT).splitlines()]
    assert [(one["path"], one["status"]) for one in logged] == [("/predict", 413), ("/predict", 200)]
    assert service.process.returncode == 0


def test_a_run_that_is_refused_elsewhere_is_refused_before_listening(chain_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(chain_run, copy)
    (copy / "run.json").write_text((copy / "run.json").read_text().replace('"version": 3', '"version": 2'))
    assert "has version 2 of another release" in run("serve", copy, code=1).stderr
    shutil.copy(chain_run / "run.json", copy)
    (copy / "model" / "config.json").write_text("{}")
    assert "config.json" in run("serve", copy, code=1).stderr
    shutil.rmtree(copy / "model")
    assert "had no time to fit a model" in run("serve", copy, code=1).stderr
    assert "holds no run" in run("serve", tmp_path / "nowhere", code=1).stderr


def test_a_port_in_use_is_refused(chain_run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = run("serve", chain_run, "--port", str(port), code=1).stderr
    assert f"--host 127.0.0.1 --port {port}: Address already in use; choose another" in told


def test_an_address_that_others_reach_is_warned_of(chain_run: Path) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = run("serve", chain_run, "--host", "0.0.0.0", "--port", port, code=1).stderr
    assert "warning: --host 0.0.0.0 can be reached from other machines" in told


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--port", "70000", "--port 70000: use a whole number from 0 to 65,535"),
        ("--timeout", "soon", "--timeout soon: use a duration"),
        ("--max-request-size", "0", "--max-request-size 0.0: use a number above 0"),
        ("--max-waiting", "0", "--max-waiting 0: use a whole number of at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(option: str, value: str, said: str) -> None:
    assert said in run("serve", "nowhere", option, value, code=1).stderr


def test_without_the_packages_of_the_extra_it_is_named(chain_run: Path) -> None:
    hide = "import sys; sys.modules['uvicorn'] = None; from eventcargo.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", hide, "serve", str(chain_run)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "error: serve needs uvicorn; install it with pip install 'eventcargo[serve]'\n"
