"""Laws that hold for any boundaries, and the one-shot protocol against a plain loop."""

from statistics import fmean

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eventcargo import EventDataset, EventSequence, LabelGraph, evaluate
from eventcargo.evaluation import Average, Scores, evaluate_oneshot

LAW = settings(deadline=None, max_examples=50)  # no deadline: the first call loads polars
EVENTS = st.sampled_from("abcdef")
LABELS = st.sampled_from("lmn")
BOUNDARIES = st.dictionaries(LABELS, st.sets(EVENTS), min_size=1)


@st.composite
def truths(draw: st.DrawFn) -> LabelGraph:
    boundaries = draw(BOUNDARIES)
    support = {label: draw(st.integers(1, 10**6)) for label in boundaries}
    return LabelGraph.from_boundaries(boundaries, support)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[LabelGraph, LabelGraph]:
    """A truth and something found for some of its labels."""
    truth = draw(truths())
    found = draw(st.dictionaries(st.sampled_from(truth.labels), st.sets(EVENTS)))
    return LabelGraph.from_boundaries(found), truth


def _values(scores: Scores) -> list[float]:
    averages = [scores.micro, scores.macro, scores.weighted]
    rows = scores.per_label.select("precision", "recall", "f1").rows()
    known = [(average.precision, average.recall, average.f1) for average in averages if average is not None]
    return [value for row in [*known, *rows] for value in row]


@LAW
@given(truths())
def test_truth_against_itself_is_perfect(truth: LabelGraph) -> None:
    assert set(_values(evaluate(truth, truth))) == {1.0}


@LAW
@given(pairs())
def test_measures_lie_between_zero_and_one(pair: tuple[LabelGraph, LabelGraph]) -> None:
    assert all(0.0 <= value <= 1.0 for value in _values(evaluate(*pair)))


@LAW
@given(pairs(), st.data())
def test_wrong_edge_never_raises_precision_or_changes_recall(
    pair: tuple[LabelGraph, LabelGraph], data: st.DataObject
) -> None:
    found, truth = pair
    label = data.draw(st.sampled_from(truth.labels))
    more = {**found.boundaries, label: [*found.boundaries.get(label, []), "wrong"]}
    before, after = evaluate(found, truth), evaluate(LabelGraph.from_boundaries(more), truth)
    for name in ("micro", "macro", "weighted"):
        old, new = before.average(name), after.average(name)
        assert old is not None
        assert new is not None
        assert new.precision <= old.precision
        assert new.recall == old.recall


@LAW
@given(pairs())
def test_renaming_events_in_both_changes_nothing(pair: tuple[LabelGraph, LabelGraph]) -> None:
    found, truth = pair
    new_names = dict(zip("abcdef", "zyxwvu", strict=True))

    def renamed(graph: LabelGraph) -> LabelGraph:
        boundaries = {label: [new_names[event] for event in graph.boundary(label)] for label in graph.labels}
        return LabelGraph.from_boundaries(boundaries, graph.support)

    assert evaluate(renamed(found), renamed(truth)).to_dict() == evaluate(found, truth).to_dict()
    assert evaluate(found, truth, event_of=lambda name: new_names[name]).micro == evaluate(found, truth).micro


SEQUENCES = st.lists(st.tuples(st.lists(EVENTS, max_size=6), st.sets(LABELS)), min_size=1, max_size=6)


def _dataset(rows: list[tuple[list[str], set[str]]]) -> EventDataset:
    return EventDataset.from_sequences(
        [
            EventSequence(str(i), tuple(events), tuple(map(float, range(len(events)))), tuple(labels))
            for i, (events, labels) in enumerate(rows)
        ]
    )


def _measure(true: set[str], found: set[str]) -> tuple[float, float, float]:
    hit = len(true & found)
    return hit / len(found) if found else 0.0, hit / len(true), 2 * hit / (len(true) + len(found))


@LAW
@given(SEQUENCES, truths(), st.data())
def test_oneshot_equals_a_plain_loop(
    rows: list[tuple[list[str], set[str]]], truth: LabelGraph, data: st.DataObject
) -> None:
    units = {
        (str(i), label): set(events) & set(truth.boundary(label))
        for i, (events, labels) in enumerate(rows)
        for label in labels & set(truth.labels)
    }
    assume(any(units.values()))
    found = {unit: data.draw(st.sets(EVENTS)) for unit in units}
    table = [(sequence, label, event) for (sequence, label), events in found.items() for event in events]
    columns = {"sequence": pl.String, "label": pl.String, "event": pl.String}
    scores = evaluate_oneshot(pl.DataFrame(table, columns, orient="row"), _dataset(rows), truth)
    measured = {unit: _measure(true, found[unit]) for unit, true in units.items() if true}
    weighted = Average(*(fmean(column) for column in zip(*measured.values(), strict=True)))
    labels = {label for _, label in measured}
    macro = fmean(
        fmean(f1 for (_, unit_label), (*_, f1) in measured.items() if unit_label == label) for label in labels
    )
    assert scores.weighted is not None
    assert scores.weighted.f1 == pytest.approx(weighted.f1)
    assert scores.weighted.precision == pytest.approx(weighted.precision)
    assert scores.weighted.recall == pytest.approx(weighted.recall)
    assert scores.macro.f1 == pytest.approx(macro)
    assert scores.n_empty == len(units) - len(measured)
