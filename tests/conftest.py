"""Small data sets for all tests; laws are tried on the same examples everywhere, without a clock."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from eventcargo import EventDataset, EventSequence

settings.register_profile(
    "same everywhere",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of the code
)
settings.load_profile("same everywhere")


FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One page of a browser for all tests; starting one takes longer than they do."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None and os.environ.get("CI"):
        pytest.fail("no Chromium or Playwright: install the package chromium and the extra dev")
    if program is None:
        pytest.skip("no Chromium or Playwright")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, headless=True, args=FLAGS)
        yield browser.new_page()
        browser.close()


@pytest.fixture(scope="session")
def chain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run on 300 sequences, with their tables beside it in `chain`; not to be changed."""
    from .service.runs import make_chain

    return make_chain(tmp_path_factory.mktemp("served"))


@pytest.fixture
def tiny() -> EventDataset:
    """Four sequences by hand: repeated events, two labels at once, no label, no event."""
    return EventDataset.from_sequences(
        [
            EventSequence("car2", ("b", "a", "b"), (0.0, 1.0, 2.5), ("brake", "fuel")),
            EventSequence("car1", ("a",), (5.0,), ()),
            EventSequence("car3", (), (), ("brake",)),
            EventSequence("car4", ("c", "a"), (1.0, 1.0), ("brake",)),
        ]
    )


@pytest.fixture
def hundred() -> EventDataset:
    """A hundred sequences of one to five events; every third carries a label."""
    return EventDataset.from_sequences(
        [
            EventSequence(
                f"s{i:03}",
                tuple(f"e{(i * j) % 7}" for j in range(1 + i % 5)),
                tuple(float(j) for j in range(1 + i % 5)),
                ("odd",) if i % 3 == 0 else (),
            )
            for i in range(100)
        ]
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say aloud what could not be tested here."""
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = {str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)}
    for reason in sorted(reason for reason in reasons if "NOT TESTED" in reason):
        terminalreporter.write_line(reason, red=True, bold=True)
