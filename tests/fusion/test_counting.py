import numpy as np
import polars as pl
import pytest

from eventcargo import ConfigError, DataError
from eventcargo.fusion import counting
from eventcargo.fusion.counting import GRAINS, Keys, Numbering, Sums


def frame(*rows: tuple[str, str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["test", "polarity", "label", "event"], orient="row")


def test_a_name_keeps_its_number() -> None:
    numbering = Numbering()
    first = numbering.number(pl.Series(["b", "a"]))
    again = numbering.number(pl.Series(["c", "a", "b"]))
    assert again.to_list()[1:] == first.to_list()[::-1]


def test_ranks_put_names_in_order() -> None:
    numbering = Numbering()
    numbers = numbering.number(pl.Series(["b", "c", "a"])).to_list()
    assert numbering.ranks()[numbers].tolist() == [1, 2, 0]


def test_keys_become_names_again_sorted_and_by_kind() -> None:
    keys = Keys()
    given = frame(
        ("total", "absent", "z", "e1"), ("total", "absent", "b", "e2"), ("prefix", "present", "b", "e1")
    )
    sums = pl.DataFrame({"key": keys.of(given), "votes": [1, 2, 3]})
    named = {kind: part.rows() for kind, part in keys.named(sums).items()}
    assert named == {
        ("prefix", "present"): [("b", "e1", 3)],
        ("total", "absent"): [("b", "e2", 2), ("z", "e1", 1)],
    }


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="polarity='here': use present or absent"):
        Keys().of(frame(("total", "here", "b", "e1")))


def test_sums_do_not_depend_on_when_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    parts = [(rng.integers(9, size=20), rng.integers(100, size=20)) for _ in range(30)]
    found = []
    for waiting in (5, 10_000):
        monkeypatch.setattr(counting, "WAITING", waiting)
        sums = Sums(["votes"])
        for keys, counts in parts:
            sums.add(pl.Series("key", keys, dtype=pl.UInt64), pl.DataFrame({"votes": counts}))
        found.append(sums.table().sort("key").rows())
    assert found[0] == found[1]
    assert sum(votes for _, votes in found[0]) == sum(int(counts.sum()) for _, counts in parts)


def test_sums_of_several_parts_that_would_wrap_around_are_refused() -> None:
    sums, key = Sums(["strength"]), pl.Series("key", [1], dtype=pl.UInt64)
    sums.add(key, pl.DataFrame({"strength": [2**31 * GRAINS - 2**40]}))
    with pytest.raises(DataError, match=r"strength adds up to 4\.29e\+09, at most 2,147,483,648"):
        sums.add(key, pl.DataFrame({"strength": [2**31 * GRAINS - 2**40]}))
