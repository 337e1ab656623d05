import numpy as np
import polars as pl
import pytest

from eventcargo import ConfigError, DataError
from eventcargo.fusion import counting
from eventcargo.fusion.counting import GRAINS, Keys, Numbering, Sums, ballots, count_kinds


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


def test_keys_are_counted_by_kind() -> None:
    keys = Keys().of(
        frame(*[("total", "present", "b", f"e{n}") for n in range(3)], ("prefix", "present", "b", "e"))
    )
    assert count_kinds(keys) == [1, 0, 3, 0]


def drawn_edges(rows: int) -> tuple[pl.DataFrame, pl.Series]:
    """Edges of few sequences and keys, many of them repeated, and their keys."""
    rng = np.random.default_rng(4)
    edges = pl.DataFrame(
        {
            "sequence": [f"s{n}" for n in rng.integers(9, size=rows)],
            "strength": rng.integers(3, size=rows).astype(np.float32),
            "position": rng.permutation(rows).astype(np.int32),
        }
    )
    return edges, pl.Series("key", rng.integers(9, size=rows), dtype=pl.UInt64)


def strongest(edges: pl.DataFrame, keys: pl.Series) -> list[int]:
    """The rows that vote, found one after the other."""
    best: dict[tuple[str, int], tuple[float, int, int]] = {}
    for row, (key, edge) in enumerate(zip(keys, edges.iter_rows(named=True), strict=True)):
        place, found = (edge["sequence"], key), (-edge["strength"], edge["position"], row)
        best[place] = min(best.get(place, found), found)
    return sorted(row for _, _, row in best.values())


def test_of_repeated_edges_the_strongest_and_then_the_first_votes() -> None:
    edges, keys = drawn_edges(100)
    found = ballots(edges, keys)
    assert found is not None
    assert sorted(found.to_list()) == strongest(edges, keys)


def test_edges_that_are_repeated_nowhere_vote_all() -> None:
    edges, keys = drawn_edges(100)
    rows = strongest(edges, keys)
    assert ballots(edges[rows], keys[rows]) is None


def test_different_edges_that_meet_in_a_number_vote_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MIX", np.uint64(0))
    edges, keys = drawn_edges(100)
    found = ballots(edges, keys)
    assert found is not None
    assert sorted(found.to_list()) == strongest(edges, keys)


def test_sums_are_sorted_by_key() -> None:
    sums = Sums(["votes"])
    for keys in ([9, 2], [5, 2]):
        sums.add(pl.Series("key", keys, dtype=pl.UInt64), pl.DataFrame({"votes": [1, 1]}))
    assert sums.table().rows() == [(2, 2), (5, 1), (9, 1)]


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
