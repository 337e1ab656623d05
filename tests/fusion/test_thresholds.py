import pytest

from eventcargo import ConfigError, DataError
from eventcargo.fusion import adaptive, static, union

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
