from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eventcargo import ConfigError, DataError, EdgeTable
from eventcargo.edges import EDGES, EXPOSED, SUPPORT
from eventcargo.fusion import Votes
from eventcargo.fusion.votes import Count

KIND = {"test": "total", "polarity": "present"}


def table(*edges: tuple[str, str, int, float, float], tested: int = 4, met: int = 3) -> EdgeTable:
    """Edges (sequence, event, position, strength, effect) of the label bad; x and y met it `met` times."""
    rows = [
        {
            "sequence": s,
            "label": "bad",
            "event": e,
            "position": p,
            "strength": v,
            "effect_sd": 0.0,
            "effect": d,
        }
        | KIND
        for s, e, p, v, d in edges
    ]
    looked = {"label": "bad", "sequences": tested, **KIND}
    exposed = [{**looked, "event": event, "sequences": met} for event in ("x", "y")]
    return EdgeTable(
        pl.DataFrame(rows, schema=EDGES),
        pl.DataFrame([looked], schema=SUPPORT),
        pl.DataFrame(exposed, schema=EXPOSED),
    )


def random_part(rng: np.random.Generator, sequence: str) -> EdgeTable:
    edges = [
        (sequence, event, position, float(rng.random()), float(rng.normal()))
        for event in "xy"
        for position in range(rng.integers(4))
    ]
    return table(*edges, tested=1, met=1)


def votes_of(edges: EdgeTable, polarity: str = "present") -> Votes:
    """The votes of the test total."""
    count = Count()
    count.add(edges)
    return count.votes()["total", polarity]


def joined_votes(parts: list[Votes]) -> Votes:
    """The sums of votes that were counted apart."""
    count = Count()
    for part in parts:
        count.add_votes(part)
    return count.votes()["total", "present"]


@pytest.mark.parametrize("wrong", [{"test": "totl"}, {"polarity": "here"}])
def test_an_unknown_kind_is_refused(wrong: dict[str, str]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(ConfigError, match=f"{name}={value!r}: use "):
        replace(votes_of(table()), **wrong)


def first(votes: Votes) -> dict[str, object]:
    return votes.table.row(0, named=True)


def test_a_pair_has_votes_support_exposed_and_means() -> None:
    votes = votes_of(table(("s1", "x", 0, 0.5, 0.25), ("s2", "x", 3, 1.0, 0.5)))
    assert first(votes) == {
        "label": "bad",
        "event": "x",
        "votes": 2,
        "support": 4,
        "n_exposed": 3,
        "frequency": 0.5,
        "strength": 0.75,
        "effect": 0.375,
        "before": None,
        "entropy": None,
        "promoting": 2,
    }


def test_a_pair_without_votes_keeps_its_exposed() -> None:
    votes = votes_of(table())
    assert votes.table.is_empty()
    assert votes.exposed.rows() == [("bad", "x", 3), ("bad", "y", 3)]


def test_an_edge_votes_once_a_sequence_with_its_strongest_occurrence() -> None:
    votes = votes_of(table(("s1", "x", 0, 0.5, 0.25), ("s1", "x", 2, 1.0, -0.5), ("s1", "x", 4, 0.1, 0.0)))
    row = first(votes)
    assert (row["votes"], row["strength"], row["effect"]) == (1, 1.0, -0.5)


def test_of_equally_strong_occurrences_the_first_votes() -> None:
    row = first(votes_of(table(("s1", "x", 7, 0.5, 0.25), ("s1", "x", 2, 0.5, -0.5))))
    assert row["effect"] == -0.5


def absent(part: EdgeTable) -> EdgeTable:
    frames = (part.edges, part.support, part.exposed)
    return EdgeTable(*(frame.with_columns(polarity=pl.lit("absent")) for frame in frames))


def test_only_the_polarity_asked_for_votes() -> None:
    other = absent(table(("s2", "y", 0, 0.5, 0.25), tested=9, met=5))
    whole = EdgeTable.join([table(("s1", "x", 0, 0.5, 0.25)), other])
    row = first(votes_of(whole, polarity="absent"))
    assert (row["event"], row["votes"], row["n_exposed"], row["support"]) == ("y", 1, 5, 9)


def test_joined_parts_have_the_bytes_of_the_whole() -> None:
    rng = np.random.default_rng(5)
    parts = [random_part(rng, f"s{n}") for n in range(40)]
    whole = votes_of(EdgeTable.join(parts))
    left, right = (votes_of(EdgeTable.join(parts[k::2])) for k in (0, 1))
    joined = joined_votes([right, left])
    assert_frame_equal(joined.table, whole.table, check_exact=True)
    assert joined.support == whole.support


def test_the_exposed_of_a_part_without_votes_count() -> None:
    joined = joined_votes([votes_of(table(("s1", "x", 0, 0.5, 0.0))), votes_of(table())])
    assert (first(joined)["n_exposed"], first(joined)["frequency"]) == (6, 0.125)


def test_more_votes_than_exposed_are_refused() -> None:
    with pytest.raises(DataError, match=r"votes > n_exposed.*'bad' <- 'x' with 2 and 1"):
        votes_of(table(("s1", "x", 0, 0.5, 0.0), ("s2", "x", 0, 0.5, 0.0), met=1))


def test_more_exposed_than_support_are_refused() -> None:
    with pytest.raises(DataError, match=r"n_exposed > support in 2 of .* with 3 and 2"):
        votes_of(table(tested=2))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_a_strength_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(DataError, match=r"not finite in 1 of .* edges.*sequence 's1'"):
        votes_of(table(("s1", "x", 0, value, 0.0)))


def test_sums_that_would_wrap_around_are_refused() -> None:
    with pytest.raises(DataError, match=r"strength adds up to 4e\+09, at most 2,147,483,648"):
        votes_of(table(("s1", "x", 0, 2e9, 0.0), ("s2", "x", 0, 2e9, 0.0)))


@pytest.mark.parametrize("name", ["sequence", "label", "event"])
def test_an_edge_without_a_name_is_refused(name: str) -> None:
    part = table(("s1", "x", 0, 0.5, 0.0), ("s2", "x", 0, 0.5, 0.0))
    empty = pl.when(pl.col("sequence") == "s1").then(name).alias(name)
    with pytest.raises(DataError, match=f"{name} is missing in 1 of 2 edges"):
        votes_of(EdgeTable(part.edges.with_columns(empty), part.support, part.exposed))


def test_a_chance_without_a_count_is_refused() -> None:
    part = table()
    empty = part.exposed.with_columns(sequences=pl.when(pl.col("event") == "x").then("sequences"))
    with pytest.raises(DataError, match="sequences is missing in 1 of 2 exposed counts"):
        votes_of(EdgeTable(part.edges, part.support, empty))


def test_votes_without_a_count_are_not_joined() -> None:
    votes = votes_of(table(("s1", "x", 0, 0.5, 0.0)))
    empty = replace(votes, counts=votes.counts.with_columns(effect=pl.lit(None, pl.Int64)))
    with pytest.raises(DataError, match="effect is missing in 1 of 1 votes"):
        joined_votes([empty, votes])


def test_a_count_whose_votes_were_taken_starts_again_from_nothing() -> None:
    count = Count()
    for event in ("x", "y"):
        count.add(table(("s1", event, 0, 0.5, 0.0)))
        votes = count.votes()["total", "present"]
    assert votes.table.select("event", "votes", "support").rows() == [("y", 1, 4)]
