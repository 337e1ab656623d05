from eventcargo.baselines.pc import PcdByPcd, mmpc

from ..statistics.tables import chain, hidden_separator, independence_of, label, two_votes


def test_only_the_direct_cause_of_a_label_is_found() -> None:
    bits, target = chain(3000, seed=0)
    assert PcdByPcd(independence_of(bits), 0.001)(label(target)) == [1]


def test_a_link_holds_only_if_the_other_end_cannot_separate_it() -> None:
    bits, target = chain(3000, seed=1)  # 0 -> 1 -> label
    search = PcdByPcd(independence_of(bits), 0.001)
    assert search._claims(1, label(target))
    assert not search._claims(0, label(target))


def test_a_member_that_does_not_claim_the_target_leaves() -> None:
    test = independence_of(hidden_separator(8000, seed=0))
    assert sorted(mmpc(test, test.event(0), 0.001)) == [1, 3]
    assert PcdByPcd(test, 0.001)(test.event(0)) == [1]


def test_three_neighbours_of_the_other_end_can_separate_it() -> None:
    bits, target = two_votes(4000, seed=0)
    assert not PcdByPcd(independence_of(bits), 0.001)._claims(3, label(target))
