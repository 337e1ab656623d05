"""A cohort of several labels is a case-control study for each of them, no more and no less."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eventcargo import Cargo, Cohort, EventDataset, find_boundaries
from eventcargo.cohort import CohortData, Tables, build_cohort

EARLY, LATE = 5, 15


def tables(seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`early` at 5, after which recording ends, and `late` at 15: whoever is at risk of one is its control.

    `early` is caused by `a`, `late` by `b`, which a subject with `late` has from the start.
    """
    random, events, outcomes = np.random.default_rng(seed), [], []
    for number in range(400):
        name, kind = f"s{number:03}", ("early", "late", "", "")[number % 4]
        causes = {"early": "a", "late": "b"}.get(kind, "")
        end = EARLY if kind == "early" else 20
        events += [(name, time, f"e{random.integers(4)}") for time in range(end)]
        events += [(name, 0.5, each) for each in "ab" if each in causes or random.random() < 0.1]
        outcomes += [(name, EARLY if kind == "early" else LATE, kind)] if kind else []
    return (
        pl.DataFrame(events, ["sequence_id", "time", "event"], orient="row", strict=False),
        pl.DataFrame(outcomes, ["sequence_id", "when", "label"], orient="row", strict=False),
    )


def build(**settings: Any) -> CohortData:
    return build_cohort(Cohort(label_time="when", controls=9, **settings), Tables(*tables()))


@pytest.fixture(scope="module")
def both() -> CohortData:
    return build()


@pytest.fixture(scope="module")
def alone() -> dict[str, EventDataset]:
    return {label: build(only=(label,)).data for label in ("early", "late")}


def test_each_label_has_the_sequences_of_its_own_cohort(
    both: CohortData, alone: dict[str, EventDataset]
) -> None:
    studies = {study.label_names[0]: study for study in both.data.studies()}
    assert list(studies) == ["early", "late"]
    for label, study in studies.items():
        assert list(study) == list(alone[label])
        assert (study.support[0], len(study)) == (100, 400 if label == "early" else 300)


def test_each_label_has_the_edges_of_its_own_cohort(both: CohortData, alone: dict[str, EventDataset]) -> None:
    graph = find_boundaries(both.data)
    for label, cause in (("early", "a"), ("late", "b")):
        found = graph.edges.filter(label=label)
        assert_frame_equal(found, find_boundaries(alone[label]).edges)
        assert (found["event"].to_list(), found["sign"].to_list()) == ([cause], [1])


def test_each_label_has_the_boundary_of_its_own_cohort_by_a_whole_run(
    both: CohortData, alone: dict[str, EventDataset]
) -> None:
    settings: dict[str, Any] = {"preset": "fast", "steps": 10, "max_time": "9h", "n_jobs": 1}
    cargo = Cargo(**settings).fit(both.data)
    for label, cause in (("early", "a"), ("late", "b")):
        assert (
            cargo.graph_.boundary(label)
            == Cargo(**settings).fit(alone[label]).graph_.boundary(label)
            == [cause]
        )


def test_if_all_labels_were_known_everywhere_age_would_be_a_cause(both: CohortData) -> None:
    edges = find_boundaries(both.data.knowing(None)).edges
    assert {"e0", "e1"} < set(edges["event"])


def test_the_index_says_which_labels_are_known(both: CohortData) -> None:
    index = both.index
    cases, controls = index.filter("case"), index.filter(~pl.col("case"))
    assert cases["known"].to_list() == cases["labels"].to_list()
    known = {(time, *labels) for time, labels in controls.select("time", "known").iter_rows()}
    assert known == {(5.0, "early"), (15.0, "late")}
    assert "known" not in build(only=("late",)).index.columns


def test_a_control_is_known_for_all_labels_of_its_case() -> None:
    events, outcomes = tables()
    same = pl.concat([outcomes, outcomes.filter(label="early").with_columns(label=pl.lit("worse"))])
    data = build_cohort(Cohort(label_time="when", controls=2), Tables(events, same)).data
    assert [study.label_names for study in data.studies()] == [("early", "worse"), ("late",)]


def test_windows_are_known_for_all_labels() -> None:
    cohort = Cohort(label_time="when", index="windows", every="5", lookback="5")
    assert build_cohort(cohort, Tables(*tables())).data.known is None


def test_a_label_without_a_cause_does_not_depend_on_age() -> None:
    """Labels at different ages, event types that come with age or go with it, and no cause at all."""
    wrong = pooled = 0
    for seed in range(6):
        random, events, outcomes = np.random.default_rng(seed), [], []
        for number in range(300):
            name, length = f"s{number:03}", random.uniform(60, 100)
            for time in np.sort(random.uniform(0, length, random.poisson(length / 3))):
                comes = random.random() < 0.1 + 0.8 * time / 100
                events.append((name, time, f"{'comes' if comes else 'goes'} {random.integers(3)}"))
            for label, first in (("early", 10), ("middle", 25), ("late", 45)):
                if random.random() < 0.4:
                    outcomes.append((name, random.uniform(first, first + 12), label))
        recorded = (
            pl.DataFrame(events, ["sequence_id", "time", "event"], orient="row"),
            pl.DataFrame(outcomes, ["sequence_id", "when", "label"], orient="row"),
        )
        data = build_cohort(Cohort(label_time="when", seed=seed), Tables(*recorded)).data
        wrong += len(find_boundaries(data).edges)
        carried = data.label_matrix().toarray() > 0
        for_all = carried | (data.label_rows.lengths == 0)[:, None]
        pooled += len(find_boundaries(data.knowing(for_all)).edges)
    assert wrong <= 3  # at a level of 5 % for each of 18 labels, one is to be expected
    assert pooled > 20


def test_no_cause_of_one_label_seems_to_prevent_another() -> None:
    """Three labels, each with a cause shortly before it; as comparisons, cases of the others have theirs."""
    random, events, outcomes = np.random.default_rng(100), [], []
    for number in range(600):
        name, own = f"s{number:03}", "abc-"[number % 4]
        events += [(name, time, f"e{random.integers(4)}") for time in random.uniform(0, 100, 40)]
        events += [(name, time, each) for each in "abc" for time in random.uniform(0, 100, 1)]
        if own != "-":
            at = random.uniform(20, 90)
            outcomes.append((name, at, f"label of {own}"))
            events += [(name, at - random.uniform(0, 5), own)] if random.random() < 0.9 else []
    recorded = (
        pl.DataFrame(events, ["sequence_id", "time", "event"], orient="row"),
        pl.DataFrame(outcomes, ["sequence_id", "when", "label"], orient="row"),
    )
    data = build_cohort(Cohort(label_time="when", lookback="10"), Tables(*recorded)).data
    graph, pooled = find_boundaries(data), find_boundaries(data.knowing(None))
    assert [graph.boundary(label)[0] for label in graph.labels] == ["a", "b", "c"]
    assert not set(graph.edges.filter(sign=-1)["event"]) & set("abc")
    assert set(pooled.edges.filter(sign=-1)["event"]) & set("abc")
