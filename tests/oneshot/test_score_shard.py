import numpy as np
import polars as pl
import pytest

from eventcargo import EdgeTable, EventDataset, EventSequence
from eventcargo.batches import Batches
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import CasesConfig, ExtractConfig, PrefixConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import (
    BLOCK,
    ConfiguredTest,
    configured_tests,
    score_shard,
    sequence_seeds,
)
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, RelativeThreshold, StaticThreshold
from eventcargo.oneshot.total import TotalTest

TOTAL = [ConfiguredTest(TotalTest(), StaticThreshold(0.2))]


def table_of(
    model: Oracle | Transformer, data: EventDataset, tests: list[ConfiguredTest] = TOTAL
) -> EdgeTable:
    seeds = sequence_seeds(data, 0)
    return score_shard(model, data, select_cases(model, data, CasesConfig(), seeds), tests, seeds)


@pytest.fixture(scope="module")
def table(oracle: Oracle, sampled: EventDataset) -> EdgeTable:
    return table_of(oracle, sampled)


def test_edges_are_told_by_names_that_the_sequence_holds(table: EdgeTable, sampled: EventDataset) -> None:
    for row in table.edges.head(50).iter_rows(named=True):
        sequence = sampled[row["sequence"]]
        assert sequence.events[row["position"]] == row["event"]
        assert (row["label"] in sequence.labels) == (row["polarity"] == "present")


def test_edges_are_found_with_and_without_the_label(table: EdgeTable) -> None:
    assert sorted(table.edges["polarity"].unique()) == ["absent", "present"]


@pytest.mark.parametrize("name", ["strength", "effect", "effect_sd"])
def test_edges_tell_what_was_scored(oracle: Oracle, sampled: EventDataset, name: str) -> None:
    data, cut = sampled[:30], StaticThreshold(0.05)
    test, seeds = PrefixTest(PrefixConfig(context=2, particles=4, error=0.0), cut), sequence_seeds(data, 0)
    batch = Batches(data, oracle.vocabulary, oracle.max_length).take(np.arange(len(data)))
    scores = test.score(oracle, batch, batch.labels > 0, seeds)
    told = table_of(oracle, data, [ConfiguredTest(test, cut, ("present",))]).edges[name].to_numpy()
    expected = getattr(scores.take(cut.keep(scores)), name)
    assert np.abs(expected).max() > 0
    assert told == pytest.approx(expected, abs=1e-5)


def test_edges_stand_in_the_order_of_their_sequences(table: EdgeTable) -> None:
    assert table.edges["sequence"].is_sorted()


def test_support_counts_the_sequences_that_were_tested(table: EdgeTable, sampled: EventDataset) -> None:
    present = table.support.filter(polarity="present").sort("label")
    assert present["sequences"].to_list() == sampled.support.tolist()


def test_a_label_that_was_not_tested_is_not_among_the_supports(oracle: Oracle, sampled: EventDataset) -> None:
    table = table_of(oracle, sampled[:1], [ConfiguredTest(TotalTest(), StaticThreshold(0.2), ("present",))])
    assert table.support["label"].to_list() == sorted(next(iter(sampled)).labels)


def test_chances_count_the_tested_sequences_that_hold_the_event(
    table: EdgeTable, sampled: EventDataset
) -> None:
    expected = sum("L000" in s.labels and "E00000" in s.events for s in sampled)
    found = table.exposed.filter(label="L000", event="E00000", polarity="present")
    assert found["sequences"].to_list() == [expected]


def test_no_edge_has_more_votes_than_chances(table: EdgeTable) -> None:
    keys = ["label", "event", "polarity"]
    votes = table.edges.group_by(keys).len()
    joined = votes.join(table.exposed, on=keys, how="left")
    assert (joined["len"] <= joined["sequences"]).all()


def test_weak_scores_are_no_edges(oracle: Oracle, sampled: EventDataset) -> None:
    tests = [ConfiguredTest(TotalTest(), StaticThreshold(100.0))]
    assert len(table_of(oracle, sampled, tests).edges) == 0


def test_a_test_may_look_at_sequences_that_carry_the_label_only(
    oracle: Oracle, sampled: EventDataset
) -> None:
    table = table_of(oracle, sampled, [ConfiguredTest(TotalTest(), StaticThreshold(0.2), ("present",))])
    assert table.edges["polarity"].unique().to_list() == ["present"]
    assert table.support["polarity"].unique().to_list() == ["present"]


def test_the_parts_of_a_data_set_add_up(fitted: Transformer, chain: EventDataset) -> None:
    seeds = sequence_seeds(chain, 0)
    cases = select_cases(fitted, chain, CasesConfig(), seeds)
    whole = score_shard(fitted, chain, cases, TOTAL, seeds)
    parts = [
        score_shard(fitted, chain.select(rows), cases.rows(rows), TOTAL, seeds[rows])
        for rows in (np.arange(BLOCK), np.arange(BLOCK, len(chain)))
    ]
    joined = EdgeTable.join(parts)
    assert joined.edges.equals(whole.edges)
    assert joined.support.equals(whole.support)
    assert joined.exposed.equals(whole.exposed)


def test_positions_are_counted_from_the_start_of_a_cut_sequence() -> None:
    """A model that sees four events only; the label is held by the last."""
    import torch

    from eventcargo import Vocabulary
    from eventcargo.models.linear.term import LinearTerm
    from eventcargo.models.transformer.model import TransformerConfig

    data = EventDataset.from_sequences(
        [EventSequence("a", ("x", "y", "x", "y", "x", "z"), tuple(map(float, range(6))), ("bad",))]
    )
    vocabulary = Vocabulary.from_dataset(data)
    term = LinearTerm(
        len(vocabulary), 4, {"presence": np.array([6])}, torch.tensor([[4.0]]), torch.tensor([-2.0])
    )
    shape = TransformerConfig(width=16, layers=1, heads=2, max_length=6)
    model = Transformer(shape, vocabulary, data.label_names, linear=term).eval()
    model.gate.zero_()
    edges = table_of(model, data).edges
    assert edges.select("event", "position").rows() == [("z", 5)]


def test_hostile_names_stay_as_they_are() -> None:
    import torch

    from eventcargo import Vocabulary
    from eventcargo.models.linear.term import LinearTerm
    from eventcargo.models.transformer.model import TransformerConfig

    name = '<script>"\n,'
    data = EventDataset.from_sequences([EventSequence(name, (name,), (0.0,), (name,))])
    vocabulary = Vocabulary.from_dataset(data)
    term = LinearTerm(
        len(vocabulary), 4, {"presence": np.array([4])}, torch.tensor([[4.0]]), torch.tensor([-2.0])
    )
    shape = TransformerConfig(width=16, layers=1, heads=2)
    model = Transformer(shape, vocabulary, data.label_names, linear=term).eval()
    model.gate.zero_()
    edges = table_of(model, data).edges
    assert edges.select("sequence", "event", "label").rows() == [(name, name, name)]


def test_seeds_follow_from_id_and_seed(chain: EventDataset) -> None:
    assert len(np.unique(sequence_seeds(chain, 0))) == len(chain)
    assert not np.array_equal(sequence_seeds(chain, 0), sequence_seeds(chain, 1))


def test_without_sequences_there_are_tables_without_rows(oracle: Oracle, sampled: EventDataset) -> None:
    empty = table_of(oracle, sampled[:0])
    assert [len(part) for part in (empty.edges, empty.support, empty.exposed)] == [0, 0, 0]
    assert isinstance(empty.edges, pl.DataFrame)


def test_the_default_is_total_conditioning_in_both_polarities() -> None:
    (configured_test,) = configured_tests(ExtractConfig(threshold=0.3))
    assert configured_test.test.name == "total"
    assert configured_test.threshold == StaticThreshold(0.3)
    assert set(configured_test.polarities) == {"present", "absent"}


def test_prefixes_are_tested_where_the_label_is_present() -> None:
    (configured_test,) = configured_tests(ExtractConfig(test="prefix", z_threshold=2.0))
    assert configured_test.test.name == "prefix"
    assert configured_test.threshold == RelativeThreshold(2.0)
    assert configured_test.polarities == ("present",)


def test_both_tests_may_be_made() -> None:
    assert [
        configured_test.test.name for configured_test in configured_tests(ExtractConfig(test="both"))
    ] == ["prefix", "total"]


def test_the_paper_has_its_own_settings() -> None:
    (configured_test,) = configured_tests(ExtractConfig(paper=True, particles=3))
    assert configured_test.threshold == PAPER_THRESHOLD
    assert configured_test.test.config.particles == 68  # type: ignore[attr-defined]


def test_settings_reach_the_prefix_test() -> None:
    (configured_test,) = configured_tests(ExtractConfig(test="prefix", particles=7, context=4))
    config = configured_test.test.config  # type: ignore[attr-defined]
    assert (config.particles, config.context) == (7, 4)


def test_other_cuts_of_prefixes_may_be_asked_for() -> None:
    (static,) = configured_tests(ExtractConfig(test="prefix", threshold_kind="static", threshold=0.3))
    (pooled,) = configured_tests(ExtractConfig(test="prefix", threshold_kind="pooled"), pooled=0.07)
    assert (static.threshold, pooled.threshold) == (StaticThreshold(0.3), StaticThreshold(0.07))
    assert pooled.test.threshold == StaticThreshold(0.07)  # type: ignore[attr-defined]
