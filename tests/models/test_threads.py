from collections.abc import Iterator

import pytest
import torch

from eventcargo.models.threads import one_thread


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("wanted", "expected"), [(True, 1), (False, 2)])
def test_torch_runs_on_one_thread_within_the_block_where_that_is_wanted(wanted: bool, expected: int) -> None:
    with one_thread(wanted):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 2


def test_threads_are_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert torch.get_num_threads() == 2
