from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eventcargo import EventDataset, Vocabulary
from eventcargo.deadline import NEVER
from eventcargo.engines import Local
from eventcargo.models.linear.fit import FitWork, LabelFits
from eventcargo.models.linear.screening import Screening, screen
from eventcargo.models.linear.settings import LinearConfig
from eventcargo.scratch import is_mapped
from eventcargo.simulation import simulate

LABELS = 3


def all_known() -> EventDataset:
    return simulate("follows", sequences=500, labels=LABELS, seed=1).data


def partly_known() -> EventDataset:
    """The first two labels are known for the same sequences, the last for others."""
    data = all_known()
    carried = data.label_matrix().toarray() > 0
    asked = np.arange(len(data)) % 3 > 0
    known = np.column_stack([asked, asked, ~asked]) | carried
    known[:, :2] |= carried[:, :2].any(axis=1, keepdims=True)
    return data.knowing(known)


@pytest.mark.parametrize("make", [all_known, partly_known])
def test_a_label_is_fitted_to_the_same_bytes_on_columns_that_stay_on_disk(make: Any, tmp_path: Path) -> None:
    data = make()
    screening = Screening(data, Vocabulary.from_dataset(data), 64, LinearConfig(), seed=0)
    with Local(1, tmp_path / "work") as engine:
        made = LabelFits(screening, screen(screening, engine, NEVER))
    work = FitWork(tmp_path / "fits", data.fingerprint, screening.config, 0, 1)
    (tmp_path / "inputs").mkdir()
    work.save(made, tmp_path / "inputs")
    opened = work.open(tmp_path / "inputs")
    for place in range(LABELS):
        made.fit(place, NEVER, 1).write(tmp_path / "made.npz")
        opened.fit(place, NEVER, 1).write(tmp_path / "opened.npz")
        assert (tmp_path / "made.npz").read_bytes() == (tmp_path / "opened.npz").read_bytes()
    assert opened._shared.keys() == made._shared.keys() == ({0, 1, 2} if data.known is None else {0, 1})
    assert (opened.candidates.X is None) == (data.known is None)  # the matrix by rows is for labels alone
    for part in opened._shared.values():
        for matrix in (part.whole, part.fitted, part.held_out):
            assert is_mapped(matrix.by_column.numbers)
    assert not is_mapped(made._shared[0].whole.by_column.numbers)
