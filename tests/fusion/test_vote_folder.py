import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from eventcargo import ConfigError, DataError, EdgeTable
from eventcargo.edges import EdgeFolder
from eventcargo.files import sealed
from eventcargo.fusion import FuseConfig, VoteStore, fuse_run, read_votes, write_votes
from eventcargo.fusion.vote_store import join_runs, run_votes

from .ballots import table
from tests.sealed import reseal

PLAN = {"model": "m", "labels": ["bad", "good"], "untrusted": [], "seed": 0, "shard": 256}


def part(number: int) -> EdgeTable:
    """The edges of one shard: bad <- x always, good <- a further event in each."""
    edges = [(f"s{number}-{n}", "bad", "x", 0.5) for n in range(3)]
    edges.append((f"s{number}-0", "good", f"y{number}", -0.5))
    met = {("bad", "x"): 4, ("good", f"y{number}"): 2, ("good", "x"): 1}
    return table(edges, {"bad": 4, "good": 2}, met, positives={"bad": (4, 20), "good": (2, 20)})


def extracted(run: Path, numbers: range, data: str, **plan: object) -> Path:
    """A run with edges of these shards."""
    content = {**PLAN, "data": data, "shards": len(numbers), **plan}
    folder = EdgeFolder.create(run / "edges", content, resume=False)
    for at, number in enumerate(numbers):
        folder.write(at, part(number))
    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def test_votes_are_read_as_they_were_written(tmp_path: Path) -> None:
    store = VoteStore.of(part(1))
    write_votes(store, tmp_path / "votes")
    read = read_votes(tmp_path / "votes")
    assert read.votes["total", "present"].table.equals(store.votes["total", "present"].table)
    assert read.positives.equals(store.positives)


def test_two_parts_joined_have_the_bytes_of_one_pass(tmp_path: Path) -> None:
    run_votes(extracted(tmp_path / "all", range(6), "all"))
    days = [extracted(tmp_path / "one", range(4), "d1"), extracted(tmp_path / "two", range(4, 6), "d2")]
    join_runs(days, tmp_path / "joined")
    assert contents(tmp_path / "joined" / "votes") == contents(tmp_path / "all" / "votes")


def test_edges_are_read_once(tmp_path: Path) -> None:
    run = extracted(tmp_path / "run", range(2), "d1")
    graph = fuse_run(run)
    for shard in (run / "edges").glob("shard-*"):
        shutil.rmtree(shard)
    assert fuse_run(run).edges.equals(graph.edges)


def test_votes_are_enough(tmp_path: Path) -> None:
    run = extracted(tmp_path / "run", range(2), "d1")
    graph = fuse_run(run)
    shutil.rmtree(run / "edges")
    assert fuse_run(run, FuseConfig()).edges.equals(graph.edges)


def test_votes_of_other_edges_are_counted_again(tmp_path: Path) -> None:
    run = extracted(tmp_path / "run", range(2), "d1")
    fuse_run(run)
    shutil.rmtree(run / "edges")
    extracted(run, range(5), "d2")
    assert run_votes(run).support("total") == {"bad": 20, "good": 10}
    assert read_votes(run / "votes").plan["data"] == ["d2"]


def test_the_size_of_shards_does_not_make_other_votes(tmp_path: Path) -> None:
    runs = [
        extracted(tmp_path / "one", range(2), "d1", shard=256),
        extracted(tmp_path / "two", range(2, 4), "d2", shard=512),
    ]
    assert join_runs(runs, tmp_path / "joined").support("total") == {"bad": 16, "good": 8}


def test_a_run_without_edges_and_votes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither edges nor votes"):
        fuse_run(tmp_path)


def test_the_same_data_are_not_joined_twice(tmp_path: Path) -> None:
    runs = [extracted(tmp_path / name, range(2), "d1") for name in ("one", "two")]
    with pytest.raises(ConfigError, match=r"twice.*d1"):
        join_runs(runs, tmp_path / "joined")
    assert not (tmp_path / "joined").exists()


def test_votes_of_other_settings_are_not_joined(tmp_path: Path) -> None:
    runs = [extracted(tmp_path / f"{seed}", range(2), f"d{seed}", seed=seed) for seed in (3, 4)]
    with pytest.raises(ConfigError, match="different settings cannot be joined: seed is 3 and 4"):
        join_runs(runs, tmp_path / "joined")


def test_a_day_is_added_to_votes(tmp_path: Path) -> None:
    days = [extracted(tmp_path / f"{day}", range(day, day + 1), f"d{day}") for day in range(3)]
    join_runs(days[:2], tmp_path / "joined")
    added = join_runs([tmp_path / "joined", days[2]], tmp_path / "joined")
    assert added.plan["data"] == ["d0", "d1", "d2"]
    assert read_votes(tmp_path / "joined" / "votes").support("total") == {"bad": 12, "good": 6}


def test_votes_that_would_be_lost_are_not_replaced(tmp_path: Path) -> None:
    days = [extracted(tmp_path / f"{day}", range(day, day + 1), f"d{day}") for day in range(3)]
    join_runs(days[:2], tmp_path / "joined")
    with pytest.raises(ConfigError, match="other data, which would be lost: d0"):
        join_runs(days[1:], tmp_path / "joined")


def test_joined_votes_are_not_put_beside_edges(tmp_path: Path) -> None:
    runs = [extracted(tmp_path / f"{day}", range(1), f"d{day}") for day in range(2)]
    with pytest.raises(ConfigError, match="has edges of its own"):
        join_runs(runs, runs[0])


def written(tmp_path: Path) -> Path:
    write_votes(VoteStore.of(part(1)), tmp_path / "votes")
    return tmp_path / "votes"


def test_a_truncated_file_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path) / "total-present-counts.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"votes is damaged: total-present-counts\.parquet has the checksum"):
        read_votes(tmp_path / "votes")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    (written(tmp_path) / "positives.parquet").unlink()
    with pytest.raises(DataError, match=r"positives\.parquet cannot be read: No such file"):
        read_votes(tmp_path / "votes")


def test_a_file_of_other_votes_is_refused_by_name(tmp_path: Path) -> None:
    folder = written(tmp_path)
    path = folder / "total-present-tested.parquet"
    pl.read_parquet(path).with_columns(pl.col("support") + 1).write_parquet(path)
    with pytest.raises(DataError, match=r"total-present-tested\.parquet has the checksum"):
        read_votes(folder)


def test_a_file_of_other_columns_is_refused_by_name(tmp_path: Path) -> None:
    folder = written(tmp_path)
    path = folder / "total-present-counts.parquet"
    pl.read_parquet(path).drop("entropy").write_parquet(path)
    reseal(folder)
    with pytest.raises(DataError, match=r"total-present-counts\.parquet has unexpected columns"):
        read_votes(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "not written by eventcargo"),
        (json.dumps({"format": "eventcargo-edges", "version": 2}), "not written by eventcargo"),
        (
            json.dumps({"format": "eventcargo-votes", "version": 2}),
            "version 2 of another release, this one reads 4",
        ),
        (sealed("eventcargo-votes", 4, {"plan": {}}), "no entry 'kinds'"),
    ],
)
def test_a_foreign_plan_is_refused(tmp_path: Path, content: str, message: str) -> None:
    folder = written(tmp_path)
    (folder / "plan.json").write_text(content)
    with pytest.raises(DataError, match=message):
        read_votes(folder)


def test_a_folder_without_votes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no votes: it has no plan\.json"):
        read_votes(tmp_path)


def test_a_damaged_shard_leaves_no_votes(tmp_path: Path) -> None:
    run = extracted(tmp_path / "run", range(2), "d1")
    path = run / "edges" / "shard-00001" / "exposed.parquet"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(DataError, match="shard-00001 is damaged"):
        fuse_run(run)
    assert sorted(child.name for child in run.iterdir()) == ["edges"]


def test_a_shard_of_another_release_is_refused_by_name(tmp_path: Path) -> None:
    run = extracted(tmp_path / "run", range(2), "d1")
    path = run / "edges" / "shard-00001" / "edges.parquet"
    pl.read_parquet(path).drop("before").write_parquet(path)
    reseal(path.parent)
    with pytest.raises(DataError, match=r"shard-00001 is of another release or program.*before"):
        fuse_run(run)


def test_a_write_that_fails_leaves_the_votes_as_they_were(tmp_path: Path) -> None:
    folder = written(tmp_path)
    before = contents(folder)
    broken = VoteStore(VoteStore.of(part(2)).votes, part(2).positives, {"model": object()})
    with pytest.raises(TypeError):
        write_votes(broken, folder)
    assert contents(folder) == before
    assert sorted(child.name for child in tmp_path.iterdir()) == ["votes"]
