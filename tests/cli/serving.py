"""The command `serve` as a program of its own, asked over HTTP."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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


@contextmanager
def serving(run: Path) -> Iterator[Service]:
    """A service of a run that ends with the block."""
    service = Service(run, "--port", "0")
    try:
        yield service
    finally:
        service.end(signal.SIGKILL)
