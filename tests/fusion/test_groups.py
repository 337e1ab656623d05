"""Phase 2 on sequences that come in groups: a group is one witness, however many sequences it has."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eventcargo import DataError, EdgeTable, LabelGraph
from eventcargo.edges import EdgeFolder
from eventcargo.fusion import CRITERIA, FuseConfig, VoteStore, read_votes, write_votes
from eventcargo.fusion.fuse import fuse
from eventcargo.knowledge import Knowledge

from .ballots import by_group

COPIES = 5
BY_FREQUENCY = [criterion for criterion in CRITERIA if criterion not in ("fpr", "bes", "caig")]


def drawn(seed: int, n: int = 60, share: float = 0.4) -> np.ndarray:
    return np.random.default_rng(seed).random(n) < share


def figures(graph: LabelGraph) -> tuple[float, float, float]:
    """The ends of the interval and the stability of the only edge."""
    low, high, stable = graph.edges.select("ci_low", "ci_high", "stability").row(0)
    return low, high, stable


def copied(voted: np.ndarray, met: np.ndarray | None = None, grouped: bool = True) -> EdgeTable:
    groups = np.repeat(np.arange(len(voted)), COPIES) if grouped else None
    repeated = None if met is None else np.repeat(met, COPIES)
    return by_group(np.repeat(voted, COPIES), groups, met=repeated)


@pytest.mark.parametrize("criterion", BY_FREQUENCY)
@pytest.mark.parametrize("seed", range(5))
def test_copies_make_no_interval_narrower_and_no_edge_more_stable(criterion: str, seed: int) -> None:
    voted = drawn(seed, 30, 0.3)
    met = voted | drawn(seed + 100, 30, 0.5)
    config = FuseConfig(criterion=criterion, tau=0.2)
    once, copies, torn = (
        fuse(each, config)
        for each in (by_group(voted, None, met=met), copied(voted, met), copied(voted, met, grouped=False))
    )
    assert len(copies.edges) <= len(once.edges)
    if len(copies.edges):
        (low, high, stable), (low_5, high_5, stable_5) = figures(once), figures(copies)
        assert (low_5, high_5) == pytest.approx((low, high), abs=0.01)
        assert low_5 <= low
        assert high_5 >= high
        assert stable_5 <= stable + 1e-9
        assert figures(torn)[1] - figures(torn)[0] < 0.6 * (high - low)


@pytest.mark.parametrize(("votes", "kept"), [(1, 0), (2, 1)])
def test_a_sure_edge_needs_votes_of_two_groups(votes: int, kept: int) -> None:
    voted, config = np.arange(8) < votes, FuseConfig(min_frequency=0.01)
    tables = by_group(voted, None, met=voted), copied(voted, voted), copied(voted, voted, grouped=False)
    assert [len(fuse(each, config).edges) for each in tables] == [kept, kept, 1]


def test_copies_do_not_pass_what_each_once_does_not() -> None:
    """Four of sixty are not surely more than 4 %, twenty of three hundred would be."""
    voted = np.arange(60) < 4
    tables = by_group(voted, None, met=voted), copied(voted, voted), copied(voted, voted, grouped=False)
    assert [len(fuse(each).edges) for each in tables] == [0, 0, 1]


def test_groups_of_one_sequence_change_nothing() -> None:
    voted, met = drawn(0), drawn(1) | drawn(0)
    once, alone = (fuse(by_group(voted, groups, met=met)) for groups in (None, np.arange(60)))
    assert figures(alone) == pytest.approx(figures(once), rel=1e-9)


def test_an_edge_found_in_every_sequence_is_as_sure_as_there_are_groups() -> None:
    all_of_them = np.ones(10, bool)
    once, copies = fuse(by_group(all_of_them, None)), fuse(copied(all_of_them))
    assert figures(copies) == pytest.approx(figures(once))


def test_a_required_edge_without_votes_is_judged_by_groups() -> None:
    known = Knowledge(required={"bad": ["x"]})
    none = np.zeros(20, bool)
    once, copies = (fuse(each, knowledge=known) for each in (by_group(none, None), copied(none)))
    assert figures(copies) == figures(once)


def test_the_interval_covers_the_share_of_the_population() -> None:
    """Every group has a rate of its own, .3 on average; nominal are 95 %."""
    rng, inside = np.random.default_rng(0), list[tuple[bool, bool]]()
    groups = np.repeat(np.arange(60), 10)
    for _ in range(300):
        voted = rng.random(600) < rng.beta(0.6, 1.4, 60)[groups]
        graphs = (fuse(by_group(voted, own), FuseConfig(criterion="union")) for own in (groups, None))
        ends = [figures(graph)[:2] for graph in graphs]
        inside.append(tuple(low <= 0.3 <= high for low, high in ends))  # type: ignore[arg-type]
    by_groups, alone = np.mean(inside, axis=0)
    assert by_groups > 0.91
    assert alone < 0.8


def test_stability_is_that_of_a_bootstrap_of_groups() -> None:
    rng, groups = np.random.default_rng(3), np.repeat(np.arange(40), 8)
    voted = rng.random(320) < rng.beta(0.5, 1.0, 40)[groups]
    tau = float(voted.mean()) - 0.03
    stable = figures(fuse(by_group(voted, groups), FuseConfig(criterion="static", tau=tau)))[2]
    by_groups = voted.reshape(40, 8).sum(axis=1)
    draws = rng.poisson(1.0, (20_000, 40))
    share = (draws @ by_groups) / np.maximum(draws.sum(axis=1) * 8, 1)
    assert stable == pytest.approx(float((share >= tau).mean()), abs=0.04)


def parts_of(seed: int) -> list[EdgeTable]:
    return [
        by_group(drawn(seed + at), np.random.default_rng(at).integers(20, size=60), label, name=f"{at}")
        for at, label in enumerate(("bad", "bad", "good"))
    ]


def content(store: VoteStore) -> dict[str, object]:
    votes = store.votes["total", "present"]
    return {
        name: getattr(votes, name).to_dicts() for name in ("counts", "tested", "group_support", "group_votes")
    }


def test_parts_add_up_in_any_order(tmp_path: Path) -> None:
    parts = parts_of(0)
    whole = VoteStore.of(EdgeTable.join(parts))
    folder = EdgeFolder.create(tmp_path / "edges", {"shards": 3}, resume=False)
    for at, part in enumerate(parts[::-1]):
        folder.write(at, part)
    stores = [whole, VoteStore.of_folder(folder), VoteStore.join([VoteStore.of(part) for part in parts])]
    assert all(content(one) == content(other) for one, other in pairwise(stores))


def test_votes_by_group_are_read_as_they_were_written(tmp_path: Path) -> None:
    store = VoteStore.of(EdgeTable.join(parts_of(0)))
    write_votes(store, tmp_path / "votes")
    assert content(read_votes(tmp_path / "votes")) == content(store)


def test_votes_without_groups_have_no_file_of_sums(tmp_path: Path) -> None:
    write_votes(VoteStore.of(by_group(drawn(0), None)), tmp_path / "votes")
    assert not list((tmp_path / "votes").glob("*group*"))
    assert read_votes(tmp_path / "votes").votes["total", "present"].group_votes.is_empty()


def test_a_run_without_groups_joins_as_groups_of_one() -> None:
    first, second = drawn(0), drawn(1)
    mixed = VoteStore.join(
        [VoteStore.of(by_group(first, np.arange(60) // 3)), VoteStore.of(by_group(second, None))]
    )
    alone = VoteStore.of(by_group(second, np.arange(60)))
    same = VoteStore.join([VoteStore.of(by_group(first, np.arange(60) // 3)), alone])
    assert content(mixed) == content(same)


def test_a_label_without_groups_among_others_is_refused() -> None:
    mixed = EdgeTable.join([by_group(drawn(0), np.arange(60) // 3), by_group(drawn(1), None, "good")])
    with pytest.raises(DataError, match="groups are known for 1 of 2 labels"):
        VoteStore.of(mixed)
