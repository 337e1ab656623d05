import numpy as np
import polars as pl
import pytest

from eventcargo import Cargo, ConfigError, DataError, EventDataset, EventSequence, LabelGraph, compare
from eventcargo.comparison import CHANGES, CompareConfig

Effects = dict[str, float]


def world(effects: Effects, n: int, seed: int, base: float = 0.1, label: str = "bad") -> EventDataset:
    """Sequences with the events a to e, each in 3 of 10; each of `effects` multiplies the label's odds."""
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d", "e"]
    present = rng.random((n, len(names))) < 0.3
    logits = np.log(base / (1 - base)) + sum(
        np.log(effects.get(name, 1.0)) * present[:, at] for at, name in enumerate(names)
    )
    carries = rng.random(n) < 1 / (1 + np.exp(-logits))
    return EventDataset.from_sequences(
        [
            EventSequence(
                f"s{row:05}",
                tuple(name for name, has in zip(names, present[row], strict=True) if has),
                tuple(map(float, range(int(present[row].sum())))),
                (label,) if carries[row] else (),
            )
            for row in range(n)
        ]
    )


def graph(*events: str, label: str = "bad") -> LabelGraph:
    return LabelGraph.from_boundaries({label: events})


def change(comparison: object, event: str) -> str:
    edges: pl.DataFrame = comparison.edges  # type: ignore[attr-defined]
    return str(edges.filter(event=event)["change"][0])


STRONG, WEAK = {"a": 6.0, "b": 4.0, "c": 0.3}, {"a": 1.0, "b": 4.0, "c": 3.0, "d": 5.0}


def test_every_kind_of_change_has_its_word() -> None:
    before, after = world(STRONG, 4000, 1), world(WEAK, 4000, 2)
    found = compare((graph("a", "b", "c"), before), (graph("b", "c", "d"), after))
    words = {event: change(found, event) for event in "abcd"}
    assert words == {"a": "lost", "b": "none", "c": "reversed", "d": "gained"}
    assert found.counts["none"] == 1


def test_an_edge_that_one_search_missed_is_not_lost() -> None:
    """The data of both show `a` alike; the second graph just does not have it."""
    found = compare((graph("a", "b"), world(STRONG, 3000, 1)), (graph("b"), world(STRONG, 3000, 2)))
    assert change(found, "a") == "none"
    assert found.edges.filter(event="a")["found"].to_list() == ["a"]


def test_effects_that_are_there_in_both_become_weaker_or_stronger() -> None:
    first, second = world({"a": 9.0}, 6000, 1), world({"a": 3.0}, 6000, 2)
    one, other = (graph("a"), first), (graph("a"), second)
    assert change(compare(one, other), "a") == "weaker"
    assert change(compare(other, one), "a") == "stronger"


def test_the_interval_of_the_ratio_covers_and_turns_with_the_order() -> None:
    first, second = (graph("a"), world({"a": 9.0}, 6000, 1)), (graph("a"), world({"a": 3.0}, 6000, 2))
    there, back = (compare(*order).edges.row(0, named=True) for order in ((first, second), (second, first)))
    assert there["ratio_low"] < 1 / 3 < there["ratio_high"]
    assert there["ratio"] == pytest.approx(1 / back["ratio"])
    assert there["ratio_low"] == pytest.approx(1 / back["ratio_high"])


def test_an_event_type_that_became_rare_changes_in_frequency_alone() -> None:
    rng = np.random.default_rng(0)

    def fleet(share: float, n: int) -> EventDataset:
        has = rng.random(n) < share
        carries = rng.random(n) < np.where(has, 0.4, 0.1)
        return EventDataset.from_sequences(
            [
                EventSequence(f"{i:05}", ("a", "z") if has[i] else ("z",), (0.0, 1.0)[: 1 + has[i]],
                              ("bad",) if carries[i] else ())
                for i in range(n)
            ]
        )  # fmt: skip

    found = compare((graph("a"), fleet(0.5, 3000)), (graph("a"), fleet(0.2, 3000))).edges.row(0, named=True)
    assert found["change"] == "frequency"
    assert found["frequency_difference_high"] < 0
    assert found["frequency_a"] == pytest.approx(0.5, abs=0.03)


def test_if_one_cause_changes_the_others_do_not_seem_to() -> None:
    """Noisy-or: without the strong cause `b`, the odds ratio of `a` is another, its power is the same."""
    rng = np.random.default_rng(5)

    def fleet(strong: float) -> EventDataset:
        has = rng.random((20_000, 2)) < 0.5
        carries = rng.random(20_000) >= 0.98 * np.where(has[:, 0], 0.6, 1) * np.where(
            has[:, 1], 1 - strong, 1
        )
        events = [tuple(name for name, here in zip("ab", row, strict=True) if here) for row in has]
        return EventDataset.from_sequences(
            [
                EventSequence(f"{i:05}", own, tuple(map(float, range(len(own)))), ("bad",) if y else ())
                for i, (own, y) in enumerate(zip(events, carries, strict=True))
            ]
        )

    found = compare((graph("a", "b"), fleet(0.8)), (graph("a", "b"), fleet(0.2)))
    rows = {row["event"]: row for row in found.edges.to_dicts()}
    assert rows["b"]["change"] == "weaker"
    assert rows["a"]["change"] in ("none", "frequency")
    assert not rows["a"]["ratio_low"] <= 1 <= rows["a"]["ratio_high"]  # odds ratios alone would say so


def test_labels_and_event_types_of_one_run_are_named_apart() -> None:
    first, second = world(STRONG, 500, 1), world(STRONG, 500, 2)
    rest = [[event for event in sequence.events if event != "b"] for sequence in second]
    only = EventDataset.from_sequences(
        [
            EventSequence(one.id, tuple(events), one.times[: len(events)], (*one.labels, "odd"))
            for one, events in zip(second, rest, strict=True)
        ]
    )
    found = compare((graph("a", "b"), first), (graph("a"), only))
    assert found.labels == ((), ("odd",))
    assert found.event_types == ((("bad", "b"),), ())
    assert found.edges["event"].to_list() == ["a"]


def test_a_label_that_nobody_carries_is_told_not_tested() -> None:
    first = world(STRONG, 500, 1)
    second = EventDataset(**{**_fields(world(STRONG, 500, 2)), "labels": np.zeros(0, np.int32),
                             "label_rows": first.without_labels().label_rows})  # fmt: skip
    row = compare((graph("a"), first), (graph("a"), second)).edges.row(0, named=True)
    assert row["untested"] == "no sequence of b carries bad"
    assert (row["change"], row["p_value"]) == ("none", None)


def _fields(data: EventDataset) -> dict[str, object]:
    names = ("sequence_ids", "events", "times", "rows", "labels", "label_rows", "event_names", "label_names")
    return {name: getattr(data, name) for name in names}


def test_alpha_bounds_what_is_reported() -> None:
    pair = (graph("a"), world({"a": 5.0}, 3000, 1)), (graph("a"), world({"a": 2.8}, 3000, 2))
    p = compare(*pair).edges["p_value"][0]
    assert compare(*pair, CompareConfig(alpha=p * 1.01)).counts["none"] == 0
    assert compare(*pair, CompareConfig(alpha=p * 0.99)).counts["none"] == 1


def test_runs_without_a_label_in_common_are_refused() -> None:
    with pytest.raises(DataError, match=r"no label in common; the first labels are 'bad' and 'worse'"):
        compare((graph("a"), world(STRONG, 100, 1)), (graph("a"), world(STRONG, 100, 1, label="worse")))


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"b, Cargo, has no graph or no data"):
        compare((graph("a"), world(STRONG, 100, 1)), Cargo())


def test_the_order_of_sequences_changes_nothing() -> None:
    first, second = world(STRONG, 400, 1), world(WEAK, 400, 2)
    turned = first.select(np.arange(len(first))[::-1])
    here, there = (compare((graph("a", "c"), one), (graph("d"), second)).edges for one in (first, turned))
    assert here.equals(there)


def test_every_word_is_counted() -> None:
    pair = (graph("a"), world(STRONG, 300, 1))
    assert tuple(compare(pair, pair).counts) == CHANGES
