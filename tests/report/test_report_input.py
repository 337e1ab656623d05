from dataclasses import replace

import pytest

from eventcargo.errors import DataError

from .material import Judged, garage


def test_a_verdict_of_an_unknown_level_is_refused() -> None:
    with pytest.raises(DataError, match=r"'brake' is 'sure'; it must be one of trust, caution, doubt"):
        replace(garage(), verdicts={"brake": Judged("sure")})
