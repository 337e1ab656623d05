import json
from pathlib import Path

import polars as pl
import pytest

from eventcargo import ConfigError, DataError, EdgeTable
from eventcargo.edges import EDGES, EXPOSED, POOLED, SUPPORT, EdgeFolder


def table(sequence: str = "s1", tested: int = 3) -> EdgeTable:
    edge = {"sequence": sequence, "label": "bad", "event": "x", "position": 1, "strength": 0.5}
    edge |= {"effect_sd": 0.0, "effect": -0.25, "polarity": "absent", "test": "total"}
    looked = {"test": "total", "polarity": "absent", "label": "bad", "sequences": tested}
    return EdgeTable(
        pl.DataFrame([edge], schema=EDGES),
        pl.DataFrame([looked], schema=SUPPORT),
        pl.DataFrame([{**looked, "event": "x"}], schema=EXPOSED),
        pooled=pl.DataFrame([{"label": "bad", "event": "x"} | dict.fromkeys(SUMS, tested)], schema=POOLED),
    )


SUMS = ("sequences", "evidence", "effect", "squares", "group_squares")


def test_parts_add_up() -> None:
    joined = EdgeTable.join([table("s1", 3), table("s2", 4)])
    assert joined.edges["sequence"].to_list() == ["s1", "s2"]
    assert joined.support["sequences"].to_list() == [7]
    assert joined.exposed["sequences"].to_list() == [7]
    assert joined.pooled.rows() == [("bad", "x", 7, 7, 7, 7, 7)]


def test_a_table_of_other_columns_is_refused() -> None:
    with pytest.raises(DataError, match="strength"):
        EdgeTable(table().edges.drop("strength"), table().support, table().exposed)


def test_a_column_of_another_kind_is_refused() -> None:
    with pytest.raises(DataError, match="position"):
        EdgeTable(table().edges.cast({"position": pl.Int64}), table().support, table().exposed)


def test_counts_do_not_depend_on_the_order_of_parts() -> None:
    parts = [table("s1"), *(named(f"L{number}") for number in range(20))]
    assert EdgeTable.join(parts).support.equals(EdgeTable.join(parts[::-1]).support)


def named(label: str) -> EdgeTable:
    """The same table for another label."""
    new = pl.lit(label).alias("label")
    return EdgeTable(*(part.with_columns(new) for part in (table().edges, table().support, table().exposed)))


def test_shards_are_read_as_they_were_written(tmp_path: Path) -> None:
    folder = EdgeFolder.create(tmp_path / "edges", {"shards": 2}, resume=False)
    folder.write(1, table("s2", 4))
    assert folder.missing() == [0]
    folder.write(0, table("s1", 3))
    read = EdgeTable.read(tmp_path / "edges")
    assert read.edges["sequence"].to_list() == ["s1", "s2"]
    assert read.support["sequences"].to_list() == [7]
    assert read.pooled.rows() == [("bad", "x", 7, 7, 7, 7, 7)]


def test_a_shard_without_its_evidence_is_refused_by_name(tmp_path: Path) -> None:
    folder = EdgeFolder.create(tmp_path, {"shards": 1}, resume=False)
    folder.write(0, table())
    (folder.shard(0) / "pooled.parquet").unlink()
    with pytest.raises(DataError, match=r"shard-00000 is damaged.*pooled\.parquet"):
        EdgeTable.read(tmp_path)


def test_a_folder_with_missing_shards_is_refused(tmp_path: Path) -> None:
    folder = EdgeFolder.create(tmp_path, {"shards": 3}, resume=False)
    folder.write(0, table())
    with pytest.raises(DataError, match=r"2 of 3 shards.*shard-00001.*--resume"):
        EdgeTable.read(tmp_path)


def test_a_flipped_bit_of_a_shard_is_noticed(tmp_path: Path) -> None:
    folder = EdgeFolder.create(tmp_path, {"shards": 1}, resume=False)
    folder.write(0, table())
    for path in sorted(folder.shard(0).glob("*.parquet")):
        content = path.read_bytes()
        path.write_bytes(content[:10] + bytes([content[10] ^ 4]) + content[11:])
        with pytest.raises(DataError, match=f"shard-00000 is damaged: {path.name} has the checksum"):
            EdgeTable.read(tmp_path)
        path.write_bytes(content)


def test_a_truncated_shard_is_refused_by_name(tmp_path: Path) -> None:
    folder = EdgeFolder.create(tmp_path, {"shards": 1}, resume=False)
    folder.write(0, table())
    path = folder.shard(0) / "edges.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"shard-00000 is damaged"):
        EdgeTable.read(tmp_path)


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    EdgeFolder.create(tmp_path, {"shards": 1}, resume=False)
    with pytest.raises(ConfigError, match="exists already"):
        EdgeFolder.create(tmp_path, {"shards": 1}, resume=False)


def test_a_folder_of_the_same_plan_is_gone_on_with(tmp_path: Path) -> None:
    EdgeFolder.create(tmp_path, {"shards": 1, "seed": 3}, resume=False)
    assert EdgeFolder.create(tmp_path, {"shards": 1, "seed": 3}, resume=True).plan["seed"] == 3


def test_a_folder_of_another_plan_is_not_gone_on_with(tmp_path: Path) -> None:
    EdgeFolder.create(tmp_path, {"shards": 1, "seed": 3}, resume=False)
    with pytest.raises(ConfigError, match="begun with seed=3, now it is 4"):
        EdgeFolder.create(tmp_path, {"shards": 1, "seed": 4}, resume=True)


def test_a_plan_with_another_setting_is_not_gone_on_with(tmp_path: Path) -> None:
    EdgeFolder.create(tmp_path, {"shards": 1}, resume=False)
    with pytest.raises(ConfigError, match="begun with seed=None, now it is 4"):
        EdgeFolder.create(tmp_path, {"shards": 1, "seed": 4}, resume=True)


def test_a_folder_without_edges_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no plan\.json"):
        EdgeTable.read(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "not written by eventcargo"),
        (json.dumps({"format": "eventcargo-edges", "version": 9}), "another release"),
        (
            json.dumps({"format": "eventcargo-edges", "version": 4}),
            "version 4 of another release, this one reads 6",
        ),
    ],
)
def test_a_foreign_plan_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(DataError, match=message):
        EdgeTable.read(tmp_path)


def test_a_write_that_fails_leaves_no_shard(tmp_path: Path) -> None:
    folder = EdgeFolder.create(tmp_path, {"shards": 1}, resume=False)
    (tmp_path / "shard-00000").write_text("in the way")
    with pytest.raises(DataError, match="exists already"):
        folder.write(0, table())
    assert (tmp_path / "shard-00000").read_text() == "in the way"
