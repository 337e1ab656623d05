import os
import signal
import threading

import pytest

from eventcargo.models.training.interrupt import Listener


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_and_not_obeyed(number: int) -> None:
    with Listener(active=True) as listener:
        assert listener.heard == 0
        os.kill(os.getpid(), number)
        assert listener.heard == number


def test_signals_mean_what_they_meant_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Listener(active=True):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_an_inactive_listener_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Listener(active=False):
        assert signal.getsignal(signal.SIGINT) == before


def test_outside_of_the_main_thread_nothing_is_heard() -> None:
    before, during = signal.getsignal(signal.SIGINT), []

    def listen() -> None:
        with Listener(active=True):
            during.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert during == [before]
