import math

import numpy as np
import pytest

from eventcargo import ConfigError, DataError
from eventcargo.fusion import bes, caig, exceeds

Edges = list[tuple[str, float]]


def caig_score(edges: Edges, support: dict[str, int], n_sequences: int, penalty: float) -> float:
    """eq:caig, label by label: the sum of information less the cost of the number of parents."""
    score = 0.0
    for label, count in support.items():
        parents = [nats for name, nats in edges if name == label]
        score += sum(parents) - penalty * len(parents) * math.log(n_sequences / count + 1)
    return score


def backward_elimination(edges: Edges, support: dict[str, int], n_sequences: int, penalty: float) -> Edges:
    """Remove the edge whose removal gives the best score, while the score does not fall."""
    while edges:
        smaller = [edges[:k] + edges[k + 1 :] for k in range(len(edges))]
        best = max(smaller, key=lambda some: caig_score(some, support, n_sequences, penalty))
        if caig_score(best, support, n_sequences, penalty) < caig_score(edges, support, n_sequences, penalty):
            break
        edges = best
    return edges


@pytest.mark.parametrize("seed", range(10))
def test_the_closed_form_is_what_backward_elimination_ends_with(seed: int) -> None:
    rng = np.random.default_rng(seed)
    support = {"a": 3, "b": 30, "c": 100}
    edges = [(str(rng.choice(list(support))), float(rng.random())) for _ in range(12)]
    labels, nats = [label for label, _ in edges], [value for _, value in edges]
    flags = exceeds(labels, nats, caig(support, n_sequences=100, penalty=0.3))
    kept = [edge for edge, is_kept in zip(edges, flags, strict=True) if is_kept]
    assert kept == backward_elimination(edges, support, 100, 0.3)
    assert 0 < len(kept) < len(edges)


def test_the_cost_is_as_computed_by_hand() -> None:
    costs = caig({"all": 100, "third": 50}, n_sequences=100, penalty=2.0)
    assert costs == pytest.approx({"all": 2 * math.log(2), "third": 2 * math.log(3)})


def test_a_label_never_seen_keeps_no_edge() -> None:
    assert caig({"never": 0}, n_sequences=10, penalty=0.0) == {"never": math.inf}


def test_bes_costs_the_same_for_every_label() -> None:
    assert bes({"a": 3, "b": 30}, penalty=0.25) == {"a": 0.25, "b": 0.25}


def test_bes_without_a_penalty_drops_only_edges_without_information() -> None:
    assert exceeds(["a", "a"], [1e-9, 0.0], bes({"a": 3})).tolist() == [True, False]


def test_an_edge_worth_exactly_its_cost_is_eliminated() -> None:
    assert exceeds(["a"], [0.25], {"a": 0.25}).tolist() == [False]


def test_no_edges_give_no_flags() -> None:
    assert exceeds([], [], {}).tolist() == []


def test_labels_without_a_cost_are_refused() -> None:
    with pytest.raises(DataError, match="1 labels have no cost, the first: 'b'"):
        exceeds(["a", "b"], [0.1, 0.1], {"a": 0.0})


@pytest.mark.parametrize(
    ("information", "message"), [([0.1], r"shape \(1,\).*for 2 labels"), ([0.1, math.nan], "with 1 missing")]
)
def test_information_that_does_not_fit_the_edges_is_refused(information: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        exceeds(["a", "a"], information, {"a": 0.0})


@pytest.mark.parametrize("count", [-1, 11])
def test_a_support_that_does_not_fit_the_sequences_is_refused(count: int) -> None:
    with pytest.raises(DataError, match=f"'a' has a support of {count} among 10"):
        caig({"a": count}, n_sequences=10, penalty=0.1)


@pytest.mark.parametrize("penalty", [-0.1, math.inf, math.nan])
def test_a_penalty_that_is_no_number_of_nats_is_refused(penalty: float) -> None:
    with pytest.raises(ConfigError, match=f"penalty={penalty}"):
        bes({"a": 1}, penalty)
