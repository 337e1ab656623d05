"""Sums over groups: right, the same whatever the shards, and absent where there are no groups."""

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eventcargo import EdgeTable, EventDataset
from eventcargo.knowledge import Knowledge
from eventcargo.models.oracle import Oracle
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.oneshot.group_sums import _votes
from eventcargo.oneshot.score_shard import BLOCK, blocks, sequence_seeds
from eventcargo.simulation.exact import ExactProcess

CONFIG = ExtractConfig(shard=BLOCK, workers=1, test="total", threshold=0.05)


@pytest.fixture(scope="module")
def grouped(process: ExactProcess) -> EventDataset:
    """Six hundred sequences of groups of all sizes, scattered over the data."""
    data = process.sample(600, seed=100).data
    return data.in_groups(np.random.default_rng(0).zipf(1.6, 600) % 150)


def test_no_block_splits_a_group(grouped: EventDataset) -> None:
    parts = blocks(grouped)
    assert sorted(np.concatenate(parts).tolist()) == list(range(600))
    owners = [set(grouped.group_numbers[part].tolist()) for part in parts]
    assert sum(map(len, owners)) == grouped.n_groups
    assert all(len(part) >= BLOCK for part in parts[:-1])


def test_the_blocks_of_some_blocks_are_the_same(grouped: EventDataset) -> None:
    first, second, *_ = blocks(grouped)
    again = blocks(grouped.select(np.concatenate([first, second])))
    assert [len(block) for block in again] == [len(first), len(second)]


def test_shards_change_neither_edges_nor_sums(oracle: Oracle, grouped: EventDataset, tmp_path: Path) -> None:
    small, large = (
        EdgeTable.read(extract(oracle, grouped, tmp_path / f"{size}", ExtractConfig(shard=size)).folder)
        for size in (BLOCK, 4 * BLOCK)
    )
    assert len(list((tmp_path / str(BLOCK)).glob("shard-*"))) > 1
    for name in ("edges", "support", "exposed", "group_support", "group_votes"):
        assert getattr(small, name).equals(getattr(large, name))


def test_without_groups_there_is_no_file_of_sums(
    oracle: Oracle, sampled: EventDataset, tmp_path: Path
) -> None:
    folder = extract(oracle, sampled, tmp_path / "edges", CONFIG)
    assert not list(folder.folder.rglob("group_*"))
    assert EdgeTable.read(folder.folder).group_votes.is_empty()


@pytest.mark.parametrize("barred", [False, True])
def test_sums_are_those_of_counts_by_group(
    oracle: Oracle, grouped: EventDataset, tmp_path: Path, barred: bool
) -> None:
    knowledge = Knowledge(forbidden={"*": ["E00000"]}) if barred else None
    table = EdgeTable.read(extract(oracle, grouped, tmp_path / "edges", CONFIG, knowledge=knowledge).folder)
    cases = select_cases(oracle, grouped, CONFIG, sequence_seeds(grouped, 0))
    found = set(table.edges.select("sequence", "label", "event").iter_rows())
    tested, exposed, votes = (Counter[tuple[int, str, str]]() for _ in range(3))
    for row, label in zip(*cases.present.nonzero(), strict=True):
        sequence, name = grouped[int(row)], grouped.label_names[label]
        group = int(grouped.group_numbers[row])
        tested[group, name, ""] += 1
        for event in set(sequence.events) - ({"E00000"} if barred else set()):
            exposed[group, name, event] += 1
            votes[group, name, event] += (sequence.id, name, event) in found
    for row in table.group_support.filter(polarity="present").iter_rows(named=True):
        own = [n for (_, name, _), n in tested.items() if name == row["label"]]
        assert (row["groups"], row["tested_tested"]) == (len(own), sum(n * n for n in own))
    rows = table.group_votes.filter(polarity="present").rows(named=True)
    assert {(row["label"], row["event"]) for row in rows} == {key[1:] for key in exposed}
    for row in rows:
        own = [(key, e) for key, e in exposed.items() if key[1:] == (row["label"], row["event"])]
        expected = {
            "voting": sum(votes[key] > 0 for key, _ in own),
            "meeting": len(own),
            "votes_votes": sum(votes[key] ** 2 for key, _ in own),
            "votes_tested": sum(votes[key] * tested[key[0], key[1], ""] for key, _ in own),
            "votes_exposed": sum(votes[key] * e for key, e in own),
            "exposed_exposed": sum(e * e for _, e in own),
        }
        assert {name: row[name] for name in expected} == expected


def test_an_edge_that_occurs_twice_in_a_sequence_votes_once() -> None:
    kind = {"test": "prefix", "polarity": "present", "label": "bad", "event": "x", "group": 0}
    edges = pl.DataFrame([{**kind, "sequence": name} for name in ("a", "a", "b")])
    assert _votes(edges)["v"].to_list() == [2]
