"""Blocks so small that the data of tests are read in many, as large data are."""

from collections.abc import Callable, Iterator

import pytest

from eventcargo import binary_matrix, ragged
from eventcargo.models.linear import hessian
from eventcargo.rules import occurrences


def in_blocks_of(size: int) -> Callable[[], Iterator[None]]:
    """A fixture for a `conftest.py`: all tests of its folder look at so many entries at once."""

    @pytest.fixture(autouse=True, scope="module")
    def small_blocks() -> Iterator[None]:
        binary_matrix._ones.cache_clear()
        with pytest.MonkeyPatch.context() as patch:
            for module in (ragged, binary_matrix, hessian, occurrences):
                patch.setattr(module, "BLOCK", size)
            yield
        binary_matrix._ones.cache_clear()

    return small_blocks
