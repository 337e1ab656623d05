"""Signals that stop a run: recorded at once, obeyed after the current step."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """A signal stopped a run, after its state was written."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class Listener:
    """Within its block, records SIGINT and SIGTERM in `heard` (0: none) instead of letting Python obey.

    Only the main thread receives signals; elsewhere, and if `active` is false, nothing changes.
    """

    def __init__(self, active: bool) -> None:
        self._active = active and threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        self.heard = 0

    def __enter__(self) -> "Listener":
        if self._active:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 (the signal module gives it)
        self.heard = number
