"""Services of small runs, asked within this process; a thread of their own works on what is asked."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from eventcargo.discovery.data_source import source_of
from eventcargo.service import ServeConfig, ServedRun, create_app
from eventcargo.service.work_queue import WorkQueue

from .runs import make_clinic

Ask = Callable[..., TestClient]

PATIENCE = 60.0
"""Seconds that a thread has to end."""


def served(run: Path) -> ServedRun:
    """A run as the command serves it."""
    source = source_of(run)
    return ServedRun.load(run, values=source.values, parents=source.parents or None)


@pytest.fixture(scope="session")
def clinic_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a cohort with dates, numbers, attributes and exclusions."""
    return make_clinic(tmp_path_factory.mktemp("clinic"))


@pytest.fixture(scope="session")
def chain(chain_run: Path) -> ServedRun:
    return served(chain_run)


@pytest.fixture(scope="session")
def clinic(clinic_run: Path) -> ServedRun:
    return served(clinic_run)


@pytest.fixture(scope="session")
def work() -> Iterator[WorkQueue]:
    """A queue whose work is done by a thread."""
    queue = WorkQueue(8)
    worker = threading.Thread(target=queue.run, daemon=True)
    worker.start()
    yield queue
    queue.stop()
    worker.join(PATIENCE)
    assert not worker.is_alive()


@pytest.fixture
def client(work: WorkQueue) -> Ask:
    """A client of the service of a run with some settings."""

    def ask(run: ServedRun, **settings: object) -> TestClient:
        app = create_app(run, ServeConfig(**settings), work)  # type: ignore[arg-type]
        return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)

    return ask
