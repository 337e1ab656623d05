"""Features on disk are those in memory, and stay on disk until they are used."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from eventcargo.models.linear.screening import read_matrix, write_matrix


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_a_matrix_of_a_folder_is_mapped_and_the_same(
    kind: type[sp.csr_array] | type[sp.csc_array], tmp_path: Path
) -> None:
    dense = np.random.default_rng(0).integers(0, 3, (30, 20)).astype(np.float32)
    write_matrix(kind(dense), tmp_path / "matrix")
    found = read_matrix(kind, tmp_path / "matrix")
    assert isinstance(found, kind)
    assert np.array_equal(found.toarray(), dense)
    assert is_mapped(found.data)
    assert is_mapped(found.indices)


def is_mapped(array: object) -> bool:
    """Whether an array is a file, or a view of one."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_a_matrix_without_entries_is_read(tmp_path: Path) -> None:
    write_matrix(sp.csr_array((4, 0)), tmp_path / "matrix")
    found = read_matrix(sp.csr_array, tmp_path / "matrix")
    assert (found.shape, found.nnz) == ((4, 0), 0)
