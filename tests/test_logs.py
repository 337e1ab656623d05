import logging
import subprocess
import sys
import time

import pytest

from eventcargo.logs import LOGGER, duration, shown_logs, timed


def test_a_block_is_told_at_its_beginning_and_end(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "eventcargo"), timed(LOGGER, "fuse"):
        pass
    levels = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert levels == [("DEBUG", "fuse: begins"), ("INFO", "fuse: done in 0.0 s")]


def test_a_block_that_fails_is_told_with_its_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "eventcargo"), pytest.raises(ValueError), timed(LOGGER, "fuse"):
        raise ValueError
    assert caplog.messages == ["fuse: stopped after 0.0 s by ValueError"]


@pytest.mark.parametrize(
    ("seconds", "shown"), [(3.21, "3.2 s"), (59.94, "59.9 s"), (59.96, "1 min 00 s"), (3725, "62 min 05 s")]
)
def test_a_duration_is_for_people(seconds: float, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + seconds)
    assert duration(1000.0) == shown


def test_logs_are_shown_until_the_block_ends() -> None:
    seen: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())  # type: ignore[method-assign]
    with shown_logs(handler, logging.INFO):
        LOGGER.info("inside")
        LOGGER.debug("too fine")
    LOGGER.error("outside")
    assert seen == ["inside"]


def test_a_program_that_asks_for_no_logs_sees_none_not_even_errors() -> None:
    code = "import eventcargo, logging; logging.getLogger('eventcargo.io').error('x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
