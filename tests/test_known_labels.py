"""What is said about a label is said as if the sequences for which it is unknown were not there.

The oracle is a data set without these sequences, made from their Python objects, in which the label is the
only one.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from polars.testing import assert_frame_equal

from eventcargo import (
    Cargo,
    ConfigError,
    EventCargoWarning,
    EventDataset,
    EventSequence,
    LabelGraph,
    find_boundaries,
    judge,
    verify,
    write_events,
)
from eventcargo.baselines.config import METHODS
from eventcargo.batches import Batches
from eventcargo.evaluation import count_support
from eventcargo.leaks import find_leaks
from eventcargo.models import label_probabilities
from eventcargo.models.base_rates import Rates
from eventcargo.models.counts import Counts, Tally
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.validation import set_aside
from eventcargo.rules import find_rules
from eventcargo.simulation import simulate
from eventcargo.summary import summarise
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.evidence import Evidence
from eventcargo.vocabulary import Vocabulary

LABELS = ("L000", "L001", "L002")


def draw(groups: bool) -> EventDataset:
    """About half of the sequences are unknown for a label, with it or without it, mostly with a cause."""
    simulated = simulate("short", sequences=2400, labels=3, seed=100)
    whole, rng = simulated.data, np.random.default_rng(0)
    members = [set(simulated.truth.boundary(label)) for label in LABELS]
    causes = np.array([[event in own for own in members] for event in whole.event_names], np.int64)
    known = rng.random((2400, 3)) < np.where(whole.presence() @ causes > 0, 0.4, 0.7)
    sequences = [
        replace(sequence, labels=tuple(name for name in sequence.labels if row[LABELS.index(name)]))
        for sequence, row in zip(whole, known, strict=True)
    ]
    data = EventDataset.from_sequences(sequences).knowing(known)
    return data.in_groups(np.arange(len(data)) // 2) if groups else data


def without_unknown(data: EventDataset, label: str) -> EventDataset:
    """The sequences for which a label is known, with this label alone."""
    number = data.label_names.index(label)
    rows = data.known_rows(number)
    assert rows is not None
    kept = [
        replace(data[row], labels=(label,) if label in data[row].labels else ())
        for row in np.flatnonzero(rows).tolist()
    ]
    oracle = EventDataset.from_sequences(kept)
    assert oracle.event_names == data.event_names
    return oracle if data.groups is None else oracle.in_groups(data.groups[rows])


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return draw(groups=False)


@pytest.fixture(scope="module")
def grouped() -> EventDataset:
    return draw(groups=True)


@pytest.fixture(params=["alone", "in groups"])
def either(request: pytest.FixtureRequest, data: EventDataset, grouped: EventDataset) -> EventDataset:
    return data if request.param == "alone" else grouped


def edges_of(graph: LabelGraph, label: str) -> Any:
    return graph.edges.filter(label=label)


@pytest.mark.parametrize("method", METHODS)
def test_every_classical_method_finds_the_same(either: EventDataset, method: str) -> None:
    graph = find_boundaries(either, method)
    assert graph.labels == list(LABELS)
    for label in LABELS:
        oracle = find_boundaries(without_unknown(either, label), method)
        assert_frame_equal(edges_of(graph, label), oracle.edges)
        assert graph.support[label] == oracle.support[label]
    assert len(graph.edges) > 4


def test_verification_measures_the_same(either: EventDataset) -> None:
    graph = verify(LabelGraph.from_boundaries({label: ["E00000"] for label in LABELS}), either)
    for label in LABELS:
        oracle = verify(LabelGraph.from_boundaries({label: ["E00000"]}), without_unknown(either, label))
        assert_frame_equal(edges_of(graph, label), oracle.edges)
    assert len(graph.edges) > 4


def test_rules_are_the_same_with_the_same_figures(either: EventDataset) -> None:
    found = find_boundaries(either)
    graph = LabelGraph.from_boundaries({label: found.boundary(label) for label in LABELS})
    rules = find_rules(either, graph)
    for label in LABELS:
        alone = LabelGraph.from_boundaries({label: graph.boundary(label)})
        assert rules[label] == find_rules(without_unknown(either, label), alone)[label]
    assert any(rules.values())


def test_verdicts_rest_on_the_same_figures(either: EventDataset) -> None:
    boundaries = {label: find_boundaries(either).boundary(label)[:1] for label in LABELS}
    found = Evidence(either, LabelGraph.from_boundaries(boundaries), None, JudgeConfig())
    for number, label in enumerate(LABELS):
        alone = LabelGraph.from_boundaries({label: boundaries[label]})
        oracle = Evidence(without_unknown(either, label), alone, None, JudgeConfig())
        assert (found.support[number], found.n_known[number]) == (oracle.support[0], oracle.n_known[0])
        one, other = found.predictabilities[number], oracle.predictabilities[0]
        assert one is not None
        assert other is not None
        assert one.explained == pytest.approx(other.explained, abs=0.02)
        beyond, expected = found.beyond[number], oracle.beyond[0]
        assert [each.other for each in beyond] == [each.other for each in expected]
        assert [each.observed for each in beyond] == [each.observed for each in expected]
        assert [each.expected for each in beyond] == pytest.approx(
            [each.expected for each in expected], rel=0.05
        )
    assert not found.together


def test_the_verdict_of_the_first_label_is_the_same_to_the_word(either: EventDataset) -> None:
    graph, label = find_boundaries(either), LABELS[0]
    alone = LabelGraph.from_boundaries({label: graph.boundary(label)})
    oracle = judge(without_unknown(either, label), alone)[label]
    assert (
        judge(either, LabelGraph.from_boundaries({each: graph.boundary(each) for each in LABELS}))[label]
        == oracle
    )


def test_leaks_are_counted_in_the_same_sequences() -> None:
    kinds = [(("x", "record"), ("bad",)), (("x", "y"), ()), (("record", "y"), ("worse",))] * 20
    data = EventDataset.from_sequences(
        [EventSequence(f"{at:02}", events, (0.0, 1.0), labels) for at, (events, labels) in enumerate(kinds)]
    )
    known = np.ones((60, 2), bool)
    known[2::3, 0] = False  # in a case of `worse`, `bad` is unknown
    assert [leak for leak in find_leaks(data) if leak.label == "bad"] == []
    found = [leak for leak in find_leaks(data.knowing(known)) if leak.label == "bad"]
    assert found == find_leaks(without_unknown(data.knowing(known), "bad"))
    assert [leak.event for leak in found] == ["record"]


def test_base_rates_are_those_of_known_sequences(data: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(data)
    rates = Rates.of(data, vocabulary).labels
    for number, label in enumerate(LABELS):
        assert rates[number] == Rates.of(without_unknown(data, label), vocabulary).labels[0]
    labelled = data.select(data.label_rows.lengths > 0)
    assert Rates.of(data, vocabulary, unlabelled=True).labels == pytest.approx(
        (data.support + 0.5) / (labelled.n_known + 1)
    )


def test_counts_give_the_same_probabilities(data: EventDataset) -> None:
    fitted = Counts.fit(data)
    tally = Tally.from_tensors(fitted.tally.to_tensors(), len(fitted.vocabulary), 3)
    model = Counts(tally, fitted.vocabulary, data.label_names)
    probabilities = label_probabilities(model, data)
    for number, label in enumerate(LABELS):
        known = without_unknown(data, label)
        expected = label_probabilities(Counts.fit(known, model.vocabulary), known)[:, 0]
        assert probabilities[data.known_rows(number), number] == pytest.approx(expected, abs=1e-5)


def probabilities_of(data: EventDataset, vocabulary: Vocabulary) -> NDArray[np.float64]:
    batches = Batches(data, vocabulary, 64)
    term = fit_linear(data, vocabulary, 64)
    batch = batches.take(np.arange(len(data)))
    logits = term.logits(batch, batch.at_end).double().numpy()
    return np.asarray(1 / (1 + np.exp(-logits)))


def test_the_linear_term_fits_the_same(either: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(either)
    found = probabilities_of(either, vocabulary)
    for number, label in enumerate(LABELS):
        oracle = probabilities_of(without_unknown(either, label), vocabulary)[:, 0]
        rows = either.known_rows(number)
        assert rows is not None
        assert np.abs(found[rows, number] - oracle).mean() < 0.02
        assert found[rows, number].mean() == pytest.approx(oracle.mean(), abs=0.01)


def test_a_whole_run_finds_the_same(data: EventDataset) -> None:
    settings: dict[str, Any] = {"preset": "fast", "steps": 10, "max_time": "9h", "n_jobs": 1}
    cargo = Cargo(**settings).fit(data)
    for label in LABELS:
        oracle = Cargo(**settings).fit(without_unknown(data, label))
        assert set(cargo.graph_.boundary(label)) == set(oracle.graph_.boundary(label))
        assert len(oracle.graph_.boundary(label)) > 1
        assert cargo.graph_.support[label] == oracle.graph_.support[label]
    kept, held = set_aside(data, TrainConfig().held_out, 0)
    rates, shares = (kept.support + 0.5) / (kept.n_known + 1), held.support / held.n_known
    expected = -(shares * np.log(rates) + (1 - shares) * np.log1p(-rates))
    assert cargo.quality_ is not None
    assert [row.base_log_loss for row in cargo.quality_.labels] == pytest.approx(expected.tolist())


def test_a_label_known_nowhere_has_nothing_and_disturbs_nothing(data: EventDataset) -> None:
    known = data.known_matrix()
    assert known is not None
    rows = ~known[:, 0]
    part = data.select(rows)
    graph, expected = find_boundaries(part), find_boundaries(part.studies()[1])
    assert_frame_equal(edges_of(graph, "L001"), edges_of(expected, "L001"))
    assert [find_boundaries(part, method).boundary("L000") for method in METHODS] == [[]] * len(METHODS)
    verified = verify(LabelGraph.from_boundaries({"L000": ["E00000"], "L001": []}), part)
    assert verified.boundary("L001")
    assert find_rules(part, verified)["L000"] is None
    assert judge(part, verified)["L000"].level == "doubt"
    assert find_leaks(part) == find_leaks(part.studies()[1]) + find_leaks(part.studies()[2])
    with pytest.warns(EventCargoWarning, match="no positive example, the first: 'L000'"):
        cargo = Cargo(preset="fast", steps=10, max_time="9h", n_jobs=1).fit(part)
    assert cargo.graph_.boundary("L000") == []
    assert len(cargo.graph_.boundary("L001")) > 1


def test_a_label_carried_wherever_it_is_known_is_told() -> None:
    data = EventDataset.from_sequences(
        [
            EventSequence(f"{at:02}", ("x", "y", "z"), (0.0, 1.0, 2.0), ("bad",) if at % 2 else ())
            for at in range(40)
        ]
    )
    known = data.label_matrix().toarray() > 0
    problems = summarise(data.knowing(known)).problems
    assert any("1 label in every sequence for which it is known" in problem for problem in problems)
    assert summarise(data.knowing(known)).share_known == 0.5
    graph = LabelGraph.from_boundaries({"bad": ["x"]})
    assert "of 20 sequences, all carry the label" in judge(data.knowing(known), graph)["bad"].reasons[0]
    assert Evidence(data.knowing(known), graph, None, JudgeConfig()).predictabilities == [None]


@pytest.mark.parametrize("view", ["select", "split", "folds", "chunks", "in_groups", "saved"])
def test_views_and_files_keep_what_is_known(data: EventDataset, view: str, tmp_path: Path) -> None:
    known = data.known_matrix()
    assert known is not None
    if view == "saved":
        data[100:].save(tmp_path / "data")
        assert np.array_equal(EventDataset.load(tmp_path / "data").known_matrix(), known[100:])
        assert EventDataset.load(tmp_path / "data").fingerprint == data[100:].fingerprint
        return
    parts = {
        "select": lambda: [data.select(np.arange(len(data))[::-3])],
        "split": lambda: list(data.split(0.4)),
        "folds": lambda: [part for pair in data.folds(3) for part in pair],
        "chunks": lambda: list(data.chunks(700)),
        "in_groups": lambda: [data.in_groups(np.zeros(len(data)))],
    }[view]()
    place = {name: row for row, name in enumerate(data.sequence_ids.to_pylist())}
    for part in parts:
        rows = [place[name] for name in part.sequence_ids.to_pylist()]
        assert np.array_equal(part.known_matrix(), known[rows])
        assert part.n_known.tolist() == known[rows].sum(axis=0).tolist()


def test_what_is_known_changes_the_fingerprint(data: EventDataset) -> None:
    known = data.known_matrix()
    assert known is not None
    other = known.copy()
    row, label = np.argwhere(~known)[0]
    other[row, label] = True
    prints = {
        each.fingerprint for each in (data, data.knowing(None), data.knowing(other), data.knowing(known))
    }
    assert len(prints) == 3


def test_data_without_unknown_labels_have_no_file_of_them(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "data")
    assert not list((tmp_path / "data").glob("known*"))
    assert tiny.knowing(np.ones((4, 2), bool)).known is None
    assert tiny.studies() == [tiny]


def test_a_carried_label_cannot_be_unknown(tiny: EventDataset) -> None:
    with pytest.raises(ConfigError, match="4 labels carried by a sequence but not known"):
        tiny.knowing(np.zeros((4, 2), bool))
    with pytest.raises(ConfigError, match=r"known labels of shape \(4, 3\).*\(4, 2\)"):
        tiny.knowing(np.ones((4, 3), bool))


def test_tables_cannot_say_what_is_unknown(tmp_path: Path) -> None:
    data = EventDataset.from_sequences(
        [EventSequence("a", ("x",), (0.0,), ("bad",)), EventSequence("b", ("x",), (0.0,), ("worse",))]
    )
    known = np.array([[True, False], [True, True]])
    with pytest.warns(EventCargoWarning, match="1 pair of a sequence and a label is unknown.*data.save"):
        write_events(data.knowing(known), tmp_path / "tables")


def test_the_description_says_how_much_is_known(data: EventDataset) -> None:
    known = data.known_matrix()
    assert known is not None
    assert f"labels known        {known.mean():.1%}" in repr(data)
    assert "labels known" not in repr(data.knowing(None))
    assert count_support(LabelGraph.from_boundaries({"L000": []}), data).support["L000"] == data.support[0]


def test_sequences_without_labels_have_no_unknown_ones(data: EventDataset) -> None:
    bare = data.without_labels()
    assert bare.known is None
    batch = Batches(bare, Vocabulary(bare.event_names), max_length=64).take(np.arange(4))
    assert (batch.known, batch.labels.shape) == (None, (4, 0))
