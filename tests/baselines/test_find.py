import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventcargo.baselines import METHODS, BaselineConfig, find_boundaries
from eventcargo.baselines.find import BLOCK_LABELS, SOLVERS
from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset, EventSequence
from eventcargo.io import read_events
from eventcargo.simulation import simulate

from ..repeats import repeated

N = 600


def sequences(seed: int) -> list[EventSequence]:
    """Label "both" iff A and B occur; label "one" iff C occurs."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(N):
        events = [name for name in "ABCDEFGH" if rng.random() < 0.45] or ["H"]
        labels = [label for label, causes in (("both", "AB"), ("one", "C")) if set(causes) <= set(events)]
        times = tuple(float(t) for t in range(len(events)))
        made.append(EventSequence(f"s{i:04}", tuple(events), times, tuple(labels)))
    return made


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return EventDataset.from_sequences(sequences(0))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_clear_causes_first(method: str, data: EventDataset) -> None:
    graph = find_boundaries(data, method, BaselineConfig(top_k=2))
    assert set(graph.boundary("both")[:2]) == {"A", "B"}
    assert graph.boundary("one")[0] == "C"


def test_edges_carry_support_sign_effect_and_p(data: EventDataset) -> None:
    graph = find_boundaries(data)
    row = graph.edges.filter(pl.col("label") == "one").row(0, named=True)
    assert row["support"] == data.support[1]
    assert (row["sign"], row["effect"]) == (1, pytest.approx(1.0))
    assert row["p_value"] < 1e-50


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_workers_changes_nothing(method: str, data: EventDataset) -> None:
    one, three = (find_boundaries(data, method, BaselineConfig(workers=n)) for n in (1, 3))
    assert one.edges.equals(three.edges)


def test_progress_counts_the_labels_done(data: EventDataset) -> None:
    seen: list[tuple[int, int]] = []
    find_boundaries(data, progress=lambda *report: seen.append(report[1:3]))
    assert seen == [(2, 2)]


def test_labels_without_a_boundary_stay_in_the_graph() -> None:
    plain = EventDataset.from_sequences([EventSequence("a", ("x",), (0.0,), ("bad",))])
    graph = find_boundaries(plain)
    assert (graph.labels, graph.boundary("bad")) == (["bad"], [])


def test_an_unknown_method_is_refused_with_the_known_ones(data: EventDataset) -> None:
    with pytest.raises(ConfigError, match=r"'iam'.*iamb, cmb"):
        find_boundaries(data, "iam")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"dof": "half"}, "half"),
        ({"min_rows_per_dof": -0.1}, "-0.1"),
        ({"top_k": 0}, "top_k=0"),
        ({"workers": -1}, "workers=-1"),
    ],
)
def test_settings_out_of_range_are_refused_with_the_value(settings: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        BaselineConfig(**settings)


def test_settings_on_the_edge_are_allowed() -> None:
    assert BaselineConfig(alpha=1e-9, min_rows_per_dof=0, top_k=1, workers=0).top_k == 1


CORRECTED = ["iamb", "cmb", "mb-by-mb", "pcd-by-pcd", "mutual-information", "lift"]


@pytest.fixture(scope="module")
def tossed(data: EventDataset) -> EventDataset:
    """A label that depends on nothing."""
    coins = [EventSequence(s.id, s.events, s.times, ("heads",) if i % 3 else ()) for i, s in enumerate(data)]
    return EventDataset.from_sequences(coins)


@pytest.mark.parametrize("method", CORRECTED)
def test_the_correction_divides_alpha_by_the_number_of_event_types(method: str, tossed: EventDataset) -> None:
    loose = find_boundaries(tossed, method, BaselineConfig(alpha=0.8, correct=False))
    strict = find_boundaries(tossed, method, BaselineConfig(alpha=0.1, correct=False))
    corrected = find_boundaries(tossed, method, BaselineConfig(alpha=0.1 * len(tossed.event_names)))
    assert corrected.edges.equals(strict.edges)
    assert len(loose) > len(strict)


def test_logistic_regression_needs_no_correction(tossed: EventDataset) -> None:
    plain, corrected = (
        find_boundaries(tossed, "l1-logistic", BaselineConfig(alpha=0.8, correct=correct))
        for correct in (False, True)
    )
    assert len(plain)
    assert corrected.edges.equals(plain.edges)


def test_the_settings_of_published_results_are_the_defaults() -> None:
    assert BaselineConfig() == BaselineConfig(
        alpha=0.05, correct=True, dof="observed", min_rows_per_dof=5.0, top_k=5, workers=0
    )


@pytest.mark.parametrize("method", ["mutual-information", "lift"])
def test_screens_keep_top_k_events(method: str, tossed: EventDataset) -> None:
    graph = find_boundaries(tossed, method, BaselineConfig(alpha=0.99, correct=False, top_k=3))
    assert len(graph) == 3


@pytest.mark.parametrize("setting", [{"dof": "full"}, {"min_rows_per_dof": 1000.0}])
def test_the_settings_of_the_test_reach_it(setting: dict, data: EventDataset) -> None:
    changed = find_boundaries(data, config=BaselineConfig(**setting))
    assert changed.edges["p_value"].to_list() != find_boundaries(data).edges["p_value"].to_list()


def test_an_inhibitor_has_a_negative_sign(data: EventDataset) -> None:
    calm = [EventSequence(s.id, s.events, s.times, () if "C" in s.events else ("calm",)) for s in data]
    row = find_boundaries(EventDataset.from_sequences(calm)).edges.row(0, named=True)
    assert (row["event"], row["sign"], row["effect"]) == ("C", -1, pytest.approx(-1.0))


def test_more_labels_than_a_block_holds_get_their_own_answers() -> None:
    rng = np.random.default_rng(3)
    names = [f"e{i:02}" for i in range(2 * BLOCK_LABELS + 1)]
    made = []
    for i in range(400):
        events = [name for name in names if rng.random() < 0.5]
        times = tuple(float(t) for t in range(len(events)))
        made.append(EventSequence(f"s{i:04}", tuple(events), times, tuple(f"by {event}" for event in events)))
    seen: list[tuple[int, int]] = []
    graph = find_boundaries(
        EventDataset.from_sequences(made), progress=lambda *report: seen.append(report[1:3])
    )
    assert graph.boundaries == {f"by {event}": [event] for event in names}
    assert seen == [(8, 17), (16, 17), (17, 17)]


def test_data_without_labels_give_an_empty_graph(data: EventDataset) -> None:
    bare = EventDataset.from_sequences([EventSequence(s.id, s.events, s.times, ()) for s in data[:20]])
    seen: list[tuple[int, int]] = []
    graph = find_boundaries(bare, progress=lambda *report: seen.append(report[1:3]))
    assert (graph.labels, seen) == ([], [])


@given(st.permutations("ABCDEFGH"), st.sampled_from(["iamb", "cmb", "pcd-by-pcd", "mi-mcf"]))
@settings(max_examples=12, deadline=None)
def test_renaming_event_types_renames_the_graph(order: list[str], method: str) -> None:
    new_name = dict(zip("ABCDEFGH", order, strict=True))
    given_names = sequences(1)
    renamed = [
        EventSequence(s.id, tuple(new_name[event] for event in s.events), s.times, s.labels)
        for s in given_names
    ]
    before = find_boundaries(EventDataset.from_sequences(given_names), method)
    after = find_boundaries(EventDataset.from_sequences(renamed), method)
    for label in before.labels:
        assert {new_name[event] for event in before.boundary(label)} == set(after.boundary(label))


@given(st.integers(0, 10_000))
@settings(max_examples=5, deadline=None)
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    rows = [(s.id, time, event) for s in sequences(2) for time, event in zip(s.times, s.events, strict=True)]
    marks = [(s.id, label) for s in sequences(2) for label in s.labels]
    events = pl.DataFrame(rows, schema=["sequence_id", "time", "event"], orient="row")
    labels = pl.DataFrame(marks, schema=["sequence_id", "label"], orient="row")
    shuffled = (table.sample(fraction=1.0, shuffle=True, seed=seed) for table in (events, labels))
    graph = find_boundaries(read_events(events, labels))
    assert find_boundaries(read_events(*shuffled)).edges.equals(graph.edges)


@pytest.mark.parametrize("method", METHODS)
def test_data_without_sequences_events_or_labels_have_empty_boundaries(
    method: str, data: EventDataset
) -> None:
    silent = EventDataset.from_sequences(
        [EventSequence(str(i), (), (), ("bad",) * (i % 2)) for i in range(9)]
    )
    bare = EventDataset.from_sequences([EventSequence("a", ("x",), (0.0,), ())])
    assert find_boundaries(silent, method).boundaries == {"bad": []}
    assert find_boundaries(bare, method).boundaries == {}
    assert find_boundaries(data.select([]), method).boundaries == {"both": [], "one": []}


def test_every_method_has_a_solver() -> None:
    assert tuple(SOLVERS) == METHODS


@pytest.mark.parametrize("method", [method for method in METHODS if method != "mi-mcf"])
def test_copies_of_sequences_make_no_edge_surer(method: str) -> None:
    """mi-mcf compares amounts of information, which copies do not change, and has no test."""
    data = simulate("confounded", sequences=300, seed=100).data
    once, copies, torn = (
        find_boundaries(each, method).edges.sort("label", "event")
        for each in (data, repeated(data), repeated(data, grouped=False))
    )
    assert once.select("label", "event").equals(copies.select("label", "event"))
    for name in ("p_value", "strength", "effect"):
        assert copies[name].to_list() == pytest.approx(once[name].to_list(), rel=1e-6)
    assert len(torn) > len(once)


def test_a_smallest_sample_is_counted_in_groups() -> None:
    """Four sequences are too few for a test, and so are ten copies of them."""
    sequences = [EventSequence(f"s{i}", ("a",), (0.0,), ("x",)) for i in range(2)]
    sequences += [EventSequence(f"t{i}", ("b",), (0.0,), ()) for i in range(2)]
    data = EventDataset.from_sequences(sequences)
    assert len(find_boundaries(repeated(data, 10)).edges) == 0
    assert len(find_boundaries(repeated(data, 10, grouped=False)).edges) > 0
