"""NameIndex: numbers of names in the order in which they are first seen, one chunk of names after another."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class NameIndex:
    """Names and their numbers.

    >>> index = NameIndex()
    >>> index.number(pa.array(["b", "a"])).tolist(), index.number(pa.array(["c", "a"])).tolist()
    ([0, 1], [2, 1])
    """

    def __init__(self) -> None:
        self.names = pa.array([], pa.large_string())

    def __len__(self) -> int:
        return len(self.names)

    def number(self, names: pa.Array) -> NDArray[np.int32]:
        """The numbers of distinct names; unknown names get the next numbers."""
        names = names.cast(pa.large_string())
        found = pc.index_in(names, value_set=self.names)
        new = pc.is_null(found).to_numpy(zero_copy_only=False)
        numbers: NDArray[np.int32] = found.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)
        numbers[new] = len(self.names) + np.arange(new.sum(), dtype=np.int32)
        self.names = pa.concat_arrays([self.names, names.filter(pa.array(new))])
        return numbers
