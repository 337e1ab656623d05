"""Labels choose among features that are looked at part by part as they would among all at once."""

from typing import Any

import numpy as np
import pytest

from eventcargo import Vocabulary
from eventcargo.models.linear import row_features
from eventcargo.models.linear.screening import Screening
from eventcargo.models.linear.settings import LinearConfig

from tests.models.linear.test_fit import all_known, partly_known


@pytest.mark.parametrize("make", [all_known, partly_known])
@pytest.mark.parametrize("family", ["presence", "ordered", "gap"])
def test_parts_change_nothing(family: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, config = make(), LinearConfig(max_features=1, alpha=0.9)
    screening = Screening(data, Vocabulary.from_dataset(data), 64, config, seed=0)
    whole = screening.features(family)
    monkeypatch.setattr(row_features, "AT_ONCE", 500)
    monkeypatch.setattr(row_features, "FEW_SLOTS", 0)
    divided = screening.features(family)
    assert np.array_equal(whole.names, divided.names)
    assert np.array_equal(whole.matrix.starts, divided.matrix.starts)
    assert np.array_equal(whole.matrix.numbers, divided.matrix.numbers)
    if family == "presence":
        assert whole.selected is divided.selected is None
        return
    assert whole.selected is not None
    assert divided.selected is not None
    assert [each.tolist() for each in whole.selected] == [each.tolist() for each in divided.selected]
    assert max(map(len, whole.selected)) == 1
