"""The local engine: processes on this machine, or the calling process where starting some does not pay."""

import os
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from threadpoolctl import threadpool_limits

from eventcargo.engines.engine import MOST_DEATHS, MOST_IDLE_DEATHS, MOST_POISONOUS, Engine, poisonous
from eventcargo.engines.work import Timed, Work
from eventcargo.engines.worker import BEGUN

START_SECONDS = 6.0
"""Workers are started if they save more than this, by processor time, which other programs do not change.
They load Python, the libraries and the inputs first."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A worker has one core."""


class Local(Engine):
    """Up to `workers` processes; 0: one per core, started once what is left to do would take longer alone.

    A worker that dies is replaced, and its unit is done again. One worker is the calling process itself.
    """

    def __init__(self, workers: int = 0, folder: Path | None = None) -> None:
        self.workers, self.folder = workers, folder
        self._idle = list[_Worker]()

    @property
    def places(self) -> int:
        return self.workers or os.cpu_count() or 1

    def run(self, work: Work[Any], units: Sequence[int]) -> Iterator[int]:
        left = deque(work.missing(units))
        most = min(self.places, work.most_workers or self.places)
        if most > 1 and len(left) > 1 and (self.workers or work.is_long):
            yield from self._run_apart(work, left, most)
            return
        began, done = time.process_time(), 0
        while left:
            with threadpool_limits(1, "blas"):
                unit = work(left.popleft())
            yield unit
            done += 1
            to_come = len(left) * (time.process_time() - began) / done
            if not self.workers and len(left) > 1 and to_come * (1 - 1 / most) > START_SECONDS:
                yield from self._run_apart(work, left, most)

    def _run_apart(self, work: Work[Any], left: deque[int], most: int) -> Iterator[int]:
        work.share()
        crew = _Crew(work, left, self._idle)
        try:
            yield from crew.run(min(most, len(left)))
        finally:
            self._idle = crew.dismiss()
            self.elsewhere += crew.taken

    def close(self) -> None:
        while self._idle:
            self._idle.pop().stop()


@contextmanager
def engine_or(engine: Engine | None, workers: int = 0, folder: Path | None = None) -> Iterator[Engine]:
    """A given engine, or else a local one for this block, whose files are deleted at its end."""
    if engine is not None:
        yield engine
        return
    with Local(workers, folder) as own:
        yield own
        own.discard()


class _Crew:
    """The workers of one work: a thread for each gives it one unit after the other."""

    def __init__(self, work: Work[Any], left: deque[int], idle: list["_Worker"]) -> None:
        self._work, self._left, self._idle = work, left, idle
        self._busy, self._threads = set[_Worker](), list[threading.Thread]()
        self._deaths, self._idle_deaths, self._poisonous = Counter[int](), Counter[int](), list[int]()
        self._results = SimpleQueue[int | BaseException | None]()
        self._lock, self._is_over = threading.Lock(), False
        self.taken = Timed()

    def run(self, n_workers: int) -> Iterator[int]:
        self._threads += [threading.Thread(target=self._serve, daemon=True) for _ in range(n_workers)]
        for thread in self._threads:
            thread.start()
        running = n_workers
        while running:
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result
        if self._poisonous:
            raise poisonous(self._poisonous, self._work)

    def dismiss(self) -> list["_Worker"]:
        """Stop the workers that are still at work; the others wait for the next work."""
        with self._lock:
            self._is_over = True
            for worker in self._busy:
                worker.kill()
        for thread in self._threads:
            thread.join()
        return self._idle

    def _serve(self) -> None:
        """Let one worker do units, a new one in place of one that dies, until there are none left."""
        try:
            while (unit := self._next()) is not None:
                if self._do(unit):
                    self._results.put(unit)
            self._results.put(None)
        except BaseException as error:
            self._results.put(error)

    def _next(self) -> int | None:
        with self._lock:
            is_over = self._is_over or len(self._poisonous) >= MOST_POISONOUS
            return None if is_over or not self._left else self._left.popleft()

    def _do(self, unit: int) -> bool:
        """Whether a unit was done; one whose worker died waits for another try."""
        worker = self._hired()
        try:
            taken = worker.do(self._work, unit)
        except _DiedError as died:
            self._release(worker, is_alive=False)
            self._note_death(unit, is_fault=not isinstance(died, _IdleDiedError))
            return False
        except BaseException:
            self._release(worker)
            raise
        self._release(worker)
        with self._lock:
            self.taken += taken
        return True

    def _hired(self) -> "_Worker":
        with self._lock:
            worker = self._alive() or _Worker()
            self._busy.add(worker)
            return worker

    def _alive(self) -> "_Worker | None":
        """An idle worker; one that died meanwhile is no fault of a unit."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            worker.stop()
        return None

    def _release(self, worker: "_Worker", is_alive: bool = True) -> None:
        with self._lock:
            self._busy.discard(worker)
            if is_alive and not self._is_over:
                self._idle.append(worker)
                return
        worker.stop()

    def _note_death(self, unit: int, is_fault: bool) -> None:
        """Put a unit back, unless too many workers died of it, or too many before they could begin."""
        with self._lock:
            deaths, most = (self._deaths, MOST_DEATHS) if is_fault else (self._idle_deaths, MOST_IDLE_DEATHS)
            deaths[unit] += 1
            if deaths[unit] < most:
                self._left.appendleft(unit)
            else:
                self._poisonous.append(unit)


class _DiedError(Exception):
    """The worker is gone."""


class _IdleDiedError(_DiedError):
    """The worker was gone before it began with a unit."""


class _Worker:
    """A process that does units; see `worker`."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "eventcargo.engines.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
        )
        self._send(sys.path)

    def do(self, work: Work[Any], unit: int) -> Timed:
        """Let the process do a unit; raises what it raises, or `_DiedError`."""
        self._send((work, unit))
        try:
            begun = self._answer()
        except _DiedError:
            raise _IdleDiedError from None
        assert begun == BEGUN
        answer = self._answer()
        assert isinstance(answer, Timed)
        return answer

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            answer = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            raise _DiedError from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # then the answer is missing, too
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()

    def stop(self) -> None:
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
