import math

import numpy as np
import pytest

from eventcargo import ConfigError, DataError
from eventcargo.errors import EventCargoWarning
from eventcargo.fusion import (
    BetaMixture,
    adaptive,
    bes,
    caig,
    criteria,
    exceeds,
    expected_fpr,
    fit_mixture,
    static,
    union,
)

SUPPORT = {"a": 5, "b": 10, "c": 20, "d": 40, "e": 80}  # quartiles 10 and 40, median 20


def test_union_asks_for_nothing() -> None:
    assert union({"a": 5, "b": 0}) == {"a": 0.0, "b": 0.0}


def test_static_asks_all_labels_for_the_same() -> None:
    assert static({"a": 5, "b": 0}, 0.8) == {"a": 0.8, "b": 0.8}


@pytest.mark.parametrize("tau", [-0.01, 1.01, float("nan")])
def test_a_static_threshold_that_is_no_share_is_refused(tau: float) -> None:
    with pytest.raises(ConfigError, match=f"tau={tau}"):
        static(SUPPORT, tau)


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_a_static_threshold_may_be_none_or_all(tau: float) -> None:
    assert static({"a": 5}, tau) == {"a": tau}


@pytest.mark.parametrize(("label", "tau"), [("b", 0.3875), ("c", 0.275), ("d", 0.1625)])
def test_adaptive_at_quartiles_and_median_is_as_computed_by_hand(label: str, tau: float) -> None:
    assert adaptive(SUPPORT)[label] == pytest.approx(tau, abs=1e-12)


def test_adaptive_with_other_bounds_is_as_computed_by_hand() -> None:
    # two quartile steps above the median: 1 / (1 + 9) of the way from 0.2 to 0.9
    assert adaptive(SUPPORT, tau_max=0.9, tau_min=0.2)["e"] == pytest.approx(0.27, abs=1e-12)


def test_adaptive_falls_with_support_and_stays_within_its_bounds() -> None:
    support = {str(count): count for count in [1, 2, 3, 50, 1000, 10**9]}
    taus = list(adaptive(support).values())
    assert taus == sorted(taus, reverse=True)
    assert 0.05 <= taus[-1] < taus[0] <= 0.5


def test_duplicating_every_sequence_changes_no_adaptive_threshold() -> None:
    doubled = {label: 2 * count for label, count in SUPPORT.items()}
    assert adaptive(doubled) == pytest.approx(adaptive(SUPPORT))


@pytest.mark.parametrize("support", [{"a": 7}, {"a": 7, "b": 7, "c": 7}])
def test_labels_of_equal_support_get_the_middle(support: dict[str, int]) -> None:
    assert adaptive(support) == pytest.approx(dict.fromkeys(support, 0.275))


def test_equal_quartiles_give_a_decay_of_one() -> None:
    support = {"rare": 1, "a": 3, "b": 3, "c": 3, "much": 9}
    # 1 / (1 + 1/3) and 1 / (1 + 3) of the way
    assert adaptive(support)["rare"] == pytest.approx(0.05 + 0.45 * 0.75)
    assert adaptive(support)["much"] == pytest.approx(0.05 + 0.45 * 0.25)


def test_a_label_never_seen_gets_the_largest_threshold_and_moves_no_other() -> None:
    assert adaptive({**SUPPORT, "never": 0, "nor": 0}) == {**adaptive(SUPPORT), "never": 0.5, "nor": 0.5}


def test_labels_none_of_which_was_seen_get_the_largest_threshold() -> None:
    assert adaptive({"a": 0, "b": 0}) == {"a": 0.5, "b": 0.5}


def test_no_labels_have_no_thresholds() -> None:
    assert adaptive({}) == {}


def test_nearly_equal_quartiles_do_not_overflow() -> None:
    big = 10**15
    support = {"rare": 1, "a": big, "b": big + 1, "c": big + 2, "much": 10**18}
    taus = adaptive(support)
    assert (taus["rare"], taus["much"]) == (0.5, 0.05)


def test_bounds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"tau_min=0\.6 is above tau_max=0\.5"):
        adaptive(SUPPORT, tau_min=0.6)


def test_equal_bounds_are_allowed() -> None:
    assert set(adaptive(SUPPORT, tau_max=0.3, tau_min=0.3).values()) == {0.3}


@pytest.mark.parametrize(("name", "value"), [("tau_max", 1.5), ("tau_min", -0.5)])
def test_bounds_that_are_no_shares_are_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name}={value}"):
        adaptive(SUPPORT, **{name: value})


def test_a_negative_support_is_refused() -> None:
    with pytest.raises(DataError, match="'a' has a support of -1"):
        adaptive({"a": -1})


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


def test_the_cost_goes_by_the_sequences_for_which_a_label_is_known() -> None:
    costs = caig({"a": 50, "b": 50, "c": 0}, n_sequences={"a": 100, "b": 200}, penalty=2.0)
    assert costs == pytest.approx({"a": 2 * math.log(3), "b": 2 * math.log(5), "c": math.inf})
    with pytest.raises(DataError, match="'a' has a support of 50 among 40 sequences"):
        caig({"a": 50}, n_sequences={"a": 40}, penalty=2.0)


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
    with pytest.raises(DataError, match="1 label without a cost, the first: 'b'"):
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


def draws(alpha: float, shape: float, weight: float, size: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    is_edge = rng.random(size) < weight
    return np.where(is_edge, rng.beta(alpha, 1, size), rng.beta(1, shape, size))


def test_the_start_is_the_papers() -> None:
    assert BetaMixture() == BetaMixture(alpha=1.5, beta=5.0, weight=0.5)


def test_responsibility_is_as_computed_by_hand() -> None:
    # densities at 0.25: 1.5 * 0.5 = 0.75 and 5 * 0.75^4 = 1.58203125, equal weights
    assert BetaMixture().responsibility(np.array([0.25])) == pytest.approx([0.75 / 2.33203125])


def test_responsibility_weighs_the_components() -> None:
    # at 0.5: 2 * 0.5 = 1 and 2 * 0.5 = 1
    assert BetaMixture(2, 2, 0.1).responsibility(np.array([0.5])) == pytest.approx([0.1])


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_responsibility_is_known_where_both_densities_vanish(weight: float) -> None:
    assert BetaMixture(5000, 5000, weight).responsibility(np.array([0.5])) == pytest.approx([weight])


def test_the_update_is_as_computed_by_hand() -> None:
    x = np.array([math.exp(-0.5), math.exp(-0.25), 1 - math.exp(-0.25)])
    found = BetaMixture().updated(x, np.array([0.5, 1.0, 0.0]))
    # alpha = 1.5 / (0.25 + 0.25); beta = 1.5 / (0.5 * -log(1 - exp(-0.5)) + 0.25); weight = 1.5 / 3
    shape = 1.5 / (-0.5 * math.log(1 - math.exp(-0.5)) + 0.25)
    assert (found.alpha, found.beta, found.weight) == pytest.approx((3.0, shape, 0.5))


def test_shapes_are_never_below_one() -> None:
    x = np.array([0.01, 0.99])
    found = BetaMixture().updated(x, np.array([1.0, 0.0]))
    assert (found.alpha, found.beta) == (1.0, 1.0)


def test_a_component_without_weight_keeps_its_shape() -> None:
    x = np.array([0.5, 0.5])
    assert BetaMixture(3, 7, 0.5).updated(x, np.zeros(2)).alpha == 3
    assert BetaMixture(3, 7, 0.5).updated(x, np.ones(2)).beta == 7


def test_known_parameters_are_recovered() -> None:
    found = fit_mixture(draws(8, 20, 0.3, 20_000))
    assert found.alpha == pytest.approx(8, rel=0.05)
    assert found.beta == pytest.approx(20, rel=0.05)
    assert found.weight == pytest.approx(0.3, abs=0.02)


def test_the_fit_has_settled() -> None:
    values = draws(2, 3, 0.5, 500)  # overlapping components settle slowly
    found = fit_mixture(values)
    after = found.updated(values, found.responsibility(values))
    assert (after.alpha, after.beta, after.weight) == pytest.approx(
        (found.alpha, found.beta, found.weight), rel=1e-4
    )


def test_false_edges_pass_the_cutoff_at_the_stated_rate() -> None:
    cutoff = fit_mixture(draws(8, 20, 0.3, 20_000)).cutoff(0.05)
    noise = np.random.default_rng(12).beta(1, 20, 20_000)
    assert (noise > cutoff).mean() == pytest.approx(0.05, abs=0.01)


def test_the_order_of_the_values_changes_nothing() -> None:
    values = draws(8, 20, 0.3, 500)
    assert fit_mixture(values) == fit_mixture(values[::-1])


@pytest.mark.parametrize("values", [[0.0], [1.0], [0.0, 1.0], [0.5] * 9, [0.0] * 5, [1e-9, 0.3]])
def test_few_equal_and_extreme_values_give_a_finite_mixture(values: list[float]) -> None:
    found = fit_mixture(values)
    assert 1 <= found.alpha < math.inf
    assert 1 <= found.beta < math.inf
    assert 0 <= found.weight <= 1


@pytest.mark.parametrize(
    ("values", "message"),
    [([], "0 values, none"), ([-0.1, 0.5], "-0.1 to"), ([0.5, 1.1], "to 1.1"), ([math.nan, 0.5], "to nan")],
)
def test_values_outside_of_0_to_1_are_refused(values: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_mixture(values)


def test_a_mixture_that_does_not_settle_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(criteria, "MAX_STEPS", 1)
    with pytest.warns(EventCargoWarning, match="in 1 step$"):
        fit_mixture([0.01, 0.02, 0.9])


@pytest.mark.parametrize("fpr", [0.0, 1.0, -0.5])
def test_a_rate_that_is_no_chance_is_refused(fpr: float) -> None:
    with pytest.raises(ConfigError, match=f"fpr={fpr}"):
        BetaMixture().cutoff(fpr)


def test_the_threshold_in_nats_is_the_cutoff_mapped_back() -> None:
    nats = np.array([0.001, 0.002, 0.004, 0.3, 0.5])
    cutoff = fit_mixture(1 - np.exp(-2 * nats)).cutoff(0.15)
    assert 1 - math.exp(-2 * expected_fpr(nats, 0.15)) == pytest.approx(cutoff)


def test_a_lower_rate_asks_for_more_information() -> None:
    nats = np.random.default_rng(3).exponential(0.02, 200)
    thresholds = [expected_fpr(nats, fpr) for fpr in (0.2, 0.15, 0.05, 0.01)]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] < thresholds[-1]


@pytest.mark.parametrize("value", [-0.25, float("nan"), float("inf")])
def test_information_that_is_no_number_of_nats_is_refused(value: float) -> None:
    with pytest.raises(DataError, match=f"1 value of.*the first: {value}"):
        expected_fpr([0.1, value])
