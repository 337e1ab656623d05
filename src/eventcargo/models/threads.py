"""Threads of torch: where several of them gain nothing, or change the last digits of a result."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Limit torch to one thread within the block, because sums in another order differ in the last digits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if wanted else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
