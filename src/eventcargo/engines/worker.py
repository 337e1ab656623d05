"""A worker process of the local engine: reads units from its standard input, writes answers to its output.

It is started as a program of its own, `python -m eventcargo.engines.worker`, so that scripts need no guard
around their main part, and takes its search path from the process that started it.
"""

import os
import pickle
import signal
import sys
from contextlib import suppress
from typing import Any, BinaryIO

BEGUN = "begun"
"""The first answer to a unit. A worker that dies before it was killed by something else."""


def main() -> None:
    """Do units until the input ends, which it also does when the driver is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what an interrupt means
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not mix with answers
    sys.path[:] = pickle.load(asked)
    with suppress(BrokenPipeError), answers:  # the driver is gone
        while _answer(asked, answers):
            pass


def _answer(asked: BinaryIO, answers: BinaryIO) -> bool:
    """Answer one request; whether there may be more."""
    try:
        work, unit = pickle.load(asked)
    except EOFError:
        return False
    except Exception as error:  # the class of the work cannot be imported here
        _send(error, answers)
        return False
    _send(BEGUN, answers)
    try:
        _send(work.timed(unit), answers)
    except BrokenPipeError:
        return False
    except Exception as error:  # it is the driver's to handle
        _send(error, answers)
    return True


def _send(result: Any, answers: BinaryIO) -> None:
    try:
        answer = pickle.dumps(result)
    except Exception:  # some exceptions cannot be sent
        answer = pickle.dumps(RuntimeError(f"{type(result).__name__}: {result}"))
    answers.write(answer)
    answers.flush()


if __name__ == "__main__":
    main()
