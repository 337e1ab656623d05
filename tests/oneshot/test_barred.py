"""Pairs of a label and an event type that knowledge bars: no scores, no exposed, no work."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eventcargo import EdgeTable, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.errors import ConfigError
from eventcargo.knowledge import Knowledge
from eventcargo.models.calibration import Calibration
from eventcargo.models.density import DensityModel
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import CasesConfig, ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.oneshot.score_shard import ConfiguredTest, configured_tests, score_shard, sequence_seeds
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.thresholds import StaticThreshold
from eventcargo.oneshot.total import TotalTest, Types, end_logits, reach
from eventcargo.simulation.exact import ExactProcess

CONFIG = ExtractConfig(workers=1, particles=4, context=3, z_threshold=1.0, test="both", max_cases=30)
KNOWN = Knowledge(forbidden={"L000": ["E00000", "E00002"]})


def batch_of(model: DensityModel, data: EventDataset, n: int = 40) -> Batch:
    return Batches(data, model.vocabulary, model.max_length).take(np.arange(n))


def all_but(model: DensityModel, label: int, event: int) -> np.ndarray:
    allowed = np.ones((len(model.label_names), len(model.vocabulary)), bool)
    allowed[label, event] = False
    return allowed


@pytest.fixture(scope="module")
def known(chain: EventDataset) -> Transformer:
    """A model whose labels 0 and 2 are explicit: one event type holds them up, five hold them down."""
    vocabulary = Vocabulary.from_dataset(chain)
    weights = torch.tensor([[3.0], [-1.0], [-1.2], [-1.4], [-1.6], [-1.8]]).expand(6, 3).clone()
    term = LinearTerm(len(vocabulary), 4, {"presence": np.arange(4, 10)}, weights, torch.zeros(3))
    shape = TransformerConfig(width=16, layers=1, heads=2, feedforward=16, max_length=64)
    model = Transformer(shape, vocabulary, chain.label_names, linear=term).eval()
    model.calibrate(Calibration(np.array([0.0, 1.0, 0.0]), np.ones(3), np.ones(3)))
    return model


@pytest.fixture(scope="module")
def free(oracle: Oracle, sampled: EventDataset, tmp_path_factory: pytest.TempPathFactory) -> EdgeTable:
    folder = tmp_path_factory.mktemp("free") / "edges"
    return EdgeTable.read(extract(oracle, sampled, folder, CONFIG).folder)


@pytest.fixture(scope="module")
def bound(oracle: Oracle, sampled: EventDataset, tmp_path_factory: pytest.TempPathFactory) -> EdgeTable:
    folder = tmp_path_factory.mktemp("bound") / "edges"
    return EdgeTable.read(extract(oracle, sampled, folder, CONFIG, knowledge=KNOWN).folder)


pytestmark = pytest.mark.filterwarnings("ignore:.*can have no edge")


def pairs(table: Any, **only: str) -> set[tuple[str, str]]:
    return set(table.filter(**only).select("label", "event").iter_rows())


@pytest.mark.parametrize("test", ["total", "prefix"])
def test_a_forbidden_pair_is_no_edge(free: EdgeTable, bound: EdgeTable, test: str) -> None:
    lost = pairs(free.edges, test=test) - pairs(bound.edges, test=test)
    assert ("L000", "E00000") in lost
    assert lost <= {("L000", "E00000"), ("L000", "E00002")}


@pytest.mark.parametrize("test", ["total", "prefix"])
def test_a_forbidden_pair_has_no_chances(free: EdgeTable, bound: EdgeTable, test: str) -> None:
    lost = pairs(free.exposed, test=test) - pairs(bound.exposed, test=test)
    assert lost == {("L000", "E00000"), ("L000", "E00002")}


def test_other_labels_are_tested_as_ever(free: EdgeTable, bound: EdgeTable) -> None:
    for name in ("edges", "support", "exposed"):
        one, other = (getattr(table, name).filter(label="L001") for table in (free, bound))
        assert one.equals(other)


def test_a_label_is_supported_by_the_sequences_it_was_looked_for_in(
    free: EdgeTable, bound: EdgeTable
) -> None:
    assert free.support.equals(bound.support)


def columns(scores: EventScores) -> list[list[float]]:
    names = ("rows", "labels", "positions", "strength", "effect")
    return [getattr(scores, name).tolist() for name in names]


@pytest.mark.parametrize("label", [0, 1])
def test_all_but_the_barred_pair_are_scored(known: Transformer, chain: EventDataset, label: int) -> None:
    """Label 0 is scored by sums, label 1 by passes."""
    batch = batch_of(known, chain)
    wanted = np.ones((40, 3), bool)
    everything = TotalTest().score(known, batch, wanted)
    ids = batch.ids[everything.rows, everything.positions]
    event = int(np.bincount(ids[everything.labels == label]).argmax())
    found = TotalTest(all_but(known, label, event)).score(known, batch, wanted)
    expected = everything.take((everything.labels != label) | (ids != event))
    assert len(found) < len(everything)
    for one, other in zip(columns(found), columns(expected), strict=True):
        assert one == pytest.approx(other, abs=1e-6)


class Counted(Oracle):
    """An oracle that counts the sequences it was asked about."""

    asked = 0

    def densities(self, batch: Batch, **where: Any) -> Any:
        self.asked += len(batch.ids)
        return super().densities(batch, **where)


def test_event_types_that_are_barred_for_all_labels_cost_no_pass(
    process: ExactProcess, sampled: EventDataset
) -> None:
    model = Counted(process)
    batch = batch_of(model, sampled)
    types = Types.of(batch)
    allowed = np.zeros((6, len(model.vocabulary)), bool)
    allowed[2, types.ids[0]] = True
    TotalTest(allowed).score(model, batch, np.ones((40, 6), bool))
    assert model.asked == 40 + int((types.ids == types.ids[0]).sum())


def test_sequences_without_any_open_pair_cost_nothing(process: ExactProcess, sampled: EventDataset) -> None:
    model, seeds = Counted(process), sequence_seeds(sampled, 0)
    cases = select_cases(model, sampled, CasesConfig(), seeds)
    allowed = np.zeros((6, len(model.vocabulary)), bool)
    allowed[0, 4] = True
    tested = (cases.present + cases.absent)[:, [0]].toarray().ravel() > 0
    holders = tested & (sampled.presence()[:, [0]].toarray().ravel() > 0)
    model.asked = 0
    score_shard(
        model,
        sampled,
        cases,
        [ConfiguredTest(TotalTest(allowed), StaticThreshold(0.2), allowed=allowed)],
        seeds,
    )
    assert model.asked == 2 * int(holders.sum())


def test_sequences_without_events_are_not_examined(oracle: Oracle) -> None:
    data = EventDataset.from_sequences(
        [EventSequence(str(i), (), (), tuple(oracle.label_names)) for i in range(3)]
    )
    seeds = sequence_seeds(data, 0)
    allowed = all_but(oracle, 0, 4)
    tests = configured_tests(ExtractConfig(), allowed=allowed)
    found = score_shard(oracle, data, select_cases(oracle, data, CasesConfig(), seeds), tests, seeds)
    assert len(found.edges) == 0


def test_reach_hides_open_event_types_only(known: Transformer, chain: EventDataset) -> None:
    batch = batch_of(known, chain)
    none = np.zeros((3, len(known.vocabulary)), bool)
    summed = known.linear_labels
    whole = end_logits(known, batch, np.flatnonzero(summed))
    assert reach(known, batch, none)[:, summed] == pytest.approx(whole, abs=1e-3)
    assert (reach(known, batch) > reach(known, batch, none) + 0.1).any()


def test_sequences_without_a_label_are_selected_by_open_event_types(
    known: Transformer, chain: EventDataset
) -> None:
    none = np.zeros((3, len(known.vocabulary)), bool)
    config = CasesConfig(absent=0.1, min_absent=5)
    found = (
        select_cases(known, chain, config, sequence_seeds(chain, 0), allowed=none).absent.toarray()[:, 0] > 0
    )
    reached = reach(known, batch_of(known, chain, len(chain)), none)[:, 0]
    absent = chain.label_matrix().toarray()[:, 0] == 0
    assert reached[found].min() >= reached[absent & ~found].max()


def test_other_knowledge_is_not_resumed_with(oracle: Oracle, sampled: EventDataset, tmp_path: Path) -> None:
    config = replace(CONFIG, test="total")
    extract(oracle, sampled, tmp_path / "edges", config, knowledge=KNOWN)
    with pytest.raises(ConfigError, match=f"knowledge={KNOWN.fingerprint!r}, now it is None"):
        extract(oracle, sampled, tmp_path / "edges", config, resume=True)


def test_the_selection_of_a_run_follows_its_knowledge(
    known: Transformer, chain: EventDataset, tmp_path: Path
) -> None:
    config = replace(CONFIG, test="total", min_absent=5, absent=0.1)
    limited = Knowledge(allowed={"L000": known.vocabulary.event_names[0]})
    extract(known, chain, tmp_path / "free", config)
    extract(known, chain, tmp_path / "bound", config, knowledge=limited)
    one, other = (tmp_path / name / "cases.parquet" for name in ("free", "bound"))
    assert one.read_bytes() != other.read_bytes()


def test_unknown_names_are_refused_before_anything_is_written(
    oracle: Oracle, sampled: EventDataset, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="'E9'"):
        extract(oracle, sampled, tmp_path / "edges", CONFIG, knowledge=Knowledge(forbidden={"*": "E9"}))
    assert not (tmp_path / "edges").exists()


def test_event_types_that_only_the_data_know_are_no_unknown_names(
    oracle: Oracle, sampled: EventDataset, tmp_path: Path
) -> None:
    odd = EventSequence("odd", ("odd",) * 3, (0.0, 1.0, 2.0), ())
    data = EventDataset.from_sequences([*sampled[:50], odd])
    config = replace(CONFIG, test="total")
    known = Knowledge(forbidden={"*": "odd"})
    edges = EdgeTable.read(extract(oracle, data, tmp_path / "edges", config, knowledge=known).folder).edges
    assert len(edges) > 0


def test_event_types_that_only_the_model_knows_are_no_unknown_names(
    oracle: Oracle, sampled: EventDataset, tmp_path: Path
) -> None:
    rest = [replace(s, events=tuple("odd" if e == "E00000" else e for e in s.events)) for s in sampled[:60]]
    data = EventDataset.from_sequences(rest)
    config = replace(CONFIG, test="total")
    known = Knowledge(forbidden={"*": "E00000"})
    edges = EdgeTable.read(extract(oracle, data, tmp_path / "edges", config, knowledge=known).folder).edges
    assert "E00000" not in set(edges["event"])
    assert len(edges) > 0


def test_saying_nothing_is_the_same_as_no_knowledge(
    oracle: Oracle, sampled: EventDataset, tmp_path: Path
) -> None:
    config = replace(CONFIG, test="total")
    plain = extract(oracle, sampled[:50], tmp_path / "edges", config)
    silent = extract(oracle, sampled[:50], tmp_path / "edges", config, knowledge=Knowledge(), resume=True)
    assert silent.plan == plain.plan
    apart = extract(oracle, sampled[:50], tmp_path / "apart", config, knowledge=Knowledge())
    assert EdgeTable.read(apart.folder).edges.equals(EdgeTable.read(plain.folder).edges)
